"""Every way to the network, and what becomes of a request on it: as by botocore, and once."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.store import PendingUpload
from tests.unit.stores.certificates import Certificates, make_certificates
from tests.unit.stores.deaf import LARGE
from tests.unit.stores.responder import Responder
from tests.unit.stores.s3.templates.outcomes import FREQUENT, Frequent, call, outcome_of
from tests.unit.stores.s3.templates.sent import SentByTemplate
from tests.unit.stores.test_connections import unused_port
from tests.unit.stores.tunnel import Tunnel, tunnel
from tests.unit.stores.verbs import NONCE, PATH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit_stores.s3 import S3Store
    from tests.unit.stores.s3.scripted import ScriptedS3

PUT = FREQUENT["put"]
PART = Frequent(
    lambda s: s.uploads.put_part(
        PendingUpload(path=PATH, upload_id="u", nonce=NONCE, parts=()), 1, LARGE
    ),
    FREQUENT["part"].success,
)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


class Ways:
    """Both ways at any address."""

    def __init__(self, s3: ScriptedS3, sent: SentByTemplate) -> None:
        self._s3 = s3
        self._sent = sent

    def open(self, *, by_template: bool, **options: Any) -> S3Store:
        return self._s3.open(request_templates=by_template, **options)

    def outcome(self, frequent: Frequent = PUT, *, times: int = 1, **options: Any) -> list[str]:
        """What both are told, each time."""
        told = []
        for by_template in (True, False):
            store, before = self.open(by_template=by_template, **options), self._sent.count
            told.append([self._s3.run(outcome_of(call(frequent, store))) for _ in range(times)])
            assert self._sent.count - before == by_template * times
        assert told[0] == told[1]
        return told[0]


@pytest.fixture
def ways(s3: ScriptedS3, monkeypatch: pytest.MonkeyPatch) -> Ways:
    return Ways(s3, SentByTemplate(monkeypatch))


def test_nobody_there(ways: Ways) -> None:
    *_, first, last = ways.outcome(times=3, endpoint_url=f"http://127.0.0.1:{unused_port()}")
    assert "Reply.NOT_DONE" in first
    assert "cannot be reached" in first
    assert "Reply.REFUSED" in last


def test_no_such_name(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", unknown)
    [told] = ways.outcome(endpoint_url="http://nowhere.example")
    assert "Reply.NOT_DONE" in told
    assert "cannot be reached" in told


def test_a_connection_that_is_not_taken(ways: Ways) -> None:
    """Of as many as a server holds in line, the next one is not answered."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        address = listening.getsockname()
        with socket.create_connection(address):
            [told] = ways.outcome(
                endpoint_url=f"http://127.0.0.1:{address[1]}",
                config_kwargs={"connect_timeout": 0.2, "read_timeout": 5},
            )
    assert "Reply.NOT_DONE" in told
    assert "cannot be reached" in told


@pytest.mark.parametrize("frequent", [*FREQUENT.values(), PART], ids=[*FREQUENT, "long part"])
def test_nobody_answers(ways: Ways, silent: str, frequent: Frequent) -> None:
    [told] = ways.outcome(frequent, endpoint_url=silent, config_kwargs={"read_timeout": 0.1})
    assert "Reply.UNKNOWN" in told
    assert "did not answer in time" in told


@pytest.mark.parametrize("frequent", [PART], ids=["long part"])
def test_nobody_takes_a_body(ways: Ways, deaf: str, frequent: Frequent) -> None:
    [told] = ways.outcome(frequent, endpoint_url=deaf, config_kwargs={"read_timeout": 0.1})
    assert "Reply.UNKNOWN" in told
    assert "did not answer in time" in told


