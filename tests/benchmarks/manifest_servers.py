"""The stores whose committer is `manifest`, as its benchmark uses them: ours, slow, in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from tests.benchmarks.commit_jobs import SlowServer
from tests.servers.azure.hadoop import HADOOP_ON_AZURE, url_of
from tests.servers.azure.hadoop import settings_of as azure_settings_of
from tests.servers.azure.kinds import GEN2
from tests.servers.azure.server import AzureServer
from tests.servers.gcs.hadoop import HADOOP_ON_GCS
from tests.servers.gcs.hadoop import settings_of as gcs_settings_of
from tests.servers.gcs.process import StrictGcs
from tests.servers.kinds import Launch

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from tests.benchmarks.commit_jobs import Layers
    from tests.servers.hadoop_jars import MavenJars
    from tests.servers.http_service.control import Statistics
    from tests.servers.kinds import Place

_SENDING = ("aiohttp, sending", "aiohttp/client.py", "_request")


class ManifestServer(SlowServer, Protocol):
    """A slow server, and how each side reaches it.

    Attributes:
        rename: What the server calls a rename of one file.
        layers: What a request of ours goes through: see `commit_driver.shares`.
        jars: Hadoop's driver.
        unlimited: Settings of that driver, so that it does not slow itself down.
    """

    rename: str
    layers: Layers
    jars: MavenJars
    unlimited: tuple[tuple[str, str], ...]

    @property
    def settings(self) -> dict[str, str]:
        """Hadoop's."""

    def new_destinations(self) -> tuple[str, str]:
        """An empty directory, as fsspec and as Hadoop names it."""


class Gcs:
    """Google Cloud Storage: a flat bucket."""

    rename = "objects.move"
    layers: Layers = (_SENDING,)
    jars = HADOOP_ON_GCS
    unlimited: tuple[tuple[str, str], ...] = ()

    def __init__(self, stack: ExitStack) -> None:
        self._server = stack.enter_context(StrictGcs())

    @property
    def storage_options(self) -> dict[str, Any]:
        return self._server.storage_options

    @property
    def settings(self) -> dict[str, str]:
        # While it writes each stream holds a chunk, of 24 MiB if nothing is said.
        chunk = {"fs.gs.outputstream.upload.chunk.size": str(1 << 20)}
        return {**gcs_settings_of(self._server.endpoint_url), **chunk}

    def new_destinations(self) -> tuple[str, str]:
        url = f"gs://{self._server.new_bucket()}/out"
        return url, url

    def set_load(self, *, latency_s: float = 0.0, rate_per_s: float | None = None) -> None:
        self._server.control.set(latency_s=latency_s, rate_per_s=rate_per_s)

    def statistics(self) -> Statistics:
        return self._server.control.statistics()

    def forget(self) -> None:
        self._server.control.forget()


class Gen2:
    """Azure Data Lake Storage Gen2: an account with directories, and a key."""

    rename = "path.rename"
    layers: Layers = (("azure-core", "azure/core/pipeline/_base_async.py", "run"), _SENDING)
    jars = HADOOP_ON_AZURE
    unlimited: tuple[tuple[str, str], ...] = (("fs.azure.io.rate.limit", "0"),)

    def __init__(self, stack: ExitStack) -> None:
        self._server = stack.enter_context(AzureServer(replace(GEN2, launch=_in_memory)))

    @property
    def storage_options(self) -> dict[str, Any]:
        return self._server.storage_options

    @property
    def settings(self) -> dict[str, str]:
        return azure_settings_of(self._server, self._server.endpoint_url)

    def new_destinations(self) -> tuple[str, str]:
        container = self._server.new_container()
        return f"abfs://{container}/out", url_of(self._server, container, "out")

    def set_load(self, *, latency_s: float = 0.0, rate_per_s: float | None = None) -> None:
        self._server.set_load(latency_s=latency_s, rate_per_s=rate_per_s)

    def statistics(self) -> Statistics:
        return self._server.statistics()

    def forget(self) -> None:
        self._server.forget()


SERVERS: dict[str, Callable[[ExitStack], ManifestServer]] = {"GCS": Gcs, "Gen2": Gen2}


def _in_memory(place: Place) -> Launch:
    """As tests start it, but without what it keeps on a disk."""
    launch = GEN2.launch(place)
    kept = launch.arguments.index("--directory")
    return Launch([*launch.arguments[:kept], *launch.arguments[kept + 2 :]], launch.env)
