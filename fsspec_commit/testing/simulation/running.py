"""A run of a plan, from its actors to the last check."""

import asyncio
import gc
import logging
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fsspec_commit.testing.faults import Crash
from fsspec_commit.testing.simulation import actors, strangers
from fsspec_commit.testing.simulation.loop import SimulationLoop, StuckError
from fsspec_commit.testing.simulation.plan import Plan
from fsspec_commit.testing.simulation.readers import read
from fsspec_commit.testing.simulation.settling import settle_all
from fsspec_commit.testing.simulation.trace import Trace
from fsspec_commit.testing.simulation.world import World

_PACKAGE = "fsspec_commit.testing.simulation"


@dataclass(frozen=True)
class Run:
    """What a plan has come to.

    Attributes:
        plan: The plan.
        violations: What was not as it must be, each beginning with the promise that it breaks, such
            as ``"P9"``; empty if all was well.
        calls: How many store calls each actor has made.
        told: What callers were told, counted: ``"commit returned"``.
        visible: The names of the visible files in the end, without the ids of jobs and attempts.
        trace: What happened.
        drawn_by: The call that draws the plan of the run that :func:`search` has found, before that
            was shrunk to this one; empty for any other run.
    """

    plan: Plan
    violations: tuple[str, ...]
    calls: dict[str, int] = field(repr=False)
    told: Counter[str] = field(repr=False)
    visible: tuple[str, ...] = field(repr=False)
    trace: Trace = field(repr=False)
    drawn_by: str = field(default="", repr=False)

    def __str__(self) -> str:
        found = self.violations or ("nothing was wrong",)
        text = "\n".join((*found, "", *self.trace.lines(), "", f"plan = {self.plan!r}"))
        if not self.drawn_by:
            return text
        again = f"from {_PACKAGE} import draw, run; print(run({self.drawn_by}))"
        return f'{text}\n\nshrunk; the whole run again: python -c "{again}"'


def run(plan: Plan) -> Run:
    """Run a plan: the same plan always has the same run.

    The actors run until each has ended or died. Then somebody settles all jobs and cleans, without
    faults; then what is late arrives, and all is settled and cleaned once more.
    """
    with _undisturbed():
        return _run(plan)


def _run(plan: Plan) -> Run:
    loop = SimulationLoop()
    world = World(plan, loop)
    try:
        _go_on(loop, world, _play(world), "the actors")
        settled = len(world.trace)
        _go_on(loop, world, settle_all(world, "operator"), "the operator")
        world.check_visible("when all was settled")
        _drain(loop, world)
        if any(not actor.startswith("operator") for actor in world.trace.actors(since=settled)):
            world.check_visible("when all that was late had come")
            _go_on(loop, world, settle_all(world, "operator2"), "the operator")
            _drain(loop, world)
        world.check_end()
    finally:
        loop.close()
    told = Counter(
        f"{one.call} {one.answer}" for model in world.models.values() for one in model.told
    )
    calls = {process.name: process.calls for process in world.processes}
    return Run(
        plan,
        violations=world.violations,
        calls=calls,
        told=told,
        visible=world.model.names(),
        trace=world.trace,
    )


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep garbage collection from deciding what happens next, and the log silent about deaths."""
    log, was_enabled = logging.getLogger("fsspec_commit"), gc.isenabled()
    was_disabled, log.disabled = log.disabled, True
    gc.disable()
    try:
        yield
    finally:
        log.disabled = was_disabled
        if was_enabled:
            gc.enable()


def _go_on(loop: SimulationLoop, world: World, doing: Coroutine[Any, Any, None], who: str) -> None:
    try:
        loop.run_until_complete(doing)
    except StuckError as error:
        world.model.stuck(f"{who} {error}")
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever it is, it is a finding
        world.model.stuck(f"{who}: {error!r}")
    for failure in loop.failures:
        if not isinstance(failure, Crash):
            world.model.stuck(f"a task that nobody awaits: {failure!r}")
    loop.failures.clear()


def _drain(loop: SimulationLoop, world: World) -> None:
    """Let everything arrive that is late."""
    try:
        loop.drain()
    except StuckError as error:
        world.model.stuck(f"they {error}")
    except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
        world.model.stuck(f"what was late: {error!r}")


async def _play(world: World) -> None:
    """Run all actors at once."""
    plan = world.plan
    acting: list[Coroutine[Any, Any, None]] = []
    for job in plan.jobs:
        shared = actors.SharedJob(job)
        acting.append(actors.drive(world, shared))
        acting += [actors.attempt(world, shared, number) for number in range(len(job.attempts))]
        acting += [
            actors.HELPERS[helper.kind](world, f"{job.name}.{helper.kind}{number}", shared, helper)
            for number, helper in enumerate(job.helpers)
        ]
    acting += [
        actors.clean_up(world, f"cleaner{number}", cleaner)
        for number, cleaner in enumerate(plan.cleaners)
    ]
    acting += [
        strangers.write_as_foreigner(world, f"foreign{number}", foreign)
        for number, foreign in enumerate(plan.foreign)
    ]
    acting += [
        actors.resume_earlier(world, number, earlier) for number, earlier in enumerate(plan.earlier)
    ]
    acting += [read(world, f"reader{number}", one) for number, one in enumerate(plan.readers)]
    await asyncio.gather(*(_until_dead(world, one) for one in acting))


async def _until_dead(world: World, acting: Coroutine[Any, Any, None]) -> None:
    try:
        await acting
    except Crash:
        return
    except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
        world.model.stuck(f"an actor has failed: {error!r}")
