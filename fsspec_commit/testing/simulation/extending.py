"""What drawn plans lacked when the first integers were written down: drawn apart from the rest."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Literal

from fsspec_commit.testing.simulation.earlier import VERSIONS, can_be_left, can_overwrite
from fsspec_commit.testing.simulation.families import Family
from fsspec_commit.testing.simulation.plan import (
    AttemptPlan,
    EarlierPlan,
    JobPlan,
    Plan,
    actors_of,
)
from fsspec_commit.testing.simulation.process import FaultAt

if TYPE_CHECKING:
    from fsspec_commit.records.job import Mode

ATTEMPTS_MAX = 4
"""The most attempts of one task; Hadoop and Spark give up a job when so many have failed."""
_CALLS_MAX = 30
_KEPT_CHANCE = 0.4
_BEGIN_S = (0.0, 0.0, 0.05, 0.5, 3.0, 30.0)
_PAUSE_S = (0.0, 0.0, 0.0, 1.0, 20.0, 70.0)


def extension(plan: Plan, family: Family, random: Random) -> Plan:
    """*plan* with one of the things that it lacked."""
    return random.choice(_EXTENSIONS)(plan, family, random)


def with_kept_manifests(plan: Plan, random: Random) -> Plan:
    """*plan*, sometimes with drivers that keep the manifests of their tasks."""
    if random.random() >= _KEPT_CHANCE:
        return plan
    return replace(plan, jobs=tuple(replace(job, keeps=True) for job in plan.jobs))


def with_committers(plan: Plan, family: Family, random: Random) -> Plan:
    """*plan*, with each job by one of the committers that it may ask for there."""
    jobs = (replace(job, committer=random.choice(family.committers)) for job in plan.jobs)
    return replace(plan, jobs=tuple(jobs))


def _with_more_attempts(plan: Plan, _: Family, random: Random) -> Plan:
    """Tasks are tried again, up to four times, soon or when the driver has all its messages."""
    jobs = []
    for job in plan.jobs:
        more = [one for task in range(len(job.files)) for one in _more(job, task, random)]
        jobs.append(replace(job, attempts=(*job.attempts, *more)))
    return replace(plan, jobs=tuple(jobs))


def _more(job: JobPlan, task: int, random: Random) -> list[AttemptPlan]:
    """Further attempts of a task, after all others, so that faults stay with the earlier ones."""
    like = [one for one in job.attempts if one.task == task]
    count = random.randint(len(like), ATTEMPTS_MAX)
    return [
        replace(like[-1], at_s=random.choice(_BEGIN_S), pause_s=random.choice(_PAUSE_S))
        for _ in range(count - len(like))
    ]


def _with_earlier_jobs(plan: Plan, family: Family, random: Random) -> Plan:
    """Jobs of earlier versions have died there; two only if the second need not wait."""
    if not can_be_left(family):
        return _with_more_attempts(plan, family, random)
    mode: Literal["append", "overwrite"] = random.choice(("append", "overwrite"))
    if not can_overwrite(family, plan.old):
        mode = "append"
    earlier = tuple(
        EarlierPlan(
            version=random.choice(VERSIONS),
            mode=mode,
            calls=random.randint(1, _CALLS_MAX),
            aborts=random.random() < 0.2,  # noqa: PLR2004  # few
            resumed_s=random.choice((None, None, 0.3, 3.0, 30.0)),
        )
        for _ in range(random.choice((1, 2) if mode == "append" else (1,)))
    )
    earlier = tuple(replace(one, marks=random.random() < 0.5) for one in earlier)  # noqa: PLR2004  # half
    if len(earlier) == 1 and random.random() < 0.4:  # noqa: PLR2004  # some: two would wait
        earlier = (replace(earlier[0], names="exact"),)
    return replace(plan, earlier=earlier)


def _with_any_modes(plan: Plan, family: Family, random: Random) -> Plan:
    """Jobs of all modes, drawn alike, so that every two of them meet; over old files or none."""
    jobs = tuple(_with_any_mode(job, family, random) for job in plan.jobs)
    return replace(plan, jobs=jobs, old=plan.old if random.random() < 0.5 else ())  # noqa: PLR2004  # half


def _with_any_mode(job: JobPlan, family: Family, random: Random) -> JobPlan:
    modes: list[Mode] = ["append", "error", "ignore", "overwrite"]
    if all("=" in name for names in job.files for name in names):
        modes.append("overwrite_partitions")
    mode = random.choice(modes)
    may_be_exact = family.takes_any_name or mode == "append"
    return replace(
        job,
        mode=mode,
        names=job.names if may_be_exact else "unique",
        partitions=job.partitions if mode == job.mode else (),
    )


def _with_refusals(plan: Plan, _: Family, random: Random) -> Plan:
    """Somebody is denied something, once or for a while, besides whatever else goes wrong."""
    job = random.choice(plan.jobs)
    actor = random.choice((f"{job.name}.driver", *actors_of(job)))
    call, delay_s = random.randint(1, _CALLS_MAX), random.choice((0.0, 0.0, 40.0))
    return replace(plan, faults=(*plan.faults, FaultAt(actor, call, "refused", delay_s)))


_EXTENSIONS: tuple[Callable[[Plan, Family, Random], Plan], ...] = (
    _with_more_attempts,
    _with_earlier_jobs,
    _with_any_modes,
    _with_refusals,
)
