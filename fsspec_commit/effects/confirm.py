"""The three outcomes of a change, handled here and nowhere else.

A request to a store is *done*, *not done* or *unknown*, and a refusal can be the echo of an
earlier success. So nothing that changes a store is called directly: a change is an :class:`Effect`,
which can be applied and observed, and :func:`confirm` goes on until the outcome is certain.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from fsspec_commit.effects.deletion import PermitExpiredError
from fsspec_commit.effects.pacing import TRIES_MAX, Pace
from fsspec_commit.effects.parallel import heard
from fsspec_commit.effects.silence import Trouble
from fsspec_commit.errors import CommitError, CommitStateUnknownError, Reply, StoreError

T = TypeVar("T")


class Undone(Enum):
    """What ``observe`` answers when the change certainly has not happened.

    ``OUTDATED`` also says that the reason for the last refusal is gone: the change is tried again.
    """

    UNDONE = "undone"
    OUTDATED = "outdated"


OUTDATED_MAX = 4
"""How many refusals may be taken for outdated."""


@dataclass(slots=True)
class Effect(Generic[T]):
    """One change, and the question whether it happened; both may be repeated.

    Attributes:
        apply: Sends the change once.
        observe: The redo rule: returns what the change has brought about, or an :class:`Undone`.
        doing: What it does, for messages: "renaming".
        path: The path that it changes.
        is_repeatable: Whether it may be sent again while an earlier request may still be carried
            out. If not, and it was not seen to happen, the outcome is unknown.
    """

    apply: Callable[[], Awaitable[T]]
    observe: Callable[[], Awaitable[T | Undone]]
    doing: str
    path: str
    is_repeatable: bool = True


async def classified(call: Awaitable[T]) -> T:
    """What an adapter answers; an error that it has not classified counts as unknown.

    Raises:
        StoreError: The call failed.
    """
    try:
        return await call
    except (CommitError, PermitExpiredError):
        raise
    except Exception as error:
        raise unclassified(error) from error


async def to_its_end(request: Coroutine[Any, Any, T]) -> T:
    """The answer to one request, which is awaited even if the caller is cancelled meanwhile.

    A request that is only given up may still arrive, after whoever drops its file has looked for
    what is to be removed. If the caller is cancelled once more, it waits no longer.
    """
    sent = asyncio.ensure_future(request)
    sent.add_done_callback(heard)
    try:
        return await asyncio.shield(sent)
    except asyncio.CancelledError:
        if not sent.done():
            await asyncio.wait([sent])
        raise
    finally:
        del request, sent  # Its error leads back to this frame, and to the part that was sent.


def unclassified(error: Exception) -> StoreError:
    """The error for an exception that no adapter should raise: a bug in it, or in its client.

    Its text is not repeated: it may hold a secret.
    """
    message = f"the store's adapter failed with {type(error).__name__}, which is the cause of this"
    return StoreError(message, reply=Reply.UNKNOWN)


async def confirm(effect: Effect[T], pace: Pace, *, backoff: int = 0) -> T:
    """Apply *effect* until it is done, certainly refused, or cannot be known.

    *backoff* is how many requests of its kind have failed just before.

    Raises:
        StoreError: It certainly did not happen, and repeating it did not help.
        CommitStateUnknownError: It may have happened, and the store did not say.
    """
    last: StoreError | None = None
    refusal: StoreError | None = None
    trouble: Trouble | None = None
    doubt = unanswered = False
    outdated = 0
    for tried in range(1, TRIES_MAX + 1):
        if (backoff or not pace.enter_now()) and not await pace.enter(backoff, trouble):
            break
        observing = doubt
        try:
            if observing:
                seen = await classified(effect.observe())
                pace.silence.end()
                if not isinstance(seen, Undone):
                    return seen
                outdated += seen is Undone.OUTDATED
                is_outdated = seen is Undone.OUTDATED and outdated <= OUTDATED_MAX
                refusal = None if is_outdated else refusal
                _raise_unless_repeated(effect, refusal, last, unanswered=unanswered)
            observing = False
            done = await classified(effect.apply())
            pace.silence.end()
            return done
        except StoreError as error:
            if error is refusal:
                raise
            if error.reply is not Reply.REFUSED:
                backoff += 1
            elif not observing:
                refusal = error
            last, doubt = error, doubt or error.reply is not Reply.NOT_DONE
            unanswered = unanswered or (not observing and error.reply is Reply.UNKNOWN)
            trouble = trouble or Trouble(pace.silence)
            trouble.failed(error.reply, is_last=tried == TRIES_MAX)
            pace.slow_down(error)
        finally:
            pace.leave()
    if last is not None and not doubt:
        raise last
    raise _unknown(effect, last) from last


def _raise_unless_repeated(
    effect: Effect[T], refusal: StoreError | None, last: StoreError | None, *, unanswered: bool
) -> None:
    """Raise unless a change that was not seen to happen may be sent again.

    A refusal is certain only for the request that was refused: an earlier one that was not
    answered may still be carried out.
    """
    if refusal is not None and not unanswered:
        raise refusal
    if refusal is not None or not effect.is_repeatable:
        raise _unknown(effect, refusal or last) from (refusal or last)


def _unknown(effect: Effect[T], last: StoreError | None) -> CommitStateUnknownError:
    message = f"it is not known whether {effect.doing} {effect.path!r} happened: {last}"
    return CommitStateUnknownError(message, path=effect.path)


async def ask(
    question: Callable[[], Awaitable[T]],
    pace: Pace,
    *,
    go_on: Callable[[], Awaitable[T]] | None = None,
) -> T:
    """Ask a store something that changes nothing, until it answers.

    Args:
        question: What to ask.
        pace: How fast, and how often.
        go_on: What to ask a writer after a failure. A writer finds out itself what has arrived,
            and says whether it can go on.

    Raises:
        StoreError: It refused, or never answered.
    """
    backoff = 0
    last: StoreError | None = None
    trouble: Trouble | None = None
    try:
        while True:
            if backoff or not pace.enter_now():
                may_ask = await pace.enter(backoff, trouble)
                if last is not None and not may_ask:
                    raise last
            try:
                answer = await classified(question())
                pace.silence.end()
                return answer
            except StoreError as error:
                backoff += 1
                last, trouble = error, trouble or Trouble(pace.silence)
                trouble.failed(error.reply, is_last=backoff == TRIES_MAX)
                ends = error.reply is Reply.REFUSED if go_on is None else not error.can_go_on
                if ends or backoff == TRIES_MAX:
                    raise
                pace.slow_down(error)
                question = go_on or question
            finally:
                pace.leave()
    finally:
        # It leads back to this frame, and would keep a sent part until a garbage collection.
        last = None
