"""What can happen to a request on its way, and which requests it happens to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from tests.servers.http_messages import Request


@dataclass(frozen=True)
class LoseReply:
    """The server carries the request out and answers; the client's connection is reset instead."""


@dataclass(frozen=True)
class AnswerAfterwards:
    """The server carries the request out; the client hears that it failed.

    Without a code it is the one that the store says with that status.
    """

    status: int = 500
    code: str | None = None


@dataclass(frozen=True)
class AnswerInstead:
    """The server never hears of the request."""

    status: int = 503
    code: str | None = None
    retry_after_s: int | None = None


@dataclass(frozen=True)
class AnswerOfAnother:
    """Somebody between answers as no store does.

    A proxy, an ingress, a login page: without the store's own headers and documents. The server
    never hears of the request, or carries it out all the same.
    """

    status: int
    content: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    is_carried_out: bool = False


@dataclass(frozen=True)
class ResetRequest:
    """Both connections are reset when so much of the body has passed, before its last byte.

    The server never sees a whole request. One without a body does not reach it at all.
    """

    after_bytes: int = 0


@dataclass(frozen=True)
class ResetReply:
    """The server carries the request out; its answer breaks off after so much of the body.

    Before the last byte in any case; of an answer without a body, half of the head comes through.
    """

    after_bytes: int = 0


@dataclass(frozen=True)
class DelayReply:
    """The server carries the request out; its answer comes later."""

    seconds: float


Fault = (
    LoseReply
    | AnswerAfterwards
    | AnswerInstead
    | AnswerOfAnother
    | ResetRequest
    | ResetReply
    | DelayReply
)


@dataclass
class Rule:
    """One fault, or none, and the requests that meet it: all conditions must hold.

    Attributes:
        fault: None to let the request through: for its `before` and `after`, or to hear of it.
        operation: the action's name, such as "CompleteMultipartUpload" or "objects.move".
        path: a part of the decoded path, bucket included.
        query: parameters that must be there; None is any value.
        where: any further condition.
        nth: the first matching request that is met, counted from 1.
        times: how many are met from there on; None is all.
        before: called before the request is forwarded (or refused instead), in a thread.
        after: called when the server has answered, before the client hears of it, in a thread.
    """

    fault: Fault | None = None
    operation: str | None = None
    path: str | None = None
    query: Mapping[str, str | None] = field(default_factory=dict)
    where: Callable[[Request], bool] | None = None
    nth: int = 1
    times: int | None = 1
    before: Callable[[], None] | None = None
    after: Callable[[], None] | None = None
    _seen: int = field(default=0, init=False, repr=False)
    _is_met: bool = field(default=False, init=False, repr=False)

    def meets(self, request: Request) -> bool:
        """Whether this request is to meet it. It counts: to be asked once for each request."""
        if not self._matches(request):
            return False
        self._seen += 1
        last = None if self.times is None else self.nth + self.times - 1
        met = self._seen >= self.nth and (last is None or self._seen <= last)
        self._is_met |= met
        return met

    @property
    def met(self) -> bool:
        """Whether a request has met it: a test of a fault must know that there was one."""
        return self._is_met

    def _matches(self, request: Request) -> bool:
        return (
            self.operation in {None, request.operation}
            and (self.path is None or self.path in request.path)
            and all(
                name in request.query and value in {None, request.query[name]}
                for name, value in self.query.items()
            )
            and (self.where is None or self.where(request))
        )


def answer_to(
    request: Request, fault: AnswerAfterwards | AnswerInstead | AnswerOfAnother, *, close: bool
) -> bytes:
    """What the client hears, without its body to HEAD; a 204 has none, and says no length."""
    if isinstance(fault, AnswerOfAnother):
        reason, content = HTTPStatus(fault.status).phrase, fault.content
        headers = list(fault.headers)
    else:
        failure = request.failure(fault.status, fault.code)
        reason, content = failure.reason, failure.content
        headers = list(failure.headers.items())
    if fault.status != HTTPStatus.NO_CONTENT:
        headers.append(("Content-Length", str(len(content))))
    if isinstance(fault, AnswerInstead) and fault.retry_after_s is not None:
        headers.append(("Retry-After", str(fault.retry_after_s)))
    if close:
        headers.append(("Connection", "close"))
    lines = [f"HTTP/1.1 {fault.status} {reason}", *(f"{name}: {text}" for name, text in headers)]
    head = "\r\n".join([*lines, "", ""]).encode()
    return head if request.method == "HEAD" else head + content
