"""What drawn plans had none of when the first integers were written down: drawn beside the rest."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from fsspec_commit.testing.simulation.families import Family
from fsspec_commit.testing.simulation.plan import AttemptPlan, JobPlan, Plan

ATTEMPTS_MAX = 4
"""Of one task; Hadoop and Spark give up a job when so many have failed."""
_BEGIN_S = (0.0, 0.0, 0.05, 0.5, 3.0, 30.0)
_PAUSE_S = (0.0, 0.0, 0.0, 1.0, 20.0, 70.0)


def extension(plan: Plan, family: Family, random: Random) -> Plan:
    """*plan* with one of the things that it had none of."""
    return random.choice(_EXTENSIONS)(plan, family, random)


def _with_more_attempts(plan: Plan, _: Family, random: Random) -> Plan:
    """Tasks are tried again, up to four times, soon or when the driver has heard enough."""
    jobs = []
    for job in plan.jobs:
        more = [one for task in range(len(job.files)) for one in _more(job, task, random)]
        jobs.append(replace(job, attempts=(*job.attempts, *more)))
    return replace(plan, jobs=tuple(jobs))


def _more(job: JobPlan, task: int, random: Random) -> list[AttemptPlan]:
    """Further attempts of a task, behind all others: faults are those of the attempts before."""
    like = [one for one in job.attempts if one.task == task]
    count = random.randint(len(like), ATTEMPTS_MAX)
    return [
        replace(like[-1], at_s=random.choice(_BEGIN_S), pause_s=random.choice(_PAUSE_S))
        for _ in range(count - len(like))
    ]


_EXTENSIONS: tuple[Callable[[Plan, Family, Random], Plan], ...] = (_with_more_attempts,)
