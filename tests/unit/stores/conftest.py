"""Every store that sends HTTP, at a server that answers what the test tells it to."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.stores.deaf import deaf_server, silent_server
from tests.unit.stores.responder import Responder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.unit.stores.azure.scripted import ScriptedAzure
    from tests.unit.stores.gcs.scripted import ScriptedGcs
    from tests.unit.stores.hdfs.scripted import ScriptedHdfs
    from tests.unit.stores.s3.scripted import ScriptedS3
    from tests.unit.stores.scripted import Scripted

ACCOUNTS = ("AWS_", "AZURE_", "CLOUDSDK_", "GCSFS_", "GOOGLE_", "HADOOP_", "STORAGE_")


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the person who runs the tests."""
    for name in [name for name in os.environ if name.startswith(ACCOUNTS)]:
        monkeypatch.delenv(name)
    nowhere = str(tmp_path / "none")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", nowhere)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", nowhere)
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    # gcsfs looks when it is imported, which may be here: see `tests/conftest.py`.
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    monkeypatch.setenv("FETCH_RAW_TOKEN_EXPIRY", "false")
    monkeypatch.setenv("CLOUDSDK_CONFIG", nowhere)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def responder(runner: asyncio.Runner) -> Iterator[Responder]:
    responder = Responder()
    runner.run(responder.__aenter__())
    yield responder
    runner.run(responder.__aexit__())


@pytest.fixture
def deaf(runner: asyncio.Runner) -> Iterator[str]:
    """The URL of a server that takes nothing of what is sent."""
    server = deaf_server()
    yield runner.run(server.__aenter__())
    runner.run(server.__aexit__(None, None, None))


@pytest.fixture
def silent(runner: asyncio.Runner) -> Iterator[str]:
    """The URL of a server that takes all that is sent, and never answers."""
    server = silent_server()
    yield runner.run(server.__aenter__())
    runner.run(server.__aexit__(None, None, None))


@pytest.fixture
def s3(
    runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch, one_certificate: str
) -> Iterator[ScriptedS3]:
    from tests.unit.stores.s3.scripted import ScriptedS3

    monkeypatch.setenv("AWS_CA_BUNDLE", one_certificate)
    with ScriptedS3(runner) as s3:
        yield s3


@pytest.fixture
def gcs(runner: asyncio.Runner) -> Iterator[ScriptedGcs]:
    from tests.unit.stores.gcs.scripted import ScriptedGcs

    with ScriptedGcs(runner) as gcs:
        yield gcs


@pytest.fixture
def gen2(runner: asyncio.Runner) -> Iterator[ScriptedAzure]:
    """Azure, with a hierarchical namespace."""
    from tests.unit.stores.azure.scripted import ScriptedGen2

    with ScriptedGen2(runner) as gen2:
        yield gen2


@pytest.fixture
def flat(runner: asyncio.Runner) -> Iterator[ScriptedAzure]:
    """Azure, without one."""
    from tests.unit.stores.azure.scripted import ScriptedFlat

    with ScriptedFlat(runner) as flat:
        yield flat


@pytest.fixture(params=["gen2", "flat"])
def azure(request: pytest.FixtureRequest) -> ScriptedAzure:
    """Each of the two in turn."""
    azure: ScriptedAzure = request.getfixturevalue(request.param)
    return azure


@pytest.fixture(params=["s3", "gcs", "gen2", "flat"])
def cloud(request: pytest.FixtureRequest) -> Scripted[Any]:
    """Each object store in turn."""
    cloud: Scripted[Any] = request.getfixturevalue(request.param)
    return cloud


@pytest.fixture
def hdfs(runner: asyncio.Runner) -> Iterator[ScriptedHdfs]:
    """HDFS by WebHDFS."""
    from tests.unit.stores.hdfs.scripted import ScriptedHdfs

    with ScriptedHdfs(runner) as hdfs:
        yield hdfs
