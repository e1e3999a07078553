"""What a failed request to S3 says about its effect: classified here, once, by status and code.

Never by the exception type that s3fs or botocore chose, beyond whether there was an answer at all:
vendors name the same refusal in ways that become different Python types.

The text is built here from what is known to hold no secret. An exception of botocore can carry the
URL, the headers and, after a signature that does not match, all that was signed; so its own text is
never passed on, it is nobody's cause, and of an answer only the error's code is shown (`answers`).
"""

import errno
import os
import socket
from dataclasses import dataclass

import aiohttp
from botocore import exceptions as sdk
from botocore.parsers import ResponseParserError

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit_stores.s3.answers import (
    answer_of,
    number_of,
    reply_of,
    retry_after_s_of,
    why_of,
)

FIRST_TRIES_MAX = 3
"""How often an endpoint that has never answered is tried before it counts as wrong."""

# Of a host that restarts as well: an ingress shows a certificate of its own meanwhile.
_PASSING = (sdk.CredentialRetrievalError, sdk.MetadataRetrievalError, sdk.SSLError)
_NO_CREDENTIALS = (
    sdk.CredentialRetrievalError,
    sdk.MetadataRetrievalError,
    sdk.SSOError,
    sdk.TokenRetrievalError,
    sdk.UnauthorizedSSOTokenError,
)
_FETCHING_CREDENTIALS = frozenset(
    {
        "AssumeRole",
        "AssumeRoleWithSAML",
        "AssumeRoleWithWebIdentity",
        "CreateToken",
        "GetRoleCredentials",
        "GetSessionToken",
    }
)
_CREDENTIALS = (
    "give storage_options key= and secret=, a profile=, or set AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY"
)

