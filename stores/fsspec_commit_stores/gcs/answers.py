"""What an error that GCS answers means: for the request's effect, and to the user.

Proxies, login pages and servers that restart answer in its place, with any status, before or after
it has done what was asked. So the service itself must have spoken (`provenance`): an answer that
carries none of its marks says nothing about the effect.

Errors are classified by status and reason alone, and described in words of our own: anything else
that a server says may repeat what it was sent. The exceptions, for which there are no reasons of
their own, are told by their messages: that a bucket is missing, that the requester must pay, that
content was changed on its way, and that a name is written too often.

https://cloud.google.com/storage/docs/json_api/v1/status-codes
"""

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from fsspec_commit.errors import Reply
from fsspec_commit_stores.gcs.provenance import told_by_store
from fsspec_commit_stores.http.answers import NUMBERS_OF_STATUSES, is_overload_by, retry_after_s_in
from fsspec_commit_stores.http.redirections import is_redirection, origin_of, why_redirected

_LOOKED_AT = frozenset({"date", "retry-after"})
_NO_BUCKET = "The specified bucket does not exist"
_REQUESTER_PAYS_TEXT = "requester pays"
_CHANGED_TEXT = "match calculated"
_ONE_NAME = "rate limit for object mutation"
_ONE_NAME_S = 1.0  # https://cloud.google.com/storage/quotas#objects

CHECK_THE_WAY = "check endpoint_url= and the proxy"
"""What to do about an answer that is somebody else's."""

