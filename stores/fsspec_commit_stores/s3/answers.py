"""What an error that S3 answers says: of the request's effect, and to the user.

By status and code alone, and in words of our own: all else may repeat what the server was sent.
"""

import errno
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any

from botocore.exceptions import ClientError

from fsspec_commit.errors import Reply
from fsspec_commit_stores.http.answers import (
    NUMBERS_OF_STATUSES,
    is_overload_by,
    shown_request_id,
)
from fsspec_commit_stores.http.redirections import is_redirection, origin_of, why_redirected
from fsspec_commit_stores.s3.provenance import is_marked

_CODE = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,63}")
_REGION = re.compile(r"[a-z0-9-]{1,40}")

# Turned away before anything was done, or a request that did not arrive whole: worth sending again.
# A conflict with another request is among them, for this one was not applied; if an earlier one of
# ours was, then either it is in doubt already and `confirm` looks before it sends again, or the
# next answer is a 412 or a 404, after which it looks.
_OF_ONE_REQUEST = frozenset(
    {
        "BadDigest",
        "ConditionalRequestConflict",
        "IncompleteBody",
        "OperationAborted",
        "RequestTimeout",
        "XAmzContentChecksumMismatch",
        "XAmzContentSHA256Mismatch",
    }
)
_THROTTLED = frozenset(
    {
        "BandwidthLimitExceeded",
        "Busy",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "ServerBusy",
        "ServiceUnavailable",
        "SlowDown",
        "SlowDownRead",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequests",
        "TooManyRequestsException",
    }
)
_NOT_DONE = _OF_ONE_REQUEST | _THROTTLED
# MinIO says the last of a write that reached too few of its disks, and may be on some.
_UNKNOWN = frozenset({"InternalError", "InternalServerError", "SlowDownWrite"})
_WRONG_REGION = frozenset(
    {
        "AuthorizationHeaderMalformed",
        "AuthorizationQueryParametersError",
        "IllegalLocationConstraintException",
        "IncorrectEndpoint",
        "PermanentRedirect",
        "Redirect",
        "TemporaryRedirect",
    }
)
_DENIED = frozenset({"AccessDenied", "AllAccessDisabled", "AccountProblem", "Forbidden"})
_OF_CREDENTIALS = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidToken",
        "SignatureDoesNotMatch",
        "TokenRefreshRequired",
        "UnrecognizedClientException",
        "XAdminUserNotFound",  # versitygw, with a 404, as if the upload or the file were gone
    }
)
_EXPIRED = "the session token has expired; renew the credentials"
_WRONG_KEY = "the store does not know the access key; check key= or the profile"
_EXPLAINED = {
    "EntityTooLarge": "it is larger than the store takes",
    "EntityTooSmall": "a part that is not the last is smaller than the store takes (5 MiB)",
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "InvalidAccessKeyId": _WRONG_KEY,
    "InvalidClientTokenId": _WRONG_KEY,
    "InvalidObjectState": "it is archived, and must be restored before it can be read",
    "InvalidPart": "a part is missing or is not the one that was uploaded",
    "InvalidToken": "the session token is not one the store knows; renew the credentials",
    "KeyTooLongError": "the key is longer than the store takes (1,024 bytes)",
    "MethodNotAllowed": "the store does not let this be done to it",
    "NoSuchBucket": "there is no such bucket; check its name, or create it",
    "NoSuchUpload": "there is no such upload: it was completed or aborted",
    "NotImplemented": "the store does not know this request",
    "PreconditionFailed": "something else stands there than was expected",
    "QuotaExceeded": "the quota is used up",
    "SignatureDoesNotMatch": (
        "the signature does not match; check the secret key, and that nothing on the way "
        "changes requests"
    ),
    "TokenRefreshRequired": _EXPIRED,
    "UnrecognizedClientException": _WRONG_KEY,
    "XAdminUserNotFound": _WRONG_KEY,
}
_NUMBERS = {
    **dict.fromkeys(_OF_CREDENTIALS, errno.EACCES),
    "InvalidPart": errno.ENOENT,  # what was uploaded is gone: another program has replaced it
    "NoSuchBucket": errno.ENOENT,
    "NoSuchKey": errno.ENOENT,
    "NoSuchUpload": errno.ENOENT,
    "PreconditionFailed": errno.EEXIST,
    "EntityTooLarge": errno.EFBIG,
    "KeyTooLongError": errno.ENAMETOOLONG,
    "NotImplemented": errno.EOPNOTSUPP,
    "QuotaExceeded": errno.EDQUOT,
}
# Of an answer without a status, or of a server that had not received all of the request.
_NO_STATUSES = frozenset({0, HTTPStatus.REQUEST_TIMEOUT})


