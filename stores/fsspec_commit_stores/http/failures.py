"""The errors of requests that are sent through HTTP: the same words for the same trouble.

Each store says itself what an answer or an exception means. Of an exception only the name of its
class is shown: its text may hold a URL or a header, and with them a secret.
"""

import errno
import os
from dataclasses import dataclass
from typing import ClassVar

from fsspec_commit.errors import Reply, StoreError

_TOO_MANY_OPEN = frozenset({errno.EMFILE, errno.ENFILE})
FIRST_TRIES_MAX = 3
"""How often an endpoint that has never answered is tried before it counts as wrong."""


@dataclass(frozen=True, slots=True)
class RequestDescription:
    """A request, as its error message speaks of it.

    Attributes:
        verb: What could not be done, as in "cannot *read* …".
        path: What it is about: bucket or container, and name.
        permissions: What must be allowed for it.
        endpoint: Where it is sent, without user, path and query.
        scheme: Of the store's URLs.
        address_options: Which of the user's options say where the store is.
        tls_options: Which of them decide whether there can be a TLS connection.
        timeout_option: Which of them says how long an answer is waited for.
    """

    verb: str
    path: str
    permissions: str
    endpoint: str
    scheme: ClassVar[str]
    address_options: ClassVar[str]
    tls_options: ClassVar[str]
    timeout_option: ClassVar[str]


def store_error(
    request: RequestDescription,
    why: str,
    reply: Reply,
    number: int = errno.EIO,
    *,
    retry_after_s: float | None = None,
    is_overload: bool = False,
) -> StoreError:
    """A ``StoreError`` with the ``errno`` a system call would have given."""
    shown = repr(request.path.rstrip("/"))[1:-1]  # on one line
    message = f"cannot {request.verb} '{request.scheme}://{shown}': {why}"
    error = StoreError(
        message,
        reply=reply,
        path=request.path,
        retry_after_s=retry_after_s,
        is_overload=is_overload,
    )
    error.errno = number
    error.strerror = os.strerror(number)
    return error


def no_tls(request: RequestDescription) -> StoreError:
    """The failure of a request for which there was no TLS connection."""
    why = (
        f"no TLS connection to {request.endpoint}: its certificate is not trusted, or it speaks "
        f"plain http; check {request.tls_options}"
    )
    return store_error(request, why, Reply.REFUSED, errno.ECONNABORTED)


def is_out_of_files(error: BaseException) -> bool:
    """Whether the process may open nothing more, and so has made no connection."""
    return getattr(error, "errno", None) in _TOO_MANY_OPEN


def unreachable(request: RequestDescription, error: BaseException) -> StoreError:
    """The failure of a request for which there was no connection, because of *error*."""
    if is_out_of_files(error):
        why = (
            "this process may hold no more files open; raise its limit (ulimit -n), or have fewer "
            "calls in flight with concurrency="
        )
        return store_error(request, why, Reply.NOT_DONE, errno.EMFILE, is_overload=True)
    why = (
        f"{request.endpoint} cannot be reached; check {request.address_options}, the network and "
        "the proxy"
    )
    return store_error(request, why, Reply.NOT_DONE, errno.EHOSTUNREACH)


def timed_out(request: RequestDescription, reply: Reply = Reply.UNKNOWN) -> StoreError:
    """The failure of a request that was sent, and not answered in time."""
    why = (
        f"{request.endpoint} did not answer in time; check it, or wait longer with "
        f"{request.timeout_option}"
    )
    return store_error(request, why, reply, errno.ETIMEDOUT)


def silent(request: RequestDescription) -> StoreError:
    """The refusal to wait once more for an endpoint that has never answered: nothing was sent."""
    return timed_out(request, Reply.REFUSED)


def broken(request: RequestDescription, error: BaseException) -> StoreError:
    """The failure of a request whose connection broke before the answer."""
    kind = type(error).__name__
    why = f"the connection to {request.endpoint} failed before the answer ({kind}); check it"
    return store_error(request, why, Reply.UNKNOWN)


def after_first_tries(
    failure: StoreError, first_tries: int, *, is_passing: bool = False
) -> StoreError:
    """*failure*, with its reply adjusted to whether the endpoint has ever answered.

    Args:
        failure: Of a request without an answer.
        first_tries: How often the endpoint was tried before it ever answered; 0 once it has.
        is_passing: Whether the failure is a passing one where all was well before: a host that
            restarts shows a certificate of its own meanwhile.
    """
    if is_passing and not first_tries:
        failure.reply = Reply.NOT_DONE
    if failure.reply is Reply.NOT_DONE and first_tries >= FIRST_TRIES_MAX:
        # Nobody is there: to go on would only keep the user waiting.
        failure.reply = Reply.REFUSED
    return failure


def let_go_of_frames(error: BaseException) -> None:
    """Drop the frames of a client's *error*, which nobody looks into and which keep what was sent.

    Some releases of aiohttp keep the error beside the connection that it came from, to which its
    frames lead back.
    """
    at: BaseException | None = error
    while at is not None and at.__traceback__ is not None:
        at.__traceback__ = None
        at = at.__cause__ or at.__context__
