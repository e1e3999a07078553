"""The fixtures of the real servers, for every folder of tests: loaded by `tests/conftest.py`.

Each worker of a parallel run has servers of its own, started when a test first asks for one and
kept until the worker ends. Sharing them would save some five seconds of one core a worker, and cost
locks, counted users, and the freedom of a test to kill its server.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from tests.servers.gaps import GAPS, stale
from tests.servers.gcs.gaps import GCS_GAPS
from tests.servers.installation import ServerUnavailableError
from tests.servers.kinds import EVERY_RUN, KINDS, REGION
from tests.servers.parsed_rules import parse_rules_once
from tests.servers.proxy import FaultProxy
from tests.servers.server import Server, Servers
from tests.servers.server_process import AnyServer, Bucket, RunningServers, ServerDiedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.servers.kinds import ServerKind

Started = TypeVar("Started")
ALL_GAPS = (*GAPS, *GCS_GAPS)
# The fixtures that give running servers, and those whose parameter is the name of one.
SERVERS = frozenset({"servers", "gcs_servers", "azure_servers", "hdfs_clusters", "remote"})
SERVER = frozenset({"s3_server", "gcs_server", "azure_server", "remote"})


class S3Bucket(Bucket[Server]):
    """A bucket of the test's own on a running server."""

    def read(self, path: str) -> bytes | None:
        """What stands at a path that begins with the bucket's name, if anything does."""
        client, key = self.server.client, path.partition("/")[2]
        try:
            data: bytes = client.get_object(Bucket=self.name, Key=key)["Body"].read()
        except client.exceptions.NoSuchKey:
            return None
        return data

    def write(self, path: str, data: bytes) -> None:
        """Put an object, as somebody who knows nothing of jobs."""
        key = path.partition("/")[2]
        self.server.client.put_object(Bucket=self.name, Key=key, Body=data)


class KeptBuckets:
    """One bucket of each server, and one that is made ready in some way."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, str], S3Bucket] = {}

    def get(self, server: Server, prepare: Callable[[S3Bucket], None] | None = None) -> S3Bucket:
        """The bucket of *server*, *prepared*; another one where a test has killed the server."""
        key = server.pid, "" if prepare is None else prepare.__qualname__
        if key not in self._made:
            self._made[key] = S3Bucket(server, server.new_bucket())
            if prepare is not None:
                prepare(self._made[key])
        return self._made[key]


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """Every kind of server by request: `servers.get(KINDS["minio"])`."""
    with Servers(Server) as servers:
        yield servers


@pytest.fixture(scope="session")
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with one authority: to read all that are trusted is 30 ms for each store opened.

    What else is the same for each of them is made once, too.
    """
    from botocore.httpsession import DEFAULT_CA_BUNDLE

    end = "-----END CERTIFICATE-----\n"
    first, _, _ = Path(DEFAULT_CA_BUNDLE).read_text("utf-8").partition(end)
    file = tmp_path_factory.mktemp("trusted") / "one.pem"
    file.write_text(first + end, "utf-8")
    parse_rules_once()
    return str(file)


@pytest.fixture
def s3_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, one_certificate: str) -> None:
    """The region, and no account of the person who runs the tests: for child processes as well."""
    forget_environment(monkeypatch, "AWS_")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CA_BUNDLE", one_certificate)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-aws-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-aws-credentials"))


@pytest.fixture(params=[kind.name for kind in EVERY_RUN])
def s3_server(
    request: pytest.FixtureRequest, servers: Servers, s3_environment: None
) -> Iterator[Server]:
    """Each of the three servers in turn, or the one named by an indirect parameter.

    Where one is not installed or does not start its tests are skipped, and fail where `CI` is set.
    A test may kill it; the next one gets a server that runs.
    """
    yield from lent(servers, KINDS[request.param])


@pytest.fixture
def s3_bucket(s3_server: Server) -> S3Bucket:
    """A new bucket on each of the three servers in turn."""
    return S3Bucket(s3_server, s3_server.new_bucket())


@pytest.fixture(scope="session")
def kept_buckets() -> KeptBuckets:
    """Buckets that many tests share, each in a directory of its own.

    Whatever a process must find out about a bucket, it finds out once.
    """
    return KeptBuckets()


@pytest.fixture
def s3_proxy(s3_server: Server) -> Iterator[FaultProxy]:
    """In front of the test's server: see `Server.storage_options_through`."""
    with FaultProxy(s3_server.endpoint_url) as proxy:
        yield proxy


def forget_environment(monkeypatch: pytest.MonkeyPatch, *prefixes: str) -> None:
    """Hide the accounts of the person who runs the tests: from child processes as well."""
    for name in [name for name in os.environ if name.startswith(prefixes)]:
        monkeypatch.delenv(name)


def lent(servers: RunningServers[AnyServer], kind: ServerKind) -> Iterator[AnyServer]:
    """A running server for one test, which may kill it and tell it how to behave."""
    server = get_or_skip(servers, kind)
    yield server
    if server.running:
        server.reset()
    elif not server.killed:
        pytest.fail(f"{server.name} has died; its log:\n{server.log}", pytrace=False)


def get_or_skip(servers: RunningServers[AnyServer], kind: ServerKind) -> AnyServer:
    """A running server; without it the test is skipped, and fails where `CI` is set."""
    return available_or_skip(lambda: servers.get(kind))


def available_or_skip(start: Callable[[], Started]) -> Started:
    """What *start* gives; where it is not installed the test is skipped, and fails in CI."""
    try:
        return start()
    except (ServerUnavailableError, ServerDiedError) as error:
        if os.environ.get("CI"):
            pytest.fail(f"{error}", pytrace=False)
        pytest.skip(f"{error} (make servers)")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs a server, and the known gaps. Before anything is deselected."""
    found = set()
    for item in items:
        if SERVERS.isdisjoint(getattr(item, "fixturenames", ())):
            continue
        item.add_marker(pytest.mark.server)
        callspec = getattr(item, "callspec", None)
        if callspec is None or SERVER.isdisjoint(callspec.params):
            continue
        [fixture] = SERVER & callspec.params.keys()
        server = callspec.params[fixture]
        test, _, _ = item.nodeid.partition("[")
        for gap in ALL_GAPS:
            if gap.covers(server, test, callspec.id):
                found.add(gap)
                item.add_marker(pytest.mark.xfail(reason=gap.reason, strict=True))
    # A file asked for in full must hold every test that the table names in it.
    if not any("::" in argument for argument in config.args):
        files = {item.nodeid.partition("::")[0] for item in items}
        gone = stale(ALL_GAPS, found=found, files=files)
        if gone:
            names = ", ".join(f"{gap.server}: {gap.test}" for gap in gone)
            raise pytest.UsageError(f"the tables of gaps name tests that are gone: {names}")
