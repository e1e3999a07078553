"""What a failed request to S3 says about its effect: classified here, once, by status and code.

Never by the exception type that s3fs or botocore chose, beyond whether there was an answer at all:
vendors name the same refusal in ways that become different Python types.

The text is built here from what is known to hold no secret. An exception of botocore can carry the
URL, the headers and, after a signature that does not match, all that was signed; so its own text is
never passed on, it is never the cause of an error, and of an answer only the error's code is shown
(`answers`).
"""

import errno
import socket

import aiohttp
from botocore import exceptions as sdk
from botocore.parsers import ResponseParserError

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit_stores.http.answers import retry_after_s_in
from fsspec_commit_stores.http.failures import (
    RequestDescription,
    after_first_tries,
    broken,
    is_out_of_files,
    no_tls,
    store_error,
    timed_out,
    unreachable,
)
from fsspec_commit_stores.s3.answers import (
    Answer,
    answer_of,
    is_bare,
    is_overload,
    is_refusal_of_its_own,
    number_of,
    reply_of,
    why_of,
)

# They also come while a host restarts: an ingress shows a certificate of its own meanwhile.
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


class S3Request(RequestDescription):
    """A request to S3; the options are those of s3fs."""

    scheme = "s3"
    address_options = "endpoint_url="
    tls_options = "endpoint_url= and verify="
    timeout_option = "config_kwargs={'read_timeout': …}"


def failed(
    request: S3Request, error: BaseException, *, first_tries: int, has_left: bool = True
) -> StoreError:
    """The ``StoreError`` of a call that failed.

    Args:
        request: What was asked.
        error: What the client raised, which may be anything: no list of classes is ever whole.
        first_tries: How often the endpoint was tried before it ever answered; 0 once it has.
        has_left: Whether the request was handed to the network before that.
    """
    answer = answer_of(error)
    operation = getattr(error, "operation_name", "")
    if answer is not None and operation in _FETCHING_CREDENTIALS:
        # It was not S3 that answered, and nothing was sent to S3.
        reply = Reply.REFUSED if reply_of(answer) is Reply.REFUSED else Reply.NOT_DONE
        code = answer.code if answer.has_code else answer.status
        why = (
            f"no credentials could be fetched ({operation}: {code}); check the role, and its trust"
        )
        return store_error(request, why, reply, errno.EACCES)
    if answer is not None:
        why = why_of(answer, permissions=request.permissions)
        return store_error(
            request,
            why,
            reply_of(answer),
            number_of(answer),
            # Nothing of a foreign answer is believed, not even how long to leave the store alone.
            retry_after_s=None if answer.is_foreign else retry_after_s_in(answer.headers),
            is_overload=is_overload(answer),
        )
    failure = _unanswered(request, error, has_left=has_left)
    return after_first_tries(failure, first_tries, is_passing=isinstance(error, _PASSING))


def is_of_all(error: BaseException, answer: Answer | None) -> bool:
    """Whether what made a request fail may do so to any other of the same client.

    Args:
        error: What the client raised.
        answer: What the store answered, if it did.
    """
    if answer is None or answer.is_foreign:
        return True
    if getattr(error, "operation_name", "") in _FETCHING_CREDENTIALS:
        return True
    is_refusal = reply_of(answer) is Reply.REFUSED
    return is_refusal and (is_bare(answer) or not is_refusal_of_its_own(answer))


def is_timeout(error: BaseException) -> bool:
    """Whether there was a connection, and no answer in time."""
    return isinstance(error, sdk.ReadTimeoutError | TimeoutError) and not isinstance(
        error, sdk.ConnectTimeoutError
    )


def _unanswered(request: S3Request, error: BaseException, *, has_left: bool) -> StoreError:
    kind = type(error).__name__
    if isinstance(error, sdk.NoCredentialsError | sdk.PartialCredentialsError):
        why = f"no credentials were found; {_CREDENTIALS}"
        failure = store_error(request, why, Reply.REFUSED, errno.EACCES)
    elif isinstance(error, _NO_CREDENTIALS):
        why = f"no credentials could be fetched ({kind}); log in again"
        failure = store_error(request, why, Reply.REFUSED, errno.EACCES)
    elif isinstance(error, sdk.SSLError):
        failure = no_tls(request)
    elif isinstance(error, sdk.ConnectTimeoutError) or _was_never_sent(error):
        failure = unreachable(request, _cause_of(error))
    elif isinstance(error, sdk.ParamValidationError | sdk.InvalidRegionError):
        why = f"the client refuses the request ({kind}); check the bucket and the region"
        failure = store_error(request, why, Reply.REFUSED, errno.EINVAL)
    elif not has_left:
        failure = _unsent(request, error)
    elif is_timeout(error):
        failure = timed_out(request)
    elif isinstance(error, ResponseParserError):
        why = f"not S3 has answered ({kind}); check endpoint_url= and the proxy"
        failure = store_error(request, why, Reply.UNKNOWN)
    else:
        failure = broken(request, error)
    return failure


def _unsent(request: S3Request, error: BaseException) -> StoreError:
    """The failure of a request that failed while the client fetched credentials, or signed."""
    kind = type(error).__name__
    if type(error) is RuntimeError:
        # This is how botocore says that the renewed credentials have expired as well.
        why = "the credentials have expired, and could not be renewed; log in again"
        return store_error(request, why, Reply.REFUSED, errno.EACCES)
    network = OSError | sdk.HTTPClientError | aiohttp.ClientError | ResponseParserError
    if isinstance(error, network):
        why = f"no credentials could be fetched ({kind}); {_CHECK}"
        return store_error(request, why, Reply.NOT_DONE, errno.EACCES)
    why = f"the client failed before it sent the request ({kind}); {_CHECK}"
    return store_error(request, why, Reply.REFUSED, errno.EACCES)


def _was_never_sent(error: BaseException) -> bool:
    """Whether there was no connection to send on; a reset one looks the same to botocore."""
    cause = _cause_of(error)
    if isinstance(error, sdk.EndpointConnectionError):
        return isinstance(cause, aiohttp.ClientConnectorError | socket.gaierror)
    return isinstance(error, sdk.ProxyConnectionError) or is_out_of_files(cause)


def _cause_of(error: BaseException) -> BaseException:
    """What the network said, where botocore has kept it."""
    cause = getattr(error, "kwargs", {}).get("error")
    return cause if isinstance(cause, BaseException) else error