# Turned away before anything was done.
_CHANGED = "contentChanged"
_THROTTLED = frozenset({"rateLimitExceeded", "userRateLimitExceeded"})
_NOT_DONE = _THROTTLED | {_CHANGED}
_UNKNOWN = frozenset({"backendError", "internalError"})
_DENIED = frozenset({"forbidden", "insufficientPermissions", "accessDenied"})
_EXPLAINED = {
    "accountDisabled": "the project or its billing account is disabled; check both",
    "accessNotConfigured": "the Cloud Storage API is not enabled for the project; enable it",
    "conditionNotMet": "something else stands there than was expected",
    _CHANGED: "the content was changed on its way to the store",
    "dailyLimitExceeded": "the quota is used up",
    "insufficientPermissions": (
        "the credentials are not made for it; give ones with the scope devstorage.read_write"
    ),
    "notImplemented": "the store does not know this request",
    "objectUnderActiveHold": "it is under a hold; release it, or use a bucket without holds",
    "quotaExceeded": "the quota is used up",
    "retentionPolicyNotMet": (
        "the bucket's retention policy forbids deleting and replacing; use a bucket without one"
    ),
    "uploadTooLarge": "it is larger than the store takes",
    "userProjectAccessDenied": (
        "the project to be billed does not let these credentials bill it; check requester_pays= "
        "and allow serviceusage.services.use"
    ),
    "userProjectInvalid": "there is no such project to be billed; check requester_pays=",
    "userProjectMissing": (
        "the bucket is a requester pays bucket; say requester_pays=True, or the project to bill"
    ),
}
_NUMBERS = {
    "conditionNotMet": errno.EEXIST,
    "notImplemented": errno.EOPNOTSUPP,
    "quotaExceeded": errno.EDQUOT,
    "dailyLimitExceeded": errno.EDQUOT,
    "uploadTooLarge": errno.EFBIG,
}
_NUMBERS_OF_STATUSES: Mapping[int, int] = {
    **NUMBERS_OF_STATUSES,
    HTTPStatus.GONE: errno.ENOENT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: errno.EFBIG,
    HTTPStatus.NOT_IMPLEMENTED: errno.EOPNOTSUPP,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The part of an error's answer by which it is classified.

    Attributes:
        status: The HTTP status.
        is_from_store: Whether the service itself has spoken, as far as its marks tell.
        reason: The first error's ``reason``; empty without one, or if the answer is not believed.
        is_bucket_missing: Whether it is the bucket that is not found, and not the object.
        headers: Those that say how long to wait, by lower-cased names.
        redirected_to: Scheme and host that the answer points to, if it does.
        is_name_limited: Whether one name was written too often, and not the bucket.
    """

    status: int
    is_from_store: bool
    reason: str
    is_bucket_missing: bool
    headers: Mapping[str, str]
    redirected_to: str = ""
    is_name_limited: bool = False


def answer_of(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """The part of an error's answer that matters; the names of *headers* are in lower case."""
    told = told_by_store(status, headers, body)
    reason, message = ("", "") if told is None else (told.reason, told.message)
    if status == HTTPStatus.BAD_REQUEST and _REQUESTER_PAYS_TEXT in message:
        reason = "userProjectMissing"  # Its own reason is "required", as for any parameter.
    if status == HTTPStatus.BAD_REQUEST and _CHANGED_TEXT in message:
        reason = _CHANGED  # Its own reason is "invalid", as for anything else.
    return Answer(
        status=status,
        is_from_store=told is not None,
        reason=reason,
        is_bucket_missing=status == HTTPStatus.NOT_FOUND and _NO_BUCKET in message,
        # Nothing is believed of an answer that is not the service's, not even how long to wait.
        headers={} if told is None else {one: headers[one] for one in _LOOKED_AT & headers.keys()},
        redirected_to=origin_of(headers.get("location", "")),
        is_name_limited=status == HTTPStatus.TOO_MANY_REQUESTS and _ONE_NAME in message,
    )


def reply_of(answer: Answer) -> Reply:
    """What an answer says about the effect of the request it answers."""
    # Below 400 it is none of those that are documented for the request: a redirection by a proxy,
    # or an empty success.
    if not answer.is_from_store or answer.status < HTTPStatus.BAD_REQUEST:
        return Reply.UNKNOWN
    if answer.reason in _NOT_DONE or answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        return Reply.NOT_DONE
    if _is_in_the_middle(answer):
        return Reply.UNKNOWN
    # Of two requests on one name at the same moment, one gets a 409: it was not applied.
    is_collision = answer.status == HTTPStatus.CONFLICT and answer.reason not in _EXPLAINED
    return Reply.NOT_DONE if is_collision else Reply.REFUSED


def is_overload(answer: Answer) -> bool:
    """Whether an answer says that there are too many requests, and not only for one name."""
    is_told = answer.reason in _THROTTLED or is_overload_by(answer.status)
    return is_told and not answer.is_name_limited


def _is_in_the_middle(answer: Answer) -> bool:
    """Whether an error may have come after part of the request was carried out."""
    is_failure = answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    is_refusal = answer.status == HTTPStatus.NOT_IMPLEMENTED or answer.reason in _EXPLAINED
    return (
        answer.reason in _UNKNOWN
        or answer.status == HTTPStatus.REQUEST_TIMEOUT
        or (is_failure and not is_refusal)
    )


def is_denied(answer: Answer) -> bool:
    """Whether this request is not permitted; another one may be."""
    return (
        answer.status == HTTPStatus.FORBIDDEN
        and reply_of(answer) is Reply.REFUSED
        and (answer.reason in _DENIED or answer.reason not in _EXPLAINED)
    )


def why_of(answer: Answer, *, permissions: str) -> str:
    """Why a request failed, and what to do: one half of a sentence.

    Args:
        answer: What the store said.
        permissions: What IAM must allow for the request.
    """
    if is_redirection(answer.status):
        redirected = why_redirected(answer.status, answer.redirected_to)
        return f"{redirected}; {CHECK_THE_WAY}"
    if not answer.is_from_store or answer.status < HTTPStatus.BAD_REQUEST:
        return f"{why_not_believed(answer.status)}; {CHECK_THE_WAY}"
    reason = answer.reason
    how = reason or f"HTTP {answer.status}"
    if answer.is_bucket_missing:
        why = "there is no such bucket; check its name, or create it"
    elif reason in _EXPLAINED:
        why = f"{_EXPLAINED[reason]} ({reason})"
    elif answer.status == HTTPStatus.UNAUTHORIZED:
        why = (
            f"the credentials are not valid, have expired, or there are none ({how}); check "
            "token=, or log in again (gcloud auth application-default login)"
        )
    elif answer.status == HTTPStatus.FORBIDDEN and reply_of(answer) is Reply.REFUSED:
        why = f"access is denied ({how}); allow {permissions} to these credentials"
    elif answer.status == HTTPStatus.PRECONDITION_FAILED:
        why = _EXPLAINED["conditionNotMet"]
    elif answer.status == HTTPStatus.NOT_FOUND:
        why = f"it is not there ({how})"
    elif reply_of(answer) is Reply.NOT_DONE:
        why = f"the store asked to try again later ({how})"
    else:
        status = f"{answer.status} " if reason else ""
        why = f"the store answered {status}{how}"
    return why


def why_not_believed(status: int) -> str:
    """What to say of an answer that is not the store's own: one half of a sentence."""
    return f"it was answered by HTTP {status} with none of the store's marks, as by a proxy"


def number_of(answer: Answer) -> int:
    """The ``errno`` a system call would have given."""
    if not answer.is_from_store:
        return errno.EIO  # A 404 of somebody else's does not mean that there is no such file.
    return _NUMBERS.get(answer.reason) or _NUMBERS_OF_STATUSES.get(answer.status) or errno.EIO


def retry_after_s_of(answer: Answer) -> float | None:
    """How long to leave the store alone: in seconds, or as a date relative to the answer's own.

    For a name that was just written, only the service's documentation says how long.
    """
    if answer.is_name_limited:
        return _ONE_NAME_S
    return retry_after_s_in(answer.headers)
