"""What a failed request to GCS says about its effect: classified here, once, by status and reason.

Never by the exception type that gcsfs chose: it names a condition that was not met, a refused
permission and a broken proxy by types that mean something else.

The text is built here from what is known to hold no secret. A URL can carry the address of an
upload, which is as good as a credential, and a header the token; so an exception's own text is
never passed on, it is nobody's cause, and of an answer only the reason is shown (`answers`).
"""

import errno
import os
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp
from google.auth import exceptions as auth

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit_stores.gcs.answers import (
    Answer,
    number_of,
    reply_of,
    retry_after_s_of,
    why_of,
)
from fsspec_commit_stores.gcs.authorization import UnusableTokenError

FIRST_TRIES_MAX = 3
"""How often an endpoint that has never answered is tried before it counts as wrong."""

_LOG_IN = "check token=, or log in again (gcloud auth application-default login)"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of the store, in the words of a message.

    Attributes:
        verb: What could not be done, as in "cannot *read* …".
        path: To what: bucket and key.
        permissions: What IAM must allow for it.
        endpoint: Where it was sent, without user, path and query.
    """

    verb: str
    path: str
    permissions: str
    endpoint: str


def answered(asked: Asked, answer: Answer) -> StoreError:
    """The ``StoreError`` of a request that was answered by an error."""
    return made(
        asked,
        why_of(answer, permissions=asked.permissions),
        reply_of(answer),
        number_of(answer),
        retry_after_s=retry_after_s_of(answer),
    )


def unanswered(asked: Asked, error: BaseException, *, first_tries: int) -> StoreError:
    """The ``StoreError`` of a request without an answer.

    What is not known for certain to have been raised before anything was sent leaves in doubt.

    Args:
        asked: What was asked.
        error: What the client raised, whatever it was.
        first_tries: How often the endpoint was tried before it ever answered; 0 once it has.
    """
    kind = type(error).__name__
    if isinstance(error, aiohttp.ClientSSLError):
        why = (
            f"no TLS connection to {asked.endpoint}: its certificate is not trusted, or it speaks "
            "plain http; check endpoint_url="
        )
        return made(asked, why, _unsent(first_tries, tries_max=1), errno.ECONNABORTED)
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        why = "the endpoint is no URL; check endpoint_url= (https://host:port)"
        return made(asked, why, Reply.REFUSED, errno.EINVAL)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        why = f"the proxy refuses the connection (HTTP {error.status}); check session_kwargs="
        is_refusal = error.status < HTTPStatus.INTERNAL_SERVER_ERROR
        tries_max = 0 if is_refusal else FIRST_TRIES_MAX
        return made(asked, why, _unsent(first_tries, tries_max=tries_max), errno.EHOSTUNREACH)
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        why = f"{asked.endpoint} cannot be reached; check endpoint_url=, the network and the proxy"
        reply = _unsent(first_tries, tries_max=FIRST_TRIES_MAX)
        return made(asked, why, reply, errno.EHOSTUNREACH)
    if is_timeout(error):
        return made(asked, _silence(asked), Reply.UNKNOWN, errno.ETIMEDOUT)
    why = f"the request to {asked.endpoint} failed before the answer ({kind}); check it"
    return made(asked, why, Reply.UNKNOWN)


def _unsent(first_tries: int, *, tries_max: int) -> Reply:
    """Of what was never sent: refused where nobody has ever answered in *tries_max* tries.

    To go on would only keep the user waiting. Who has answered may be restarting, and an ingress
    that does shows a certificate of its own meanwhile.
    """
    return Reply.REFUSED if first_tries >= tries_max else Reply.NOT_DONE


def is_timeout(error: BaseException) -> bool:
    """Whether there was a connection, and no answer in time."""
    return isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ConnectionTimeoutError)


def silent(asked: Asked) -> StoreError:
    """The refusal to wait once more for an endpoint that has never answered: nothing was sent."""
    return made(asked, _silence(asked), Reply.REFUSED, errno.ETIMEDOUT)


def not_renewed(asked: Asked, error: BaseException, *, has_answered: bool) -> StoreError:
    """The ``StoreError`` where no token could be got; nothing was sent to the store.

    What had good credentials when the store answered may have them again: google-auth also calls
    it a refusal when a host that gives them out says that it is restarting.
    """
    kind = type(error).__name__
    if isinstance(error, UnusableTokenError):
        why = "the token holds what no header can, such as a line break; check token="
        return made(asked, why, Reply.REFUSED, errno.EACCES)
    # The first of the metadata server is wrapped.
    is_unreachable = isinstance(error, auth.TransportError) or isinstance(
        error.__cause__, auth.TransportError
    )
    if is_unreachable or getattr(error, "retryable", False):
        why = f"no token could be fetched ({kind}); check the network and the metadata server"
        return made(asked, why, Reply.NOT_DONE, errno.EHOSTUNREACH)
    why = f"the credentials have expired and cannot be renewed ({kind}); {_LOG_IN}"
    reply = Reply.NOT_DONE if has_answered else Reply.REFUSED
    return made(asked, why, reply, errno.EACCES)


def no_credentials(asked: Asked, error: BaseException) -> StoreError:
    """The ``StoreError`` where gcsfs makes no credentials of what it was given."""
    why = f"no credentials could be had ({type(error).__name__}); {_LOG_IN}"
    return made(asked, why, Reply.REFUSED, errno.EACCES)


def made(
    asked: Asked,
    why: str,
    reply: Reply,
    number: int = errno.EIO,
    *,
    retry_after_s: float | None = None,
) -> StoreError:
    """A ``StoreError`` with the ``errno`` a system call would have given."""
    message = f"cannot {asked.verb} 'gs://{_shown(asked.path.rstrip('/'))}': {why}"
    error = StoreError(message, reply=reply, path=asked.path, retry_after_s=retry_after_s)
    error.errno = number
    error.strerror = os.strerror(number)
    return error


def _silence(asked: Asked) -> str:
    return (
        f"{asked.endpoint} did not answer in time; check it, or wait longer with requests_timeout="
    )


def _shown(path: str) -> str:
    """A path on one line."""
    return repr(path)[1:-1]
