"""The three outcomes of a change, handled here and nowhere else.

A request to a store is *done*, *not done* or *unknown*, and a refusal can be the echo of our own
earlier success. So nothing that changes a store is called bare: it is an :class:`Effect`, which
can be applied and can be observed, and :func:`confirm` goes on until the answer is certain.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from fsspec_commit.effects.deletion import PermitExpiredError
from fsspec_commit.effects.pacing import TRIES_MAX, Pace
from fsspec_commit.effects.silence import Trouble
from fsspec_commit.errors import CommitError, CommitStateUnknownError, Reply, StoreError

T = TypeVar("T")


class Undone(Enum):
    """What ``observe`` answers when the change certainly has not happened.

    ``OVERTAKEN`` says more: what the last refusal was for is so no longer. It is tried again.
    """

    UNDONE = "undone"
    OVERTAKEN = "overtaken"


OVERTAKEN_MAX = 4
"""How often a refusal is taken for one that is so no longer."""


@dataclass(slots=True)
class Effect(Generic[T]):
    """One change, and the question whether it happened; both may be repeated.

    Attributes:
        apply: Send the change once.
        observe: The redo rule: what the change has brought about, or ``UNDONE``.
        doing: What it is, for messages: "renaming".
        path: What it is done to.
        is_repeatable: Whether it may be sent again while an earlier request may still be carried
            out. Else it is given up as unknown where it is not seen to have happened.
    """

    apply: Callable[[], Awaitable[T]]
    observe: Callable[[], Awaitable[T | Undone]]
    doing: str
    path: str
    is_repeatable: bool = True


async def classified(call: Awaitable[T]) -> T:
    """What an adapter answers; what it raises and has not classified leaves open what happened.

    Raises:
        StoreError: The call failed.
    """
    try:
        return await call
    except (CommitError, PermitExpiredError):
        raise
    except Exception as error:
        raise unclassified(error) from error


def unclassified(error: Exception) -> StoreError:
    """What is made of an error that no adapter should let out: a fault of it, or of its client.

    What it says is not repeated: nobody has looked whether a secret is in it.
    """
    message = f"the store's adapter failed with {type(error).__name__}, which is the cause of this"
    return StoreError(message, reply=Reply.UNKNOWN)


async def confirm(effect: Effect[T], pace: Pace, *, backoff: int = 0) -> T:
    """Apply until done, certainly refused, or beyond knowing.

    *backoff* is how many requests of its kind have failed just before.

    Raises:
        StoreError: It certainly did not happen, and repeating it did not help.
        CommitStateUnknownError: It may have happened, and the store would not say.
    """
    last: StoreError | None = None
    refusal: StoreError | None = None
    trouble: Trouble | None = None
    doubt = unanswered = False
    overtaken = 0
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
                overtaken += seen is Undone.OVERTAKEN
                is_obsolete = seen is Undone.OVERTAKEN and overtaken <= OVERTAKEN_MAX
                # Of what is sent from now on it says nothing.
                refusal = None if is_obsolete else refusal
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
    """Of a change that has not been seen to happen: whether it may be sent again.

    A refusal is certain only of the request that was refused: one that was not answered before it
    may still be carried out.
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
        go_on: What to ask after a failure, where it is a writer that is asked. It looks itself
            what has arrived, and says itself whether it can go on.

    Raises:
        StoreError: It refused, or did not answer in the end.
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
        # It leads back to this frame: what is asked with, a part, would wait for the collector.
        last = None