class TestTls:
    @pytest.fixture
    def server(self, s3: ScriptedS3, certificates: Certificates) -> Iterator[Responder]:
        responder = Responder()
        responder.tls = certificates.of_server()
        responder.answering = lambda _: PUT.success
        s3.run(responder.__aenter__())
        yield responder
        s3.run(responder.__aexit__())

    def test_trusted(self, ways: Ways, server: Responder, certificates: Certificates) -> None:
        verify: dict[str, Any] = {"client_kwargs": {"verify": certificates.authority}}
        told = ways.outcome(times=2, endpoint_url=server.url, **verify)
        assert not any("Reply" in one for one in told)
        assert len(server.received) == 4

    def test_not_trusted(self, ways: Ways, server: Responder) -> None:
        [told] = ways.outcome(endpoint_url=server.url)
        assert "Reply.REFUSED" in told
        assert "its certificate is not trusted" in told
        assert server.received == []

    def test_never_looked_at(self, ways: Ways, server: Responder) -> None:
        [told] = ways.outcome(endpoint_url=server.url, client_kwargs={"verify": False})
        assert "Reply" not in told

    def test_spoken_to_who_does_not(self, ways: Ways, s3: ScriptedS3) -> None:
        async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        server = s3.run(asyncio.start_server(refuse, "127.0.0.1", 0))
        port = server.sockets[0].getsockname()[1]
        [told] = ways.outcome(endpoint_url=f"https://127.0.0.1:{port}")
        server.close()
        assert "Reply.REFUSED" in told
        assert "speaks plain http" in told

    def test_not_spoken_to_who_does(self, ways: Ways, server: Responder) -> None:
        [told] = ways.outcome(endpoint_url=server.url.replace("https:", "http:"))
        assert "Reply.UNKNOWN" in told

    def test_the_client_shows_who_it_is(
        self, ways: Ways, s3: ScriptedS3, certificates: Certificates
    ) -> None:
        server = Responder()
        server.tls = certificates.of_server(asks_for_client=True)
        server.answering = lambda _: PUT.success
        s3.run(server.__aenter__())
        verify: dict[str, Any] = {"client_kwargs": {"verify": certificates.authority}}
        known: dict[str, Any] = {"config_kwargs": {"client_cert": certificates.client}}
        [told] = ways.outcome(endpoint_url=server.url, **verify, **known)
        assert "Reply" not in told
        assert len(server.received) == 2
        [told] = ways.outcome(endpoint_url=server.url, **verify)
        assert "Reply.NOT_DONE" in told
        assert len(server.received) == 2
        s3.run(server.__aexit__())


class TestProxy:
    @pytest.fixture
    def proxy(self, s3: ScriptedS3) -> Iterator[Tunnel]:
        stack = AsyncExitStack()
        yield s3.run(stack.enter_async_context(tunnel()))
        s3.run(stack.aclose())

    def test_it_passes_plain_requests_on(self, ways: Ways, s3: ScriptedS3) -> None:
        """It is told the whole URL; here it is the server as well."""
        s3.answering = lambda _: PUT.success
        proxies: dict[str, Any] = {"config_kwargs": {"proxies": {"http": s3.url}}}
        [told] = ways.outcome(endpoint_url="http://s3.example", **proxies)
        assert "Reply" not in told
        assert [one.target for one in s3.received] == ["http://s3.example/bucket/out/a%20b"] * 2

    def test_it_is_a_tunnel(
        self, ways: Ways, s3: ScriptedS3, certificates: Certificates, proxy: Tunnel
    ) -> None:
        server = Responder()
        server.tls = certificates.of_server()
        server.answering = lambda _: PUT.success
        s3.run(server.__aenter__())
        verify: dict[str, Any] = {"client_kwargs": {"verify": certificates.authority}}
        proxies: dict[str, Any] = {"config_kwargs": {"proxies": {"https": proxy.url}}}
        [told] = ways.outcome(endpoint_url=server.url, **verify, **proxies)
        assert "Reply" not in told
        assert len(server.received) == 2
        assert len(proxy.asked) == 2
        s3.run(server.__aexit__())

    @pytest.mark.parametrize("status", [403, 407, 502])
    def test_it_lets_nobody_through(self, ways: Ways, proxy: Tunnel, status: int) -> None:
        proxy.refusal = f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n".encode()
        proxies: dict[str, Any] = {"config_kwargs": {"proxies": {"https": proxy.url}}}
        [told] = ways.outcome(endpoint_url="https://s3.example", **proxies)
        assert "Reply.NOT_DONE" in told

    def test_it_is_not_there(self, ways: Ways) -> None:
        proxies: dict[str, Any] = {
            "config_kwargs": {"proxies": {"http": f"http://127.0.0.1:{unused_port()}"}}
        }
        [told] = ways.outcome(endpoint_url="http://s3.example", **proxies)
        assert "Reply.NOT_DONE" in told