@dataclass(frozen=True, slots=True)
class Answer:
    """The part of an error's answer by which it is classified.

    Attributes:
        status: The HTTP status; an error inside a 200 counts as a 500.
        code: The error's code, or the status where the answer has no body (every HEAD).
        error: The error as botocore has read it, with all that the server says.
        headers: Those of the answer, by their names in lower case.
        is_to_head: Whether it answers a HEAD, and has no body for that reason.
    """

    status: int
    code: str
    error: Mapping[str, Any]
    headers: Mapping[str, str]
    is_to_head: bool = False

    @property
    def has_code(self) -> bool:
        """Whether it is an error's document as S3 writes it."""
        return _CODE.fullmatch(self.code) is not None

    @property
    def is_foreign(self) -> bool:
        """Whether it may come from something on the way, such as an ingress without a server.

        Taken for S3's word, it would say that a record that stands is gone. S3 always says what it
        is that is missing, except to a HEAD.
        """
        if self.has_code:
            return False
        if self.status < HTTPStatus.BAD_REQUEST:
            return True
        is_bare = self.status == HTTPStatus.NOT_FOUND and not self.is_to_head
        return is_bare or not is_marked(self.headers)


def answer_of(error: BaseException) -> Answer | None:
    """What the store answered; ``None`` when it did not."""
    if not isinstance(error, ClientError):
        return None
    told = error.response.get("Error") or {}
    metadata = error.response.get("ResponseMetadata") or {}
    return Answer(
        status=int(metadata.get("HTTPStatusCode") or 0),
        code=str(told.get("Code") or ""),
        error=told,
        headers={str(k).lower(): str(v) for k, v in (metadata.get("HTTPHeaders") or {}).items()},
        is_to_head=error.operation_name.startswith("Head"),
    )


def reply_of(answer: Answer) -> Reply:
    """What an answer says about the effect of the request it answers."""
    # By the code first: an error inside a 200 says by that alone what it is.
    if answer.code in _UNKNOWN or _is_timeout_inside(answer):
        return Reply.UNKNOWN
    if answer.code in _NOT_DONE:
        return Reply.NOT_DONE
    if answer.code in _EXPLAINED or answer.code in _DENIED or _is_wrong_region(answer):
        return Reply.REFUSED
    # A bare 403, 404 or 503, or a redirection may be a proxy's, sent after S3 had done it.
    if answer.is_foreign or is_redirection(answer.status):
        return Reply.UNKNOWN
    return _reply_of_status(answer.status)


def is_overload(answer: Answer) -> bool:
    """Whether an answer says that too much is asked, whatever became of the request."""
    if answer.code in _THROTTLED:
        return True
    is_of_one = answer.code in _OF_ONE_REQUEST and not _is_timeout_inside(answer)
    return is_overload_by(answer.status) and not is_of_one


def _is_timeout_inside(answer: Answer) -> bool:
    """Whether the server itself was too slow: Ceph and MinIO say so by AWS's code, not its status.

    AWS sends the code, with a 400, for a request that did not arrive.
    """
    return answer.code == "RequestTimeout" and answer.status != HTTPStatus.BAD_REQUEST


def _reply_of_status(status: int) -> Reply:
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Reply.NOT_DONE
    if status == HTTPStatus.NOT_IMPLEMENTED:
        return Reply.REFUSED
    is_doubt = status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _NO_STATUSES
    return Reply.UNKNOWN if is_doubt else Reply.REFUSED


