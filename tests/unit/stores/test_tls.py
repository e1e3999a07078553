"""Short requests through TLS, of the stores whose own clients are asked for no certificate."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit_stores.http.exchanges import Exchanges
from tests.unit.stores.certificates import Certificates, make_certificates
from tests.unit.stores.clouds import CLOUDS
from tests.unit.stores.responder import CLOSED
from tests.unit.stores.verbs import put

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from tests.unit.stores.scripted import Scripted

TRIES = 5
"""More than it takes until a shape of Azure's is signed here."""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def trusted(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.create_default_context(cafile=certificates.authority)
    monkeypatch.setattr(aiohttp.connector, "_SSL_CONTEXT_VERIFIED", context)


@pytest.fixture(params=["gcs", "gen2", "flat"])
def server(
    request: pytest.FixtureRequest, runner: asyncio.Runner, certificates: Certificates
) -> Iterator[Scripted[Any]]:
    cloud = CLOUDS[request.param](runner)
    cloud.tls = certificates.of_server()
    with cloud:
        yield cloud


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Those that were sent as exchanges."""
    noted: list[bytes] = []
    send = Exchanges.send

    async def noting(self: Exchanges, message: bytes, *told: Any, **more: Any) -> Any:
        noted.append(message)
        return await send(self, message, *told, **more)

    monkeypatch.setattr(Exchanges, "send", noting)
    return noted


@pytest.mark.usefixtures("trusted")
def test_they_share_one_connection(server: Scripted[Any], messages: list[bytes]) -> None:
    store = server.open()
    server.always(server.error(*server.busy))
    messages.clear()
    server.received.clear()
    before = server.connections
    for _ in range(TRIES):
        assert server.failure_of(put(store)).reply is Reply.NOT_DONE
    assert len(messages) == len(server.received) >= TRIES
    assert server.connections <= before + 1


@pytest.mark.usefixtures("trusted")
def test_whose_end_leaves_in_doubt_what_was_sent(server: Scripted[Any]) -> None:
    store = server.open()
    server.always(server.error(*server.busy))
    for _ in range(TRIES):
        server.failure_of(put(store))
    server.received.clear()
    server.always(CLOSED)
    assert server.failure_of(put(store)).reply is Reply.UNKNOWN
    assert 1 <= len(server.received) <= server.requests_in_doubt


def test_a_server_that_is_not_trusted_is_told_nothing(server: Scripted[Any]) -> None:
    """Neither what is sent nor by whom."""
    with pytest.raises(StoreError, match="its certificate is not trusted"):
        server.run(put(server.open()))
    assert server.received == []
