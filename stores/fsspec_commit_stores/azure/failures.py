"""What a failed request to Azure says about its effect: classified here, once, by status and code.

Never by the exception type that an SDK chose, beyond whether there was an answer at all, whether
the request had been signed, and whether there was a connection to send on. The text is built here
from what is known to hold no secret: a URL may hold a shared access signature and an exception may
hold the URL, so an exception's own text is never passed on, and it is nobody's cause.
"""

import errno
import os
import socket
from dataclasses import dataclass

import aiohttp
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ServiceRequestError,
)

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit_stores.azure.answers import (
    Answer,
    Sent,
    number_of,
    reply_of,
    retry_after_s_of,
    why_of,
)
from fsspec_commit_stores.azure.connections import UnansweredError

FIRST_TRIES_MAX = 3
"""How often an endpoint that has never answered is tried before it counts as wrong."""

# Of a proxy that makes no tunnel the store has heard nothing.
_NEVER_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    socket.gaierror,
)
_NETWORK = (aiohttp.ClientError, OSError)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of the store, in the words of a message.

    Attributes:
        verb: What could not be done, as in "cannot *read* …".
        path: To what: container and name.
        actions: What must be allowed for it.
        endpoint: Where it was sent, without query.
    """

    verb: str
    path: str
    actions: str
    endpoint: str


def refused(asked: Asked, answer: Answer, sent: Sent) -> StoreError:
    """The ``StoreError`` of an answer that is no success."""
    return made(
        asked,
        why_of(answer, sent, actions=asked.actions),
        reply_of(answer),
        number_of(answer),
        retry_after_s=retry_after_s_of(answer),
    )


def unanswered(asked: Asked, error: UnansweredError, *, first_tries: int) -> StoreError:
    """The ``StoreError`` of a request that was not answered.

    Args:
        asked: What was asked.
        error: What sending raised.
        first_tries: How often the endpoint was tried before it ever answered; 0 once it has.
    """
    # A challenge that was not met: the store has turned the request away.
    is_challenged = isinstance(error.error.__cause__, HttpResponseError)
    if error.is_sent and not is_challenged:
        reply, why, number = _lost(asked, error.error)
    else:
        reply, why, number = _unsent(asked, error.error, has_answered=not first_tries)
    if isinstance(_cause_of(error.error), aiohttp.ClientSSLError) and not first_tries:
        # Who has answered may be restarting, and show a certificate of its own meanwhile.
        reply = Reply.NOT_DONE
    if reply is Reply.NOT_DONE and first_tries >= FIRST_TRIES_MAX:
        # Nobody is there: to go on would only keep the user waiting.
        reply = Reply.REFUSED
    return made(asked, why, reply, number)


def is_timeout(error: UnansweredError) -> bool:
    """Whether there was a connection to the store, and no answer in time."""
    return error.is_sent and _is_late(_cause_of(error.error))


def silent(asked: Asked) -> StoreError:
    """The refusal to wait once more for an endpoint that has never answered: nothing was sent."""
    return made(asked, _silence(asked), Reply.REFUSED, errno.ETIMEDOUT)


def made(
    asked: Asked,
    why: str,
    reply: Reply,
    number: int = errno.EIO,
    *,
    retry_after_s: float | None = None,
) -> StoreError:
    """A ``StoreError`` with the ``errno`` a system call would have given."""
    message = f"cannot {asked.verb} 'abfs://{_shown(asked.path.rstrip('/'))}': {why}"
    error = StoreError(message, reply=reply, path=asked.path, retry_after_s=retry_after_s)
    error.errno = number
    error.strerror = os.strerror(number)
    return error


def _unsent(asked: Asked, error: Exception, *, has_answered: bool) -> tuple[Reply, str, int]:
    """Of what came before the store was reached: a request is signed first.

    What had good credentials when the store answered may have them again: who gives them out calls
    it missing credentials as well when it cannot be reached just then.
    """
    cause = _cause_of(error)
    kind = type(cause).__name__
    if (
        asked.endpoint.startswith("http:")
        and isinstance(error, ServiceRequestError)
        and cause is error
    ):
        why = f"access tokens are sent through https only, and not to {asked.endpoint} ({kind})"
        return Reply.REFUSED, why, errno.EACCES
    if isinstance(cause, _NETWORK) and not isinstance(error, ClientAuthenticationError):
        why = f"who gives out access tokens did not answer ({kind}); check the network"
        return Reply.NOT_DONE, why, errno.EHOSTUNREACH
    why = (
        f"no access token could be fetched ({kind}); log in with 'az login', or give "
        "account_key=, sas_token= or client_id=, client_secret= and tenant_id="
    )
    return Reply.NOT_DONE if has_answered else Reply.REFUSED, why, errno.EACCES


def _lost(asked: Asked, error: Exception) -> tuple[Reply, str, int]:
    """Of what came after it was signed, on the way to the store or back."""
    cause = _cause_of(error)
    kind = type(cause).__name__
    if isinstance(cause, aiohttp.ClientSSLError):
        why = (
            f"no TLS connection to {asked.endpoint}: its certificate is not trusted, or it speaks "
            "plain http; check the account and the proxy"
        )
        return Reply.REFUSED, why, errno.ECONNABORTED
    if isinstance(cause, _NEVER_SENT):
        why = f"{asked.endpoint} cannot be reached; check the account, the network and the proxy"
        return Reply.NOT_DONE, why, errno.EHOSTUNREACH
    if _is_late(cause):
        return Reply.UNKNOWN, _silence(asked), errno.ETIMEDOUT
    why = f"the connection to {asked.endpoint} failed before the answer ({kind}); check it"
    return Reply.UNKNOWN, why, errno.EIO


def _cause_of(error: Exception) -> BaseException:
    """What the network said, inside of what azure-core made of it."""
    inner = getattr(error, "inner_exception", None)
    return inner if isinstance(inner, BaseException) else error


def _is_late(cause: BaseException) -> bool:
    return isinstance(cause, TimeoutError) and not isinstance(cause, aiohttp.ConnectionTimeoutError)


def _silence(asked: Asked) -> str:
    return f"{asked.endpoint} did not answer in time; check it, or wait longer with read_timeout=…"


def _shown(path: str) -> str:
    """A path on one line."""
    return repr(path)[1:-1]
