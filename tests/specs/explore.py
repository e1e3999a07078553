"""Every state that a model can reach, breadth first, so that the trace found is a shortest."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

StateT = TypeVar("StateT")
WeakenedT = TypeVar("WeakenedT")
STATES_MAX = 400_000


class Model(Protocol[StateT]):
    """What can happen, and what must not."""

    def start(self) -> StateT:
        """Where it begins."""

    def steps(self, now: StateT, /) -> Iterable[tuple[str, StateT]]:
        """All that can happen next, each with what it is called."""

    def wrong(self, now: StateT, /) -> str | None:
        """What is broken in a state, if anything."""


@dataclass(frozen=True)
class Found:
    """What an exhaustive search has found: how many states, and the shortest way to a wrong one."""

    states: int
    problem: str | None = None
    trace: tuple[str, ...] = ()


def explore(
    start: StateT,
    steps: Callable[[StateT], Iterable[tuple[str, StateT]]],
    wrong: Callable[[StateT], str | None],
    *,
    key: Callable[[StateT], Hashable] = lambda state: state,
) -> Found:
    """Search every interleaving.

    Args:
        start: Where it begins.
        steps: All that can happen next, each with what it is called.
        wrong: What is broken in a state, if anything.
        key: Equal for states with equal futures.

    Raises:
        OverflowError: There are too many states to try them all.
    """
    first = key(start)
    came_from: dict[Hashable, tuple[Hashable, str] | None] = {first: None}
    waiting = deque([(start, first)])
    while waiting:
        state, known_as = waiting.popleft()
        problem = wrong(state)
        if problem is not None:
            return Found(len(came_from), problem, _trace(came_from, known_as))
        for label, following in steps(state):
            found = key(following)
            if found not in came_from:
                came_from[found] = (known_as, label)
                waiting.append((following, found))
        if len(came_from) > STATES_MAX:
            raise OverflowError(f"more than {STATES_MAX} states")
    return Found(len(came_from))


def explore_model(model: Model[StateT]) -> Found:
    """Search every interleaving of *model*."""
    return explore(model.start(), model.steps, model.wrong)


def search_all(
    search: Callable[[str, WeakenedT], Found], plans: Iterable[str], weakened: WeakenedT
) -> Found:
    """Search one plan after the other, until what is *weakened* shows."""
    found = Found(0)
    for plan in plans:
        found = search(plan, weakened)
        if found.problem is not None:
            break
    return found


def _trace(
    came_from: dict[Hashable, tuple[Hashable, str] | None], state: Hashable
) -> tuple[str, ...]:
    labels: list[str] = []
    step = came_from[state]
    while step is not None:
        state, label = step
        labels.append(label)
        step = came_from[state]
    return tuple(labels[::-1])
