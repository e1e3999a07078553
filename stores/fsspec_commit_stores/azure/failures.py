"""What a failed request to Azure says about its effect: classified here, once, by status and code.

Never by the exception type that an SDK chose, beyond whether there was an answer at all, whether
the request had been signed, and whether there was a connection to send on. The text is built here
from what is known to hold no secret: a URL may hold a shared access signature and an exception may
hold the URL, so an exception's own text is never passed on, and no exception is another's cause.
"""

import errno
import socket

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
from fsspec_commit_stores.http.answers import is_overload_by
from fsspec_commit_stores.http.failures import (
    RequestDescription,
    after_first_tries,
    broken,
    no_tls,
    store_error,
    timed_out,
    unreachable,
)

# Where a proxy makes no tunnel, nothing has reached the store.
_NEVER_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    socket.gaierror,
)
_NETWORK = (aiohttp.ClientError, OSError)


class AzureRequest(RequestDescription):
    """A request to Azure; the options are those of adlfs."""

    scheme = "abfs"
    address_options = "the account"
    tls_options = "the account and the proxy"
    timeout_option = "read_timeout=…"


def refused(request: AzureRequest, answer: Answer, sent: Sent) -> StoreError:
    """The ``StoreError`` of an answer that is not a success."""
    return store_error(
        request,
        why_of(answer, sent, permissions=request.permissions),
        reply_of(answer),
        number_of(answer),
        retry_after_s=retry_after_s_of(answer),
        is_overload=is_overload_by(answer.status),
    )


def unanswered(request: AzureRequest, error: UnansweredError, *, first_tries: int) -> StoreError:
    """The ``StoreError`` of a request that was not answered.

    Args:
        request: What was asked.
        error: What sending raised.
        first_tries: How often the endpoint was tried before it ever answered; 0 once it has.
    """
    # A challenge that was not met: the store has turned the request away.
    is_challenged = isinstance(error.error.__cause__, HttpResponseError)
    if error.is_sent and not is_challenged:
        failure = _lost(request, error.error)
    else:
        failure = _unsent(request, error.error, has_answered=not first_tries)
    is_passing = isinstance(_cause_of(error.error), aiohttp.ClientSSLError)
    return after_first_tries(failure, first_tries, is_passing=is_passing)


def is_timeout(error: UnansweredError) -> bool:
    """Whether there was a connection to the store, and no answer in time."""
    return error.is_sent and _is_late(_cause_of(error.error))


def _unsent(request: AzureRequest, error: Exception, *, has_answered: bool) -> StoreError:
    """The ``StoreError`` of what failed before the store was reached: a request is signed first.

    Credentials that were good when the store answered may be good again: what fetches tokens also
    speaks of missing credentials when the host that issues them cannot be reached at the moment.
    """
    cause = _cause_of(error)
    kind = type(cause).__name__
    if (
        request.endpoint.startswith("http:")
        and isinstance(error, ServiceRequestError)
        and cause is error
    ):
        why = f"access tokens are sent through https only, and not to {request.endpoint} ({kind})"
        return store_error(request, why, Reply.REFUSED, errno.EACCES)
    if isinstance(cause, _NETWORK) and not isinstance(error, ClientAuthenticationError):
        why = f"who gives out access tokens did not answer ({kind}); check the network"
        return store_error(request, why, Reply.NOT_DONE, errno.EHOSTUNREACH)
    why = (
        f"no access token could be fetched ({kind}); log in with 'az login', or give "
        "account_key=, sas_token= or client_id=, client_secret= and tenant_id="
    )
    reply = Reply.NOT_DONE if has_answered else Reply.REFUSED
    return store_error(request, why, reply, errno.EACCES)


def _lost(request: AzureRequest, error: Exception) -> StoreError:
    """The ``StoreError`` of a request that was signed, and failed on the way there or back."""
    cause = _cause_of(error)
    if isinstance(cause, aiohttp.ClientSSLError):
        return no_tls(request)
    if isinstance(cause, _NEVER_SENT):
        return unreachable(request, cause)
    return timed_out(request) if _is_late(cause) else broken(request, cause)


def _cause_of(error: Exception) -> BaseException:
    """What the network said, inside of what azure-core made of it."""
    inner = getattr(error, "inner_exception", None)
    return inner if isinstance(inner, BaseException) else error


def _is_late(cause: BaseException) -> bool:
    return isinstance(cause, TimeoutError) and not isinstance(cause, aiohttp.ConnectionTimeoutError)
