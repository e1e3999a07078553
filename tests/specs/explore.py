"""Every state that a model can reach, breadth first, so that the trace found is a shortest."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

StateT = TypeVar("StateT", bound="Hashable")


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
) -> Found:
    """Search every interleaving.

    Args:
        start: Where it begins.
        steps: All that can happen next, each with what it is called.
        wrong: What is broken in a state, if anything.
    """
    came_from: dict[StateT, tuple[StateT, str] | None] = {start: None}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        problem = wrong(state)
        if problem is not None:
            return Found(len(came_from), problem, _trace(came_from, state))
        for label, following in steps(state):
            if following not in came_from:
                came_from[following] = (state, label)
                waiting.append(following)
    return Found(len(came_from))


def _trace(came_from: dict[StateT, tuple[StateT, str] | None], state: StateT) -> tuple[str, ...]:
    labels: list[str] = []
    step = came_from[state]
    while step is not None:
        state, label = step
        labels.append(label)
        step = came_from[state]
    return tuple(labels[::-1])
