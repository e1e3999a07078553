"""What an error that Azure answers means: for the request's effect, and to the user.

Errors are classified by status and ``x-ms-error-code`` alone, and described in words of our own:
anything else that a server says may repeat what it was sent. The codes are those of "Common REST
API error codes", "Blob Storage error codes" and of the page of each request of Data Lake Storage
Gen2.
"""

import errno
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus

from fsspec_commit.errors import Reply
from fsspec_commit_stores.http.answers import (
    NUMBERS_OF_STATUSES,
    retry_after_s_in,
    shown_request_id,
    time_of,
)
from fsspec_commit_stores.http.redirections import is_redirection, origin_of, why_redirected

REQUEST_ID = "x-ms-request-id"
"""The header that Azure gives each of its answers, and no proxy does."""

_CODE = re.compile(r"[A-Za-z][A-Za-z0-9]{0,63}")
_SKEW_MAX_S = 15 * 60  # "a request must reach the service within 15 minutes of its date"

# Turned away before anything was done, or not arrived whole: worth sending again.
_NOT_DONE = frozenset(
    {
        "Busy",
        "DestinationPathIsBeingDeleted",
        "Md5Mismatch",
        "Crc64Mismatch",
        "ServerBusy",
        "SourcePathIsBeingDeleted",
        "TooManyRequests",
    }
)
_UNKNOWN = frozenset({"InternalError", "OperationTimedOut"})
_DENIED = frozenset(
    {
        "AccountIsDisabled",
        "AuthorizationFailure",
        "AuthorizationPermissionMismatch",
        "AuthorizationProtocolMismatch",
        "AuthorizationResourceTypeMismatch",
        "AuthorizationServiceMismatch",
        "AuthorizationSourceIPMismatch",
        "InsufficientAccountPermissions",
        "KeyBasedAuthenticationNotPermitted",
        "PublicAccessNotPermitted",
        "ResourceNotFoundOrUnauthorized",
        "UnauthorizedBlobOverwrite",
    }
)
_TOLD_BY_STATUS = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
_NO_CREDENTIALS = "the store wants credentials; give account_key=, sas_token= or credential="
_EXPIRED = "the shared access signature has expired; renew sas_token="
_STALE = "the access token has expired or is not for this store; log in again"
_HELD = "a hold or an immutability policy keeps it as it is; lift it, or write elsewhere"
_MISSING = frozenset({"BlobNotFound", "PathNotFound", "ResourceNotFound", "SourcePathNotFound"})
_NO_CONTAINER = frozenset({"ContainerNotFound", "FilesystemNotFound"})
_DISBELIEF = frozenset(
    {"AuthenticationFailed", "InvalidAuthenticationInfo", "NoAuthenticationInformation"}
)
_EXISTS = frozenset({"BlobAlreadyExists", "PathAlreadyExists"})
_CHANGED = frozenset({"ConditionNotMet", "SourceConditionNotMet", "TargetConditionNotMet"})
_EXPLAINED = {
    **dict.fromkeys(_MISSING, "there is no such file"),
    **dict.fromkeys(_NO_CONTAINER, "there is no such container; check its name, or create it"),
    **dict.fromkeys(_EXISTS, "something stands there already"),
    **dict.fromkeys(_CHANGED, "something else stands there than was expected"),
    "BlobArchived": "it is archived, and must be rehydrated before it can be read",
    "BlobBeingRehydrated": "it is being rehydrated from the archive; wait until it is done",
    "BlobImmutableDueToLegalHold": _HELD,
    "BlobImmutableDueToPolicy": _HELD,
    "ContainerBeingDeleted": "the container is being deleted",
    "DirectoryIsNotEmpty": "a directory stands there",
    "DirectoryNotEmpty": "a directory stands there",
    "FilesystemBeingDeleted": "the container is being deleted",
    "HierarchicalNamespaceNotEnabled": "the account has no hierarchical namespace",
    "InvalidAuthenticationInfo": _STALE,
    "InvalidBlobOrBlock": "its pending blocks have ids of another length",
    "InvalidBlockList": "the blocks are gone: they were committed, replaced, or older than 7 days",
    "InvalidRenameSourcePath": "a directory does not move into itself",
    "InvalidResourceName": "the name is not one that the store takes",
    "InvalidSourceOrDestinationResourceType": "one is a file and the other is a directory",
    "LeaseIdMissing": "somebody holds a lease on it; break the lease, or wait until it ends",
    "NoAuthenticationInformation": _NO_CREDENTIALS,
    "PathTooDeep": "there are too many directories above it (at most 63)",
    "PathNameTooLong": "the name is longer than the store takes",
    "RenameDestinationParentPathNotFound": "the directory it was to go to is missing",
    "RequestBodyTooLarge": "it is larger than the store takes at once",
    "ResourceTypeMismatch": "a directory stands there",
    "SnapshotsPresent": "it has snapshots, which would go with it; delete them first",
    "UnsupportedHttpVerb": "the store does not know this request",
}
_NUMBERS = {
    **dict.fromkeys(_MISSING | _NO_CONTAINER | {"InvalidBlockList"}, errno.ENOENT),
    **dict.fromkeys(_EXISTS | _CHANGED, errno.EEXIST),
    **dict.fromkeys(_DENIED, errno.EACCES),
    "AuthenticationFailed": errno.EACCES,
    "DirectoryIsNotEmpty": errno.EISDIR,
    "DirectoryNotEmpty": errno.EISDIR,
    "InvalidAuthenticationInfo": errno.EACCES,
    "NoAuthenticationInformation": errno.EACCES,
    "PathNameTooLong": errno.ENAMETOOLONG,
    "RenameDestinationParentPathNotFound": errno.ENOENT,
    "RequestBodyTooLarge": errno.EFBIG,
    "ResourceTypeMismatch": errno.EISDIR,
    "UnsupportedHttpVerb": errno.EOPNOTSUPP,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered to one request.

    Attributes:
        status: The HTTP status.
        code: The error's code; empty where there is none.
        headers: By their names in lower case.
        body: All of it, unless it was left unread.
    """

    status: int
    code: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def is_missing(self) -> bool:
        """Whether what was asked for is not there, in a container that is."""
        return self.status == HTTPStatus.NOT_FOUND and self.code in _MISSING

    @property
    def is_foreign(self) -> bool:
        """Whether somebody on the way has answered: a proxy, a login page, an empty ingress.

        Azure gives every request an id, and names it in every answer. Nothing follows from an
        answer without one: neither that something was done, nor that it is missing or refused.
        """
        return not self.headers.get(REQUEST_ID)

    @property
    def is_vague(self) -> bool:
        """Whether it is a 404 of the store that does not say what is missing."""
        return self.status == HTTPStatus.NOT_FOUND and not self.code and not self.is_foreign

    @property
    def is_unexplained(self) -> bool:
        """Whether it is a refusal without a code: Azure Storage gives each of its errors one.

        Other services of Microsoft's, which may stand in the way, give request ids, too.
        https://learn.microsoft.com/rest/api/storageservices/status-and-error-codes2
        """
        is_refusal = HTTPStatus.BAD_REQUEST <= self.status < HTTPStatus.INTERNAL_SERVER_ERROR
        is_told = self.code or self.wants_claims or self.status in _TOLD_BY_STATUS
        return is_refusal and not is_told and not self.is_foreign

    @property
    def wants_claims(self) -> bool:
        """Whether another access token is wanted: *continuous access evaluation*.

        The one that was sent has been revoked since it was fetched; the next request has another.
        """
        challenge = self.headers.get("www-authenticate", "")
        return self.status == HTTPStatus.UNAUTHORIZED and "insufficient_claims" in challenge

    @property
    def is_disbelief(self) -> bool:
        """Whether the store does not accept the credentials, whatever is asked."""
        return self.status == HTTPStatus.UNAUTHORIZED or self.code in _DISBELIEF

    @property
    def is_denied(self) -> bool:
        """Whether these credentials may not do this, and perhaps other things."""
        return self.code in _DENIED


@dataclass(frozen=True, slots=True)
class Sent:
    """What the credentials of a request say of themselves: no secrets.

    Attributes:
        date: The request's date, by this machine's clock.
        expires: When the shared access signature ends, if there is one.
    """

    date: str = ""
    expires: str | None = None


def answer_of(status: int, headers: Mapping[str, str], body: bytes = b"") -> Answer:
    """An answer; its error's code is from a header, or from the body of an old server's answer.

    What a proxy answers may have the form of Azure's errors, but has no code of Azure's.
    """
    if not headers.get(REQUEST_ID):
        return Answer(status, "", headers, body)
    code = headers.get("x-ms-error-code", "")
    if not code and status >= HTTPStatus.BAD_REQUEST:
        found = re.search(rb'<Code>([A-Za-z0-9]+)</Code>|"code":\s*"([A-Za-z0-9]+)"', body[:4096])
        code = (found.group(1) or found.group(2)).decode() if found is not None else ""
    return Answer(status, code if _CODE.fullmatch(code) else "", headers, body)


def reply_of(answer: Answer) -> Reply:
    """What an answer that is not a success says about the effect of the request it answers."""
    if _doubt_of(answer) or answer.code in _UNKNOWN:
        return Reply.UNKNOWN
    is_throttled = answer.status == HTTPStatus.TOO_MANY_REQUESTS
    if answer.code in _NOT_DONE or is_throttled or answer.wants_claims:
        return Reply.NOT_DONE
    has_failed = (
        answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        or answer.status == HTTPStatus.REQUEST_TIMEOUT
    )
    is_plain = answer.code in _EXPLAINED or answer.code in _DENIED
    if has_failed and not is_plain and answer.status != HTTPStatus.NOT_IMPLEMENTED:
        return Reply.UNKNOWN
    return Reply.REFUSED


def why_of(answer: Answer, sent: Sent, *, permissions: str) -> str:
    """Why a request failed, and what to do: one half of a sentence.

    Args:
        answer: What the store said.
        sent: What is known of the request's credentials.
        permissions: What must be allowed for the request.
    """
    code = answer.code
    how = code or f"HTTP {answer.status}"
    if doubt := _doubt_of(answer):
        why = doubt
    elif code == "AuthenticationFailed":
        why = f"{_unauthenticated(answer, sent)} ({how})"
    elif code == "AuthorizationFailure" and _has_expired(answer, sent):
        why = f"{_EXPIRED} ({how})"
    elif code == "AuthorizationFailure":
        # Of the account's firewall, mostly; Azurite says it of whatever does not fit.
        why = (
            f"access is denied ({how}); check the credentials and the account's network rules, "
            f"and allow {permissions}"
        )
    elif answer.wants_claims:
        why = f"the access token has been revoked, and another one is wanted ({how}); log in again"
    elif code in _EXPLAINED:
        why = f"{_EXPLAINED[code]} ({code})"
    elif code in _DENIED or answer.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        why = f"access is denied ({how}); allow {permissions} to these credentials"
    elif answer.status == HTTPStatus.PRECONDITION_FAILED:
        why = _EXPLAINED["ConditionNotMet"]
    elif reply_of(answer) is Reply.NOT_DONE:
        why = f"the store asked to try again later ({how})"
    else:
        status = f"{answer.status} " if code else ""
        why = f"the store answered {status}{how}{_request_id(answer)}"
    return why


def _doubt_of(answer: Answer) -> str:
    """Why an answer says nothing of what was done, if so: half a sentence.

    A bare 404 or 503, a login page with a 200 and a redirection all may come after Azure has done
    what it was asked to do.
    """
    how = f"HTTP {answer.status}"
    if is_redirection(answer.status):
        origin = origin_of(answer.headers.get("location", ""))
        return f"{why_redirected(answer.status, origin)}; check the account and the proxy"
    if answer.is_foreign:
        return (
            f"somebody else than Azure has answered ({how}, without an {REQUEST_ID}); check the "
            "account and the proxy"
        )
    if answer.status < HTTPStatus.BAD_REQUEST:
        return f"the store answered {how}, and not that it was done{_request_id(answer)}"
    if answer.is_vague:
        return f"the store does not say what is missing ({how}){_request_id(answer)}"
    if answer.is_unexplained:
        return f"the store does not say why ({how}){_request_id(answer)}"
    return ""


def number_of(answer: Answer) -> int:
    """The ``errno`` a system call would have given."""
    if reply_of(answer) is Reply.UNKNOWN:
        return errno.EIO
    return _NUMBERS.get(answer.code) or NUMBERS_OF_STATUSES.get(answer.status) or errno.EIO


def retry_after_s_of(answer: Answer) -> float | None:
    """How long to leave the store alone: in ms, seconds, or as a date relative to the answer's."""
    if answer.is_foreign:
        return None
    milliseconds = answer.headers.get("x-ms-retry-after-ms", "").strip()
    if milliseconds.isdecimal():
        return float(milliseconds) / 1000
    return retry_after_s_in(answer.headers)


def _unauthenticated(answer: Answer, sent: Sent) -> str:
    """Why authentication failed, by the times that both sides named: the body may hold a secret."""
    theirs, mine = time_of(answer.headers.get("date", "")), time_of(sent.date)
    if theirs is not None and mine is not None:
        ahead = (mine - theirs).total_seconds()
        if abs(ahead) > _SKEW_MAX_S:
            direction = "ahead of" if ahead > 0 else "behind"
            by = f"{abs(ahead):.0f} s {direction}"
            return f"this machine's clock is {by} the store's; set it right"
    if sent.expires is not None:
        if _has_expired(answer, sent):
            return _EXPIRED
        return "the shared access signature is not valid here; check sas_token="
    return "the store does not accept the credentials; check account_key= and account_name="


def _has_expired(answer: Answer, sent: Sent) -> bool:
    """Whether the signature had ended by the store's own clock."""
    ends, now = _instant(sent.expires or ""), time_of(answer.headers.get("date", ""))
    return ends is not None and now is not None and ends <= now


def _instant(text: str) -> datetime | None:
    """The end of a signature, as the signature itself names it: ISO 8601, in UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _request_id(answer: Answer) -> str:
    """What the store's operator finds the request by."""
    return shown_request_id(answer.headers.get(REQUEST_ID, ""))