_CHECK = "check the credentials and the profile"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of the store, in the words of a message.

    Attributes:
        verb: What could not be done, as in "cannot *read* …".
        path: To what: bucket and key.
        actions: What the IAM policy must allow for it.
        endpoint: Where it was sent, without user, path and query.
    """

    verb: str
    path: str
    actions: str
    endpoint: str


def failed(
    asked: Asked, error: BaseException, *, first_tries: int, has_left: bool = True
) -> StoreError:
    """The ``StoreError`` of a call that failed.

    Args:
        asked: What was asked.
        error: What the client raised, which may be anything: no list of classes is ever whole.
        first_tries: How often the endpoint was tried before it ever answered; 0 once it has.
        has_left: Whether the request was handed to the network before that.
    """
    answer = answer_of(error)
    operation = getattr(error, "operation_name", "")
    if answer is not None and operation in _FETCHING_CREDENTIALS:
        # Not S3 has answered, and nothing was sent to it.
        reply = Reply.REFUSED if reply_of(answer) is Reply.REFUSED else Reply.NOT_DONE
        code = answer.code if answer.has_code else answer.status
        why = (
            f"no credentials could be fetched ({operation}: {code}); check the role, and its trust"
        )
        return made(asked, why, reply, errno.EACCES)
    if answer is not None:
        why = why_of(answer, actions=asked.actions)
        return made(
            asked,
            why,
            reply_of(answer),
            number_of(answer),
            # Of somebody else's nothing is believed, also not how long he wants to be left alone.
            retry_after_s=None if answer.is_foreign else retry_after_s_of(answer),
        )
    reply, why, number = _unanswered(asked, error, has_left=has_left)
    if isinstance(error, _PASSING) and not first_tries:
        reply = Reply.NOT_DONE
    if reply is Reply.NOT_DONE and first_tries >= FIRST_TRIES_MAX:
        # Nobody is there: to go on would only keep the user waiting.
        reply = Reply.REFUSED
    return made(asked, why, reply, number)


def is_timeout(error: BaseException) -> bool:
    """Whether there was a connection, and no answer in time."""
    return isinstance(error, sdk.ReadTimeoutError | TimeoutError) and not isinstance(
        error, sdk.ConnectTimeoutError
    )


def silent(asked: Asked) -> StoreError:
    """The refusal to wait once more for an endpoint that has never answered: nothing was sent."""
    return made(asked, _silence(asked), Reply.REFUSED, errno.ETIMEDOUT)


def _silence(asked: Asked) -> str:
    return (
        f"{asked.endpoint} did not answer in time; check it, or wait longer with "
        "config_kwargs={'read_timeout': …}"
    )


def made(
    asked: Asked,
    why: str,
    reply: Reply,
    number: int = errno.EIO,
    *,
    retry_after_s: float | None = None,
) -> StoreError:
    """A ``StoreError`` with the ``errno`` a system call would have given."""
    message = f"cannot {asked.verb} 's3://{_shown(asked.path.rstrip('/'))}': {why}"
    error = StoreError(message, reply=reply, path=asked.path, retry_after_s=retry_after_s)
    error.errno = number
    error.strerror = os.strerror(number)
    return error


def _unanswered(asked: Asked, error: BaseException, *, has_left: bool) -> tuple[Reply, str, int]:
    kind = type(error).__name__
    told: tuple[Reply, str, int]
    if isinstance(error, sdk.NoCredentialsError | sdk.PartialCredentialsError):
        told = Reply.REFUSED, f"no credentials were found; {_CREDENTIALS}", errno.EACCES
    elif isinstance(error, _NO_CREDENTIALS):
        told = (
            Reply.REFUSED,
            f"no credentials could be fetched ({kind}); log in again",
            errno.EACCES,
        )
    elif isinstance(error, sdk.SSLError):
        why = (
            f"no TLS connection to {asked.endpoint}: its certificate is not trusted, or it speaks "
            "plain http; check endpoint_url= and verify="
        )
        told = Reply.REFUSED, why, errno.ECONNABORTED
    elif isinstance(error, sdk.ConnectTimeoutError) or _was_never_sent(error):
        why = f"{asked.endpoint} cannot be reached; check endpoint_url=, the network and the proxy"
        told = Reply.NOT_DONE, why, errno.EHOSTUNREACH
    elif isinstance(error, sdk.ParamValidationError | sdk.InvalidRegionError):
        why = f"the client refuses the request ({kind}); check the bucket and the region"
        told = Reply.REFUSED, why, errno.EINVAL
    elif not has_left:
        told = _unsent(error)
    elif is_timeout(error):
        told = Reply.UNKNOWN, _silence(asked), errno.ETIMEDOUT
    elif isinstance(error, ResponseParserError):
        why = f"not S3 has answered ({kind}); check endpoint_url= and the proxy"
        told = Reply.UNKNOWN, why, errno.EIO
    else:
        why = f"the connection to {asked.endpoint} failed before the answer ({kind}); check it"
        told = Reply.UNKNOWN, why, errno.EIO
    return told


def _unsent(error: BaseException) -> tuple[Reply, str, int]:
    """Of what failed while the client fetched credentials, or signed."""
    kind = type(error).__name__
    if type(error) is RuntimeError:
        # So botocore says that what it was given anew has expired as well.
        why = "the credentials have expired, and could not be renewed; log in again"
        return Reply.REFUSED, why, errno.EACCES
    broken = OSError | sdk.HTTPClientError | aiohttp.ClientError | ResponseParserError
    if isinstance(error, broken):
        return Reply.NOT_DONE, f"no credentials could be fetched ({kind}); {_CHECK}", errno.EACCES
    why = f"the client failed before it sent the request ({kind}); {_CHECK}"
    return Reply.REFUSED, why, errno.EIO


def _was_never_sent(error: BaseException) -> bool:
    """Whether there was no connection to send on; a reset one looks the same to botocore."""
    if isinstance(error, sdk.EndpointConnectionError):
        cause = error.kwargs.get("error")
        return isinstance(cause, aiohttp.ClientConnectorError | socket.gaierror)
    return isinstance(error, sdk.ProxyConnectionError)


def _shown(path: str) -> str:
    """A path on one line."""
    return repr(path)[1:-1]
