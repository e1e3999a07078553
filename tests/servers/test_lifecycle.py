"""How servers begin and end: on loopback only, on ports that were free, and never left behind."""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.servers import server_process
from tests.servers.azure.kinds import AZURE_KINDS
from tests.servers.gcs.kinds import KINDS as GCS_KINDS
from tests.servers.kinds import EVERY_RUN, MINISTACK, NIGHTLY, VERSITYGW, Launch
from tests.servers.listening import listening
from tests.servers.plugin import get_or_skip
from tests.servers.ports import LOWEST, free_ports
from tests.servers.server import Server, Servers
from tests.servers.server_process import ServerDiedError
from tests.servers.slow_s3.server import SLOW_S3

if TYPE_CHECKING:
    from tests.servers.kinds import Place, ServerKind
    from tests.servers.server_process import ServerProcess

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

EVERY_S3_KIND = [
    *(pytest.param(kind, id=kind.name) for kind in (*EVERY_RUN, SLOW_S3)),
    *(pytest.param(kind, id=kind.name, marks=pytest.mark.slow) for kind in NIGHTLY),
]
OTHER_KINDS = [
    *(pytest.param("gcs_servers", kind, id=kind.name) for kind in GCS_KINDS.values()),
    *(pytest.param("azure_servers", kind, id=kind.name) for kind in AZURE_KINDS.values()),
]
STARTS_ONE = """
import sys, time
from tests.servers.kinds import KINDS
from tests.servers.server import Server, Servers
server = Server(KINDS["{name}"])
print(server.pid, server.home, flush=True)
time.sleep(600)
"""


@pytest.fixture(params=EVERY_S3_KIND)
def server(request: pytest.FixtureRequest, servers: Servers, s3_environment: None) -> Server:
    """Also the nightly ones, by night."""
    return get_or_skip(servers, request.param)


def check_addresses(server: ServerProcess) -> None:
    addresses = listening(server.pid)
    assert {address for address, _ in addresses} <= {"127.0.0.1", "::1"}
    assert {port for _, port in addresses} == set(server.ports.values())


@linux
def test_it_listens_on_loopback_only(server: Server) -> None:
    check_addresses(server)


@linux
@pytest.mark.server
@pytest.mark.parametrize(("fixture", "kind"), OTHER_KINDS)
def test_that_of_another_store_listens_on_loopback_only(
    request: pytest.FixtureRequest, fixture: str, kind: ServerKind
) -> None:
    check_addresses(get_or_skip(request.getfixturevalue(fixture), kind))


def test_an_object_comes_back_from_each_kind(server: Server) -> None:
    bucket = server.new_bucket()
    server.client.put_object(Bucket=bucket, Key="a", Body=b"one")
    assert server.client.get_object(Bucket=bucket, Key="a")["Body"].read() == b"one"


def test_another_server_comes_after_a_dead_one(servers: Servers, s3_environment: None) -> None:
    first = get_or_skip(servers, MINISTACK)
    assert servers.get(MINISTACK) is first
    first.kill()
    second = servers.get(MINISTACK)
    assert second is not first
    second.new_bucket()
    assert not first.home.exists()


def until_gone(path: Path) -> None:
    deadline = time.monotonic() + 60
    while path.exists():
        assert time.monotonic() < deadline, f"{path} is still there"
        time.sleep(0.05)


@linux
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed_tests_leave_nothing(
    servers: Servers, s3_environment: None, number: signal.Signals
) -> None:
    get_or_skip(servers, VERSITYGW)
    tests = subprocess.Popen(
        [sys.executable, "-c", STARTS_ONE.format(name="versitygw")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert tests.stdout is not None
    pid, home = tests.stdout.readline().split()
    assert Path(f"/proc/{pid}").exists()
    tests.send_signal(number)
    tests.communicate()
    until_gone(Path(home))
    assert not Path(f"/proc/{pid}").exists()


@linux
def test_a_killed_supervisor_takes_its_server_along(servers: Servers, s3_environment: None) -> None:
    get_or_skip(servers, VERSITYGW)
    with Server(VERSITYGW) as server:
        os.kill(server.supervisor_pid, signal.SIGKILL)
        until_gone(Path(f"/proc/{server.pid}"))
        assert not server.running


def test_a_taken_port_is_tried_elsewhere(
    servers: Servers, s3_environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_or_skip(servers, VERSITYGW)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        answers = [[taken.getsockname()[1]], free_ports(1)]
        monkeypatch.setattr(server_process, "free_ports", lambda count: answers.pop(0))
        with Server(VERSITYGW) as server:
            assert answers == []
            server.new_bucket()


def test_free_ports_are_distinct_and_low() -> None:
    ports = free_ports(8)
    assert len(set(ports)) == 8
    assert min(ports) >= LOWEST


def test_the_log_says_why_a_server_died(servers: Servers, s3_environment: None) -> None:
    get_or_skip(servers, VERSITYGW)

    def launch(place: Place) -> Launch:
        return Launch(["--no-such-option"])

    with pytest.raises(ServerDiedError, match="no-such-option"):
        Server(dataclasses.replace(VERSITYGW, launch=launch))


@pytest.mark.parametrize("ci", ["", "true"])
def test_a_missing_server_is_skipped_and_fails_in_ci(
    monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    monkeypatch.setenv("CI", ci)
    never = dataclasses.replace(MINISTACK.installation, version="0")
    outcome = pytest.fail.Exception if ci else pytest.skip.Exception
    with pytest.raises(outcome, match="ministack 0 is not installed"):
        get_or_skip(Servers(Server), dataclasses.replace(MINISTACK, installation=never))
