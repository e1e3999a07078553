"""One request of WebHDFS sent once, and whatever its client raises, classified here and only here.

What fails while a request is prepared, or before there is a connection, was certainly not sent.
Everything else may have been: that a Kerberos ticket has not signed the answer is found out after
the answer, and a redirection that nobody follows is parsed all the same. No client's own text is
passed on: that of requests holds the URL, and so a delegation token.
"""

import ssl
from typing import Any

import requests

from fsspec_commit_stores.hdfs.failures import (
    ClusterContact,
    RequestDescription,
    RequestFailedError,
)
from fsspec_commit_stores.hdfs.upload import DroppedError
from fsspec_commit_stores.http.redirections import origin_of

# Of urllib3.
_NEVER_CONNECTED = frozenset({"ConnectTimeoutError", "NameResolutionError", "NewConnectionError"})
_CHECK = "check the URL and the options"
_CERTIFICATE = "its certificate is not trusted: check session_verify="
_TICKET = "log in (kinit), or check the options"
_FILES = "check the files of session_verify= and session_cert="


class NotSentError(Exception):
    """There was no connection to send on: somebody else may be asked instead."""

    def __init__(self, failure: RequestFailedError) -> None:
        super().__init__(str(failure))
        self.failure = failure


class WebSession:
    """Sends with the credentials of fsspec's WebHDFS, and to others without them."""

    def __init__(self, filesystem: Any, contact: ClusterContact, *, timeout_s: float) -> None:
        """Send through *filesystem*, a private one of fsspec's."""
        self.parameters: dict[str, str] = filesystem.pars
        self._filesystem = filesystem
        self._named: requests.Session = filesystem.session
        self._elsewhere = _without_credentials(self._named)
        self._contact = contact
        self._timeout_s = timeout_s

    def close(self) -> None:
        """Close the connections."""
        self._named.close()
        self._elsewhere.close()

    def proxied(self, url: str) -> str:
        """Where the user says that *url* is reached."""
        return str(self._filesystem._apply_proxy(url))  # noqa: SLF001  # it has no other name

    def send(
        self, asked: RequestDescription, method: str, url: str, **how: Any
    ) -> requests.Response:
        """Send once and follow nothing.

        Raises:
            NotSentError: There was no connection.
            RequestFailedError: The client does not send it, or there was no answer.
            DroppedError: The body was given up.
        """
        session = self._session_for(url)
        failure: Exception
        try:
            request = session.prepare_request(requests.Request(method, url, **how))
            settings = session.merge_environment_settings(url, {}, None, None, None)
        except ValueError as error:
            failure = self._contact.unacceptable(asked, type(error).__name__, _CHECK)
            raise failure from None
        except Exception as error:  # noqa: BLE001  # of any client of Kerberos
            failure = self._contact.unsent(asked, type(error).__name__, _TICKET)
            raise failure from None
        try:
            return session.send(request, allow_redirects=False, timeout=self._timeout_s, **settings)
        except DroppedError:
            raise
        except Exception as error:  # noqa: BLE001  # there is no list of what it may raise
            failure = self._unanswered(asked, error)
        # Outside, so that the client's exception, with its text, is not its context.
        raise failure

    def _session_for(self, url: str) -> requests.Session:
        """The session for *url*: a DataNode gets no password, just what the NameNode put in it."""
        is_named = origin_of(url) == origin_of(self.proxied(self._filesystem.url))
        return self._named if is_named else self._elsewhere

    def _unanswered(self, asked: RequestDescription, error: Exception) -> Exception:
        if isinstance(error, requests.Timeout) and not isinstance(error, requests.ConnectTimeout):
            return self._contact.timed_out(asked)
        if type(error) is OSError:
            return self._contact.unacceptable(asked, "OSError", _FILES)
        kind, cause = kind_of(error), cause_of(error)
        if kind in _NEVER_CONNECTED or _is_no_way_to_proxy(cause):
            return NotSentError(self._contact.refused(asked, kind))
        if _is_untrusted(cause):
            return self._contact.unsent(asked, kind, _CERTIFICATE)
        return self._contact.broke(asked, kind)


def kind_of(error: Exception) -> str:
    """The name of what is behind an error: its text may hold a token."""
    return type(cause_of(error)).__name__


def cause_of(error: Exception) -> object:
    """What requests has wrapped, and urllib3 before it."""
    is_wrapped = isinstance(error, requests.RequestException) and bool(error.args)
    cause: object = error.args[0] if is_wrapped else error
    if isinstance(cause, str):
        cause = error
    return getattr(cause, "reason", cause)


def _is_no_way_to_proxy(cause: object) -> bool:
    """Whether a proxy was not reached, or lets nobody through: before anything was sent.

    urllib3 1.26 says the same of a connection through a proxy that breaks after all was sent; then
    the system's error has a number, unless the proxy has hung up.
    """
    if type(cause).__name__ != "ProxyError":
        return False
    within = getattr(cause, "original_error", None)
    is_broken = isinstance(within, ConnectionError) or getattr(within, "errno", None) is not None
    return not is_broken


def _is_untrusted(cause: object) -> bool:
    """Whether the handshake failed over the server's certificate: before anything was sent."""
    within = getattr(cause, "args", None)
    inner = within[0] if within else None
    return isinstance(cause, ssl.SSLCertVerificationError) or isinstance(
        inner, ssl.SSLCertVerificationError
    )


def _without_credentials(session: requests.Session) -> requests.Session:
    """A session with the connections of *session*: no password, ticket or cookie of its own.

    Saying how to authenticate keeps it from the user's netrc as well.
    """
    other = requests.Session()
    other.verify, other.cert = session.verify, session.cert
    other.auth = _nobody
    other.adapters = session.adapters
    return other


def _nobody(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request
