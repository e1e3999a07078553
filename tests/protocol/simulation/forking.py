"""A process that is forked and goes on as if there were no guards: two with one attempt, one job.

No code can be copied in the midst of its work. So the child runs beside its parent from the
beginning, with the same ids, in the same time, and has its parent's answers for its own; its
requests are carried out only from the fork on.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar
from unittest.mock import patch

from fsspec_commit.testing.simulation import actors, run
from fsspec_commit.testing.simulation.process import Process
from fsspec_commit.testing.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.testing.simulation import Plan, Run

T = TypeVar("T")


class Parent(Process):
    """A process that is forked: its answers are those of its child, by the number of the call."""

    answers: dict[int, tuple[str, str, Any]]

    def request(
        self, verb: str, path: str, apply: Callable[[], T], *, is_later_page: bool = False
    ) -> Awaitable[T]:
        """Send a request, and note what comes of it."""
        number = self.calls + 1

        def noted() -> T:
            try:
                answer = apply()
            except Exception as error:
                self.answers[number] = verb, path, error
                raise
            self.answers[number] = verb, path, answer
            return answer

        return super().request(verb, path, noted, is_later_page=is_later_page)


class Child(Process):
    """A process that was its parent until then, and that nobody tells that it is another."""

    parent: Parent
    forked_after: int

    def request(
        self, verb: str, path: str, apply: Callable[[], T], *, is_later_page: bool = False
    ) -> Awaitable[T]:
        """Send a request of its own, or hear what its parent was told."""
        number = self.calls + 1
        if number <= self.forked_after:
            return super().request(verb, path, lambda: self._told(number, verb, path))
        if number == self.forked_after + 1:
            self.random.seed(f"{self.name} {self.forked_after}")
        return super().request(verb, path, apply, is_later_page=is_later_page)

    def _told(self, number: int, verb: str, path: str) -> Any:
        *asked, answer = self.parent.answers[number]
        assert asked == [verb, path], "it has not done what its parent did"
        if isinstance(answer, Exception):
            raise answer
        return answer


class _SharedByParent:
    """What a child hears of its job, to which it says nothing."""

    def __init__(self, shared: actors.SharedJob) -> None:
        self.messages: dict[int, list[Any]] = {}
        self.kept = None
        self._shared = shared

    def begin(self, _: object) -> None:
        """Its parent has said that the job has begun."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shared, name)


class _WorldOfChild:
    """The world, with the child in the place of its parent."""

    def __init__(self, world: World, parent: str, forked_after: int) -> None:
        self._world = world
        self._parent = parent
        self._forked_after = forked_after

    def process(self, name: str, at: str) -> Process:
        """The child; its parent has just been made."""
        assert name == self._parent
        world = self._world
        parent = next(one for one in world.processes if one.name == name)
        assert isinstance(parent, Parent)
        with patch("fsspec_commit.testing.simulation.world.Process", Child):
            child = world.process(f"{name}.child", at)
        assert isinstance(child, Child)
        child.parent, child.forked_after = parent, self._forked_after
        child.random, child._slowness = Random(f"{world.plan.schedule} {name}"), parent._slowness
        child.random.choice((1, 2, 3, 4, 5))  # As its parent has drawn how slow it is.
        return child

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)


def run_forked(plan: Plan, actor: str, forked_after: int) -> Run:
    """Run *plan*, in which *actor* is forked after so many calls; ``….child`` is its child."""
    make, drive, attempt = World.process, actors.drive, actors.attempt

    def process(world: World, name: str, at: str = "out") -> Process:
        if name != actor:
            return make(world, name, at)
        with patch("fsspec_commit.testing.simulation.world.Process", Parent):
            made = make(world, name, at)
        assert isinstance(made, Parent)
        made.answers = {}
        return made

    async def both(
        act: Callable[..., Awaitable[None]], world: World, shared: Any, *of: int
    ) -> None:
        name = f"{shared.plan.name}.attempt{of[0]}" if of else f"{shared.plan.name}.driver"
        acting = [asyncio.ensure_future(act(world, shared, *of))]
        if name == actor:
            beside: Any = _WorldOfChild(world, name, forked_after)
            acting.append(asyncio.ensure_future(act(beside, _SharedByParent(shared), *of)))
        # Whoever settles the job comes when both have ended: the death of one is not the other's.
        for ended in await asyncio.gather(*acting, return_exceptions=True):
            if ended is not None:
                raise ended

    with (
        patch.object(World, "process", process),
        patch.object(actors, "drive", lambda *of: both(drive, *of)),
        patch.object(actors, "attempt", lambda *of: both(attempt, *of)),
    ):
        return run(plan)
