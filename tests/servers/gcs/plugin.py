"""The fixtures of the GCS servers, for every folder of tests: loaded by `tests/conftest.py`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from tests.servers.gcs.kinds import EVERY_RUN, KINDS
from tests.servers.gcs.requests import GcsRequest
from tests.servers.gcs.server import GcsServer, GcsServers
from tests.servers.plugin import forget_environment, lent
from tests.servers.proxy import FaultProxy
from tests.servers.server_process import Bucket

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Accounts, projects and other addresses of the person who runs the tests.
_PRIVATE = ("GOOGLE_", "GCLOUD_", "CLOUDSDK_", "GCE_METADATA", "STORAGE_EMULATOR_HOST")


class GcsBucket(Bucket[GcsServer]):
    """A bucket of the test's own on a running server."""

    @property
    def client(self) -> Any:
        """Of this bucket."""
        return self.server.client.bucket(self.name)

    def read(self, path: str) -> bytes | None:
        """What stands at a path that begins with the bucket's name, if anything does."""
        found = self.client.get_blob(path.partition("/")[2])
        if found is None:
            return None
        data: bytes = found.download_as_bytes()
        return data

    def write(self, path: str, data: bytes) -> None:
        """Put an object, as somebody who knows nothing of jobs."""
        self.client.blob(path.partition("/")[2]).upload_from_string(data)


@pytest.fixture(scope="session")
def gcs_servers() -> Iterator[GcsServers]:
    from google.auth.crypt import RSASigner

    with pytest.MonkeyPatch.context() as patch, GcsServers(GcsServer) as servers:
        # Each opened store would check the account's key anew, which takes longer than a request.
        patch.setattr(RSASigner, "from_string", staticmethod(cache(RSASigner.from_string)))
        yield servers


@pytest.fixture
def gcs_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No account of the person who runs the tests: for child processes as well."""
    forget_environment(monkeypatch, *_PRIVATE)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "no-gcloud"))
    monkeypatch.setenv("NO_GCE_CHECK", "true")


@pytest.fixture(params=[kind.name for kind in EVERY_RUN])
def gcs_server(
    request: pytest.FixtureRequest, gcs_servers: GcsServers, gcs_environment: None
) -> Iterator[GcsServer]:
    """Each of the two servers in turn, or the one named by an indirect parameter.

    A test may kill it, and tell the strict one how to behave: the next one finds it as it was.
    """
    yield from lent(gcs_servers, KINDS[request.param])


@pytest.fixture
def gcs_bucket(gcs_server: GcsServer) -> GcsBucket:
    """A new bucket on each of the two servers in turn."""
    return GcsBucket(gcs_server, gcs_server.new_bucket())


@pytest.fixture
def gcs_proxy(gcs_server: GcsServer) -> Iterator[FaultProxy]:
    """In front of the test's server: see `GcsServer.storage_options_through`."""
    with FaultProxy(gcs_server.endpoint_url, GcsRequest) as proxy:
        gcs_server.answer_through(proxy.endpoint_url)
        yield proxy
        if gcs_server.running:
            gcs_server.answer_through(gcs_server.endpoint_url)
