"""Slices of a job in other processes: late, lost, twice, or when their job is over."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from fsspec_commit.protocol.elsewhere import Elsewhere
from fsspec_commit.protocol.slice_work import run_slice
from fsspec_commit.records.job import JobRecord
from fsspec_commit.records.slices import (
    PublishSlice,
    Slice,
    SliceAnswer,
    answer_of,
    repeated,
    slice_of,
    text_of,
)
from fsspec_commit.testing.faults import Crash
from fsspec_commit.testing.simulation.plan import HelperPlan, JobPlan, Plan, SpreadPlan
from fsspec_commit.testing.simulation.process import FaultAt, FaultKind, Process
from fsspec_commit.testing.simulation.world import World

_KINDS: tuple[FaultKind, ...] = (
    *("halt", "halt", "halt", "halt_after", "crash_before", "crash_after"),
    *("applied_late", "error_but_applied", "outage"),
)
_CALLS_MAX = 8
_SLICES = 3


def elsewhere(world: World, process: Process, record: JobRecord, plan: JobPlan) -> Elsewhere | None:
    """The slices of a job that *process* drives, or resumes, if its plan spreads them."""
    if plan.spread is None:
        return None
    return Elsewhere(_Spread(world, process, record, plan.spread), files_min=1)


class _Spread:
    """Runs slices in simulated processes, and does not wait for them for ever."""

    def __init__(self, world: World, process: Process, record: JobRecord, plan: SpreadPlan) -> None:
        self.runs_once = not plan.twice
        self._world = world
        self._process = process
        self._record = record
        self._plan = plan

    async def width(self) -> int:
        return 2

    async def run(self, slices: Sequence[Slice], told: Callable[[SliceAnswer], None]) -> None:
        """Run *slices*; those that do not answer in time go on, and their answers are ignored."""
        is_open = True

        def tell(answer: SliceAnswer) -> None:
            if is_open:
                told(answer)

        acting = []
        for number, one in enumerate(slices):
            text, late_s = text_of(one), number * self._plan.apart_s
            what = "publish" if isinstance(one, PublishSlice) else "delete"
            name = self._world.unused_name(f"{self._process.name}.{what}{number}")
            acting.append(self._begun(name, text, late_s, tell))
            if self._plan.twice:
                later_s = late_s + self._plan.again_s
                acting.append(self._begun(f"{name}b", repeated(text), later_s, tell))
        if acting:
            await asyncio.wait(acting, timeout=self._plan.patience_s)
        is_open = False

    def _begun(
        self, name: str, text: str, late_s: float, tell: Callable[[SliceAnswer], None]
    ) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(self._act(name, text, late_s, tell))
        self._world.stragglers.append(task)
        return task

    async def _act(
        self, name: str, text: str, late_s: float, tell: Callable[[SliceAnswer], None]
    ) -> None:
        await asyncio.sleep(late_s)
        process = self._world.process(name, self._process.at)
        try:
            job = self._world.open(process).bind(self._record)
            answer = answer_of(text_of(await run_slice(job, slice_of(text))))
        except Crash:
            return
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
            self._world.model_at(self._process.at).stuck(f"{name} has failed: {error!r}")
            return
        self._world.trace.say(name, "has answered", answer.failure or "all is done")
        tell(answer)


def spread(plan: Plan, random: Random) -> Plan:
    """*plan* with slices, whose processes stand still, die, or are run twice.

    Later jobs may go over the files, and somebody else may resume the job meanwhile.
    """
    jobs = []
    for job in plan.jobs:
        how = SpreadPlan(
            patience_s=random.choice((1.0, 5.0, 30.0, 100_000.0)),
            twice=random.random() < 0.4,  # noqa: PLR2004  # some
            again_s=random.choice((0.0, 0.1, 3.0, 60.0)),
            apart_s=random.choice((0.0, 0.0, 0.3, 5.0)),
        )
        helpers = job.helpers
        if random.random() < 0.3:  # noqa: PLR2004  # some
            helpers = (*helpers, HelperPlan(kind="resumer", at_s=random.choice((2.0, 6.0, 20.0))))
        jobs.append(replace(job, spread=how, helpers=helpers))
    faults = tuple(_fault(random, jobs) for _ in range(random.choice((0, 1, 2, 3))))
    return replace(plan, jobs=tuple(jobs), faults=(*plan.faults, *faults))


def _fault(random: Random, jobs: Sequence[JobPlan]) -> FaultAt:
    job = random.choice(jobs)
    drivers = [f"{job.name}.driver"] * 3
    drivers += [
        f"{job.name}.{one.kind}{number}"
        for number, one in enumerate(job.helpers)
        if one.kind != "aborter"
    ]
    number = random.randrange(_SLICES)
    actor = f"{random.choice(drivers)}.{random.choice(('publish', 'delete'))}{number}"
    late_s = random.choice((0.5, 10.0, 40.0, 100.0, 400.0, 8_000.0))
    return FaultAt(actor, random.randint(1, _CALLS_MAX), random.choice(_KINDS), late_s)