def is_refusal_of_its_own(answer: Answer) -> bool:
    """Whether a refusal concerns this request only: denied, or not known; others may be granted.

    Where credentials, clock, region or bucket are wrong, every request would be refused alike.
    """
    general = {*_OF_CREDENTIALS, "NoSuchBucket", "RequestTimeTooSkewed"}
    return (
        reply_of(answer) is Reply.REFUSED
        and answer.code not in general
        and not _is_wrong_region(answer)
    )


def why_of(answer: Answer, *, permissions: str) -> str:
    """Why a request failed, and what to do: one half of a sentence.

    Args:
        answer: What the store said.
        permissions: What the IAM policy must allow for the request.
    """
    code = answer.code
    how = code if answer.has_code else f"HTTP {answer.status}"
    if code == "RequestTimeTooSkewed":
        why = f"this machine's clock {_skew(answer)}; set it right"
    elif _is_wrong_region(answer):
        why = f"the bucket is in {_region(answer)}; set client_kwargs={{'region_name': …}} to it"
    elif code in _EXPLAINED:
        why = f"{_EXPLAINED[code]} ({code})"
    elif is_redirection(answer.status):
        origin = origin_of(answer.headers.get("location", ""))
        why = f"{why_redirected(answer.status, origin)}; check endpoint_url= and the proxy"
    elif answer.is_foreign:
        why = f"not S3 has answered (HTTP {answer.status}); check endpoint_url= and the proxy"
    elif code in _DENIED or answer.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        why = f"access is denied ({how}); allow {permissions} to these credentials"
    elif answer.status == HTTPStatus.PRECONDITION_FAILED:
        why = _EXPLAINED["PreconditionFailed"]
    elif reply_of(answer) is Reply.NOT_DONE:
        why = f"the store asked to try again later ({how})"
    elif is_bare(answer):
        why = (
            "the store refused the request (HTTP 400); check that the credentials have not "
            "expired and that the region is the bucket's"
        )
    else:
        status = f"{answer.status} " if answer.has_code else ""
        request_id = shown_request_id(answer.headers.get("x-amz-request-id", ""))
        why = f"the store answered {status}{how}{request_id}"
    return why


def number_of(answer: Answer) -> int:
    """The ``errno`` a system call would have given."""
    if answer.is_foreign:
        return errno.EIO
    if is_bare(answer):
        return errno.EACCES
    return _NUMBERS.get(answer.code) or NUMBERS_OF_STATUSES.get(answer.status) or errno.EIO


def is_bare(answer: Answer) -> bool:
    """Whether it is about the credentials or the region without saying which, as to a HEAD."""
    return answer.status == HTTPStatus.BAD_REQUEST and not answer.has_code


def _is_wrong_region(answer: Answer) -> bool:
    """Whether S3 says that the region is wrong: by a code or, to a HEAD, by the region's name."""
    return answer.code in _WRONG_REGION or (
        is_redirection(answer.status) and _named_region(answer) is not None
    )


def _named_region(answer: Answer) -> str | None:
    found = answer.headers.get("x-amz-bucket-region") or str(answer.error.get("Region") or "")
    return found if _REGION.fullmatch(found) else None


def _region(answer: Answer) -> str:
    how = answer.code if answer.has_code else f"HTTP {answer.status}"
    found = _named_region(answer)
    if found is not None:
        return f"the region {found!r}, not in the one that was asked ({how})"
    return f"another region than the one that was asked ({how})"


def _skew(answer: Answer) -> str:
    """By how much the clocks differ, where the answer tells both times."""
    try:
        mine = _time(str(answer.error["RequestTime"]))
        theirs = _time(str(answer.error["ServerTime"]))
        seconds = (mine - theirs).total_seconds()
    except (KeyError, TypeError, ValueError):  # the second where one of them has no offset
        return "is too far from the store's (RequestTimeTooSkewed)"
    direction = "ahead of" if seconds > 0 else "behind"
    return f"is {abs(seconds):.0f} s {direction} the store's (RequestTimeTooSkewed)"


def _time(text: str) -> datetime:
    """A time as S3 writes it: ISO 8601, or ISO 8601 without separators in `RequestTime`."""
    return datetime.fromisoformat(text)
