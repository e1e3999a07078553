"""What the clients raise in place of an answer: whether it was sent, and nothing of their texts."""

from __future__ import annotations

import http.client
import ssl
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import requests
import urllib3.exceptions
from requests.adapters import BaseAdapter

from fsspec_commit.errors import Reply
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.hdfs.failures import (
    ClusterContact,
    RequestDescription,
    RequestFailedError,
)
from fsspec_commit_stores.hdfs.native import NativeRequests
from fsspec_commit_stores.hdfs.upload import DroppedError
from fsspec_commit_stores.hdfs.web_session import NotSentError, WebSession
from tests.unit.stores.responder import Answer

if TYPE_CHECKING:
    import asyncio

    from tests.unit.stores.hdfs.scripted import ScriptedHdfs

SECRET = "HAAEcm9vdARyb290"
ASKED = RequestDescription("rename", "/a/b", "http://nn:9870")
URL = f"http://nn:9870/webhdfs/v1/a/b?delegation={SECRET}"
NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN


class MutualAuthenticationError(requests.RequestException):
    """As of requests-kerberos: the answer is there, and not signed with the ticket."""


class Raising(BaseAdapter):
    """A connection that ends in one error, or in that of another client."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def send(self, *_: Any, **__: Any) -> requests.Response:
        raise self.error

    def close(self) -> None:
        pass


def session_of(session: requests.Session, *, has_answered: bool = True) -> WebSession:
    filesystem = SimpleNamespace(
        url="http://nn:9870/webhdfs/v1",
        pars={"delegation": SECRET},
        session=session,
        _apply_proxy=lambda url: url,
    )
    contact = ClusterContact("http://nn:9870")
    if has_answered:
        contact.has_answered = True
    return WebSession(filesystem, contact, timeout_s=1)


def raised(error: BaseException, *, has_answered: bool = True) -> Exception:
    session = requests.Session()
    session.mount("http://", Raising(error))
    with pytest.raises((NotSentError, RequestFailedError)) as caught:
        session_of(session, has_answered=has_answered).send(ASKED, "PUT", URL)
    return caught.value


def in_retries(reason: Exception) -> requests.ConnectionError:
    retries = urllib3.exceptions.MaxRetryError(None, URL, reason)  # type: ignore[arg-type]  # no pool is needed
    return requests.ConnectionError(retries)


@pytest.mark.parametrize(
    "error",
    [
        requests.ReadTimeout(URL),
        requests.ConnectionError(URL),
        requests.ConnectionError(urllib3.exceptions.ProtocolError(URL, OSError(URL))),
        requests.exceptions.ChunkedEncodingError(URL),
        requests.exceptions.ContentDecodingError(URL),
        requests.RequestException(),
        MutualAuthenticationError(f"Unable to authenticate <Response [200]> {URL}"),
        urllib3.exceptions.DecodeError(URL),
        ConnectionResetError(104, URL),
        RuntimeError(URL),
        ValueError(URL),
        KeyError(URL),
        UnicodeDecodeError("utf-8", b"x", 0, 1, URL),
        # As urllib3 1.26 wraps what breaks after all was sent.
        in_retries(urllib3.exceptions.ProxyError(URL, ConnectionResetError(104, URL))),
        in_retries(urllib3.exceptions.ProxyError(URL, http.client.RemoteDisconnected(URL))),
        in_retries(urllib3.exceptions.ProxyError(URL, OSError(113, URL))),
    ],
)
def test_what_may_have_been_sent_is_in_doubt(error: Exception) -> None:
    failure = raised(error)
    assert isinstance(failure, RequestFailedError)
    assert failure.failure.reply is UNKNOWN
    assert SECRET not in str(failure)
    assert failure.__context__ is None


@pytest.mark.parametrize(
    "error",
    [
        in_retries(urllib3.exceptions.NewConnectionError(None, URL)),  # type: ignore[arg-type]  # no connection is needed
        in_retries(urllib3.exceptions.ProxyError(URL, OSError(URL))),
        requests.ConnectTimeout(urllib3.exceptions.ConnectTimeoutError(None, URL)),
    ],
)
def test_who_was_never_connected_to_got_nothing(error: Exception) -> None:
    failure = raised(error)
    assert isinstance(failure, NotSentError)
    assert failure.failure.failure.reply is NOT_DONE
    assert SECRET not in str(failure)


UNTRUSTED = requests.exceptions.SSLError(
    urllib3.exceptions.MaxRetryError(
        None,  # type: ignore[arg-type]  # no pool is needed
        URL,
        urllib3.exceptions.SSLError(ssl.SSLCertVerificationError(1, URL)),
    )
)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(f"Could not find a suitable TLS CA certificate bundle {SECRET}"), "session_cert="),
        (UNTRUSTED, "session_verify="),
    ],
)
def test_a_handshake_that_fails_for_good_is_a_refusal(error: Exception, says: str) -> None:
    failure = raised(error, has_answered=False)
    assert isinstance(failure, RequestFailedError)
    assert failure.failure.reply is REFUSED
    assert says in str(failure)
    assert SECRET not in str(failure)


def test_a_certificate_that_was_right_before_is_waited_for() -> None:
    """A gateway that restarts shows one of its own, after the decision as well."""
    failure = raised(UNTRUSTED)
    assert isinstance(failure, RequestFailedError)
    assert failure.failure.reply is NOT_DONE
    assert "session_verify=" in str(failure)


@pytest.mark.parametrize(
    ("error", "after_answers"),
    [
        (requests.RequestException(SECRET), NOT_DONE),
        (OSError(SECRET), NOT_DONE),
        (KeyError(1), NOT_DONE),
        (requests.exceptions.InvalidURL(SECRET), REFUSED),
    ],
)
def test_what_fails_before_it_is_sent_is_a_refusal(error: Exception, after_answers: Reply) -> None:
    """A ticket that is asked for beforehand, and there is none; later one is waited for."""

    def no_ticket(_: requests.PreparedRequest) -> requests.PreparedRequest:
        raise error

    session = requests.Session()
    session.auth = no_ticket
    for has_answered, reply in ((False, REFUSED), (True, after_answers)):
        with pytest.raises(RequestFailedError) as caught:
            session_of(session, has_answered=has_answered).send(ASKED, "PUT", URL)
        assert caught.value.failure.reply is reply
        assert SECRET not in str(caught.value)


def test_a_body_that_was_given_up_says_so() -> None:
    session = requests.Session()
    session.mount("http://", Raising(DroppedError()))
    with pytest.raises(DroppedError):
        session_of(session).send(ASKED, "PUT", URL)


@pytest.mark.parametrize("location", ["http://[", "http://a..b/webhdfs/v1/", "//", "http://:x/"])
def test_a_redirection_that_no_client_can_read_is_in_doubt(
    hdfs: ScriptedHdfs, location: str
) -> None:
    """requests parses it although it is told not to follow: after the request was sent."""
    hdfs.script(Answer(302, headers={"Location": location}))
    assert hdfs.failure_of(hdfs.store.stat(StorePath("/out/a"))).reply is UNKNOWN


@pytest.mark.parametrize("error", [ValueError, KeyError, ArithmeticError, OSError, RuntimeError])
def test_the_native_client_may_raise_what_it_wants(
    runner: asyncio.Runner, error: type[Exception]
) -> None:
    class Failing:
        def rename(self, *_: object) -> None:
            raise error(SECRET)

    client: Any = Failing()
    native = NativeRequests(client, "hdfs://nn", timeout_s=10, threads=1, how_to_write={})
    with pytest.raises(RequestFailedError) as caught:
        runner.run(native.rename(StorePath("/a"), StorePath("/b"), replacing=False))
    assert caught.value.failure.reply is UNKNOWN
    assert error.__name__ in str(caught.value)
    assert SECRET not in str(caught.value)
