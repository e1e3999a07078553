"""The stores whose job commits are measured: servers of our own, made slow, in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from tests.servers.azure.kinds import GEN2
from tests.servers.azure.server import AzureServer
from tests.servers.gcs.kinds import STRICT
from tests.servers.gcs.server import GcsServer
from tests.servers.hadoop import on_azure, on_gcs, on_s3
from tests.servers.hadoop.jars import HADOOP, MavenJars
from tests.servers.hdfs.cluster import HdfsCluster
from tests.servers.hdfs.slow_line import SlowLine
from tests.servers.http_service.control import Controlled
from tests.servers.http_service.kind import in_memory
from tests.servers.slow_s3.server import SlowS3

if TYPE_CHECKING:
    from contextlib import ExitStack


Layers = tuple[tuple[str, str, str], ...]
_SENDING = ("aiohttp, sending", "aiohttp/client.py", "_request")
_MANIFEST_THREADS = 64


@dataclass(frozen=True, kw_only=True)
class SlowServer:
    """A server of our own, for one benchmark alone, and how each side reaches it.

    Attributes:
        publishes: What the server calls the one request that publishes a file of ours.
        layers: What a request of ours goes through: see `commit_driver.shares`.
        new_destinations: Make an empty directory, as fsspec and as Hadoop names it.
        settings: Hadoop's.
        shipped: What a commit of Hadoop's as it is shipped is called, by what limits it.
        tuned: The settings of a faster one, by what it is called.
        threads: How many publish, in the one and in the other.
        tuned_options: Of the JVM, for that one.
        renames_records: Whether the request that publishes a file is made for each record, too.
        vouched_options: Those by which ours takes it for the service itself, and tries nothing out:
            every name must be taken for this machine's (`block_driver.py`).
    """

    control: Controlled
    storage_options: dict[str, Any]
    committer: str
    publishes: str
    layers: Layers
    new_destinations: Callable[[], tuple[str, str]]
    settings: dict[str, str]
    shipped: str
    tuned: tuple[str, dict[str, str]]
    threads: tuple[int, int]
    options: tuple[str, ...]
    tuned_options: tuple[str, ...] = ()
    jars: MavenJars = field(default=HADOOP)
    renames_records: bool = False
    vouched_options: dict[str, Any] = field(default_factory=dict)


def slow_s3(stack: ExitStack) -> SlowServer:
    """S3: a general purpose bucket, and the magic committer."""
    server = stack.enter_context(SlowS3())

    def new_destinations() -> tuple[str, str]:
        bucket = server.new_bucket()
        return f"s3://{bucket}/out", f"s3a://{bucket}/out"

    return SlowServer(
        control=server,
        storage_options=server.storage_options,
        committer="magic",
        publishes="CompleteMultipartUpload",
        layers=(
            ("botocore", "aiobotocore/client.py", "_make_api_call"),
            ("aiohttp, sending", "aiobotocore/httpsession.py", "send"),
        ),
        new_destinations=new_destinations,
        settings={
            **on_s3.settings_of(server.storage_options),
            # Both make writing cheaper, which nobody times; what commitJob then does is the same.
            "fs.s3a.committer.magic.track.commits.in.memory.enabled": "true",
            "fs.s3a.create.performance": "true",
        },
        shipped="Hadoop, 8 threads",
        tuned=(
            "Hadoop, 64 threads, 200 connections",
            {"fs.s3a.committer.threads": "64", "fs.s3a.connection.maximum": "200"},
        ),
        threads=(8, 64),
        options=("-Xmx1g",),
        vouched_options={
            **server.storage_options,
            "endpoint_url": f"http://s3.us-east-1.amazonaws.com:{server.port}",
            "config_kwargs": {"s3": {"addressing_style": "path"}},
        },
    )


def slow_s3_express(stack: ExitStack) -> SlowServer:
    """S3: a directory bucket; Hadoop is not asked there."""
    server = stack.enter_context(SlowS3())

    def new_destinations() -> tuple[str, str]:
        bucket = server.new_bucket(of_directories=True)
        return f"s3://{bucket}/out", f"s3a://{bucket}/out"

    return SlowServer(
        control=server,
        storage_options=server.storage_options,
        publishes="RenameObject",
        layers=(_SENDING,),
        new_destinations=new_destinations,
        settings={},
        **_manifest({}),
    )


def slow_gcs(stack: ExitStack) -> SlowServer:
    """Google Cloud Storage: a flat bucket."""
    server = stack.enter_context(GcsServer(in_memory(STRICT)))

    def new_destinations() -> tuple[str, str]:
        url = f"gs://{server.new_bucket()}/out"
        return url, url

    # While it writes each stream holds a chunk, of 24 MiB if nothing is said.
    chunk = {"fs.gs.outputstream.upload.chunk.size": str(1 << 20)}
    storage_options = {**server.storage_options, "token": "anon"}
    return SlowServer(
        control=server.control,
        storage_options=storage_options,
        vouched_options={
            **storage_options,
            "endpoint_url": f"http://storage.googleapis.com:{server.port}",
        },
        publishes="objects.move",
        layers=(_SENDING,),
        new_destinations=new_destinations,
        settings={**on_gcs.settings_of(server.endpoint_url), **chunk},
        jars=on_gcs.HADOOP_ON_GCS,
        **_manifest({}),
    )


def slow_gen2(stack: ExitStack) -> SlowServer:
    """Azure Data Lake Storage Gen2: an account with directories, and a key."""
    server = stack.enter_context(AzureServer(in_memory(GEN2)))

    def new_destinations() -> tuple[str, str]:
        container = server.new_container()
        return f"abfs://{container}/out", on_azure.url_of(server, container, "out")

    host = f"{server.account_name}.blob.core.windows.net"
    return SlowServer(
        control=server,
        storage_options=server.storage_options,
        vouched_options=server.storage_options_through(f"http://{host}:{server.port}"),
        publishes="path.rename",
        layers=(("azure-core", "azure/core/pipeline/_base_async.py", "run"), _SENDING),
        new_destinations=new_destinations,
        settings=on_azure.settings_of(server, server.endpoint_url),
        # By itself the driver allows itself so many calls a second.
        **_manifest({"fs.azure.io.rate.limit": "0"}),
    )


def slow_hdfs(stack: ExitStack) -> SlowServer:
    """HDFS: Hadoop's own NameNode behind a slow line, and its DataNodes, which are not slow."""
    cluster = stack.enter_context(HdfsCluster())
    made: list[str] = []

    def forget() -> None:
        while made:
            cluster.client.delete(made.pop(), recursive=True)

    line = stack.enter_context(SlowLine(cluster.port, forget))
    address = f"hdfs://127.0.0.1:{line.port}"

    def new_destinations() -> tuple[str, str]:
        made.append(f"/slow-{token_hex(6)}")
        url = f"{address}{made[-1]}/out"
        return url, url

    factory = {"mapreduce.outputcommitter.factory.scheme.hdfs": on_gcs.MANIFEST_FACTORY}
    threads = {"mapreduce.manifest.committer.io.threads": str(_MANIFEST_THREADS)}
    return SlowServer(
        control=line,
        storage_options={},
        committer="v1",
        publishes="rename2",
        layers=(),
        new_destinations=new_destinations,
        settings={
            "fs.defaultFS": address,
            # Hadoop's own default is 2, which publishes when a task commits.
            "mapreduce.fileoutputcommitter.algorithm.version": "1",
        },
        shipped="Hadoop, v1",
        tuned=(f"Hadoop, manifest, {_MANIFEST_THREADS} threads", {**factory, **threads}),
        threads=(1, _MANIFEST_THREADS),
        options=("-Xmx1g",),
        renames_records=True,
    )


def _manifest(unlimited: dict[str, str]) -> dict[str, Any]:
    """What is the same wherever the manifest committer is measured."""
    threads = {"mapreduce.manifest.committer.io.threads": str(_MANIFEST_THREADS)}
    return {
        "committer": "manifest",
        "shipped": "Hadoop, 32 threads",
        "tuned": (f"Hadoop, {_MANIFEST_THREADS} threads, tuned", {**threads, **unlimited}),
        "threads": (32, _MANIFEST_THREADS),
        # The driver of GCS logs each call that takes longer than those before.
        "options": ("-Xmx2g", "-Djava.util.logging.config.file=/dev/null"),
        # Java keeps five connections open unless it is told otherwise.
        "tuned_options": (f"-Dhttp.maxConnections={_MANIFEST_THREADS}",),
    }
