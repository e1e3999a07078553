"""The redo rule of a step that consumes what it publishes: a rename, or completing an upload.

However often it is repeated, the content arrives once: content at its target is done, content still
at its source is moved, and content at neither is lost, and nothing is changed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import TypeVar

from fsspec_commit.effects.confirm import Effect, confirm
from fsspec_commit.effects.pacing import Pace
from fsspec_commit.store import Expect, Expectation

T = TypeVar("T")

OBSERVATIONS_MAX = 4


class Seen(Enum):
    """What the store shows of a one-shot publish."""

    DONE = "done"
    """The content is at its target."""
    MADE_WAY = "made way"
    """The step was refused, and the file that it was to replace is not there any more."""
    NEITHER = "neither"
    """The content is at neither, as for a moment while a request is carried out: observe again."""
    LOST = "lost"
    """The content is at neither after all observations, or another content is at the source."""


async def publish_once(
    attempt: Callable[[Expectation], Effect[Seen]], expecting: Expectation, pace: Pace
) -> bool:
    """Publish over the expected file; or, if somebody has removed that, without one.

    Args:
        attempt: Makes the effect, given what must stand at the target.
        expecting: What must stand at the target, as the job has decided.
        pace: How fast, and how often.

    Returns:
        False when the content is lost, and nothing was changed.

    Raises:
        StoreError: It certainly did not happen: something else stands at the target.
        CommitStateUnknownError: The store did not say.
    """
    seen = await confirm(attempt(expecting), pace)
    if seen is Seen.MADE_WAY:
        seen = await confirm(attempt(Expect.ABSENT), pace)
    return seen is Seen.DONE


async def observe_again(observe: Callable[[], Awaitable[Seen | T]], observations: int) -> Seen | T:
    """The first answer of *observe* that is not ``NEITHER``; ``LOST`` if there is none."""
    for number in range(observations):
        seen = await observe()
        if seen is not Seen.NEITHER:
            return seen
        if number + 1 < observations:
            await asyncio.sleep(0.01 * 4**number)
    return Seen.LOST
