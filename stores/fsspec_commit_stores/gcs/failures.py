"""What a failed request to GCS says about its effect: classified here, once, by status and reason.

Never by the exception type that gcsfs chose: it names a condition that was not met, a refused
permission and a broken proxy by types that mean something else.

The text is built here from what is known to hold no secret. A URL can carry the address of an
upload, which is as good as a credential, and a header the token; so an exception's own text is
never passed on, the exception is never another's cause, and of an answer only the reason is shown
(`answers`).
"""

import errno
from http import HTTPStatus

import aiohttp
from google.auth import exceptions as auth

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit_stores.gcs.answers import (
    Answer,
    is_overload,
    number_of,
    reply_of,
    retry_after_s_of,
    why_of,
)
from fsspec_commit_stores.gcs.credentials import UnusableTokenError
from fsspec_commit_stores.http.failures import (
    RequestDescription,
    after_first_tries,
    no_tls,
    store_error,
    timed_out,
    unreachable,
)

_LOG_IN = "check token=, or log in again (gcloud auth application-default login)"


class GcsRequest(RequestDescription):
    """A request to GCS; the options are those of gcsfs."""

    scheme = "gs"
    address_options = "endpoint_url="
    tls_options = "endpoint_url="
    timeout_option = "requests_timeout="


def answered(request: GcsRequest, answer: Answer) -> StoreError:
    """The ``StoreError`` of a request that was answered by an error."""
    return store_error(
        request,
        why_of(answer, permissions=request.permissions),
        reply_of(answer),
        number_of(answer),
        retry_after_s=retry_after_s_of(answer),
        is_overload=is_overload(answer),
    )


def unanswered(request: GcsRequest, error: BaseException, *, first_tries: int) -> StoreError:
    """The ``StoreError`` of a request without an answer.

    An error that is not certain to have been raised before anything was sent leaves the effect of
    the request unknown.

    Args:
        request: What was asked.
        error: What the client raised, whatever it was.
        first_tries: How often the endpoint was tried before it ever answered; 0 once it has.
    """
    is_passing = isinstance(error, aiohttp.ClientSSLError)
    return after_first_tries(_unanswered(request, error), first_tries, is_passing=is_passing)


def _unanswered(request: GcsRequest, error: BaseException) -> StoreError:
    if isinstance(error, aiohttp.ClientSSLError):
        return no_tls(request)
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        why = "the endpoint is no URL; check endpoint_url= (https://host:port)"
        return store_error(request, why, Reply.REFUSED, errno.EINVAL)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        why = f"the proxy refuses the connection (HTTP {error.status}); check session_kwargs="
        is_refusal = error.status < HTTPStatus.INTERNAL_SERVER_ERROR
        reply = Reply.REFUSED if is_refusal else Reply.NOT_DONE
        return store_error(request, why, reply, errno.EHOSTUNREACH)
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return unreachable(request, error)
    if is_timeout(error):
        return timed_out(request)
    why = (
        f"the request to {request.endpoint} failed before the answer ({type(error).__name__}); "
        "check it"
    )
    return store_error(request, why, Reply.UNKNOWN)


def is_timeout(error: BaseException) -> bool:
    """Whether there was a connection, and no answer in time."""
    return isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ConnectionTimeoutError)


def not_renewed(request: GcsRequest, error: BaseException, *, has_answered: bool) -> StoreError:
    """The ``StoreError`` where no token could be had; nothing was sent to the store.

    Credentials that were good when the store answered may be good again: google-auth also calls it
    a refusal when the host that issues the tokens says that it is restarting.
    """
    kind = type(error).__name__
    if isinstance(error, UnusableTokenError):
        why = "the token holds what no header can, such as a line break; check token="
        return store_error(request, why, Reply.REFUSED, errno.EACCES)
    # google-auth wraps a transport error that concerns the metadata server.
    is_unreachable = isinstance(error, auth.TransportError) or isinstance(
        error.__cause__, auth.TransportError
    )
    if is_unreachable or getattr(error, "retryable", False):
        why = f"no token could be fetched ({kind}); check the network and the metadata server"
        return store_error(request, why, Reply.NOT_DONE, errno.EHOSTUNREACH)
    why = f"the credentials have expired and cannot be renewed ({kind}); {_LOG_IN}"
    reply = Reply.NOT_DONE if has_answered else Reply.REFUSED
    return store_error(request, why, reply, errno.EACCES)


def no_credentials(request: GcsRequest, error: BaseException) -> StoreError:
    """The ``StoreError`` where gcsfs could not make credentials from what it was given."""
    why = f"no credentials could be had ({type(error).__name__}); {_LOG_IN}"
    return store_error(request, why, Reply.REFUSED, errno.EACCES)
