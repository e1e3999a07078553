"""From a plan that fails to the smallest one that still does."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from fsspec_commit.testing.simulation.drawing import draw
from fsspec_commit.testing.simulation.plan import JobPlan, Plan, actors_of
from fsspec_commit.testing.simulation.running import Run, run

T = TypeVar("T")


def search(
    seeds: Iterable[int],
    *,
    family: str | None = None,
    varied: bool = False,
    sliced: bool = False,
    extended: bool = False,
    verified: bool = False,
    committers: bool = False,
) -> Run | None:
    """Run the plans of *seeds* until one fails, and shrink that.

    Args:
        seeds: What to draw plans from.
        family: The kind of store; ``None`` draws it as well.
        varied: Whether the plans are varied, as of :func:`draw`.
        sliced: Whether other processes run slices of their jobs, as of :func:`draw`.
        extended: Whether they have one thing more, as of :func:`draw`.
        verified: Whether somebody asks ``verify`` besides, as of :func:`draw`.
        committers: Whether jobs ask for any committer that is safe there, as of :func:`draw`.

    Returns:
        The smallest run found that fails, which says what repeats the run as it was drawn;
        ``None`` if every plan was well.
    """
    ways = {
        "varied": varied,
        "sliced": sliced,
        "extended": extended,
        "verified": verified,
        "committers": committers,
    }
    for seed in seeds:
        found = run(draw(seed, family=family, **ways))
        if found.violations:
            how = {"family": family, **ways}
            more = "".join(f", {name}={value!r}" for name, value in how.items() if value)
            return replace(shrink(found), drawn_by=f"draw({seed}{more})")
    return None


def shrink(failed: Run, *, schedules: int = 5) -> Run:
    """The smallest failing run that leaving things out of a failing one leads to.

    Faults, jobs, actors, old files and the rest go one by one, as long as some promise is broken.

    Args:
        failed: A run with violations.
        schedules: With how many schedules a smaller plan is tried before it is given up.
    """
    smallest = failed
    went_on = True
    while went_on:
        went_on = False
        for plan in _smaller(smallest.plan):
            found = _failing(plan, schedules)
            if found is not None:
                smallest, went_on = found, True
                break
    return smallest


def _failing(plan: Plan, schedules: int) -> Run | None:
    for number in range(schedules):
        tried = run(replace(plan, schedule=plan.schedule + number * 1_000_003))
        if tried.violations:
            return tried
    return None


def _smaller(plan: Plan) -> Iterator[Plan]:
    """Plans with one thing less, the largest things first."""
    for jobs in _without_one(plan.jobs):
        if jobs:
            yield _of(plan, jobs)
    for number in range(len(plan.readers)):
        yield _without_reader(plan, number)
    for name in ("cleaners", "foreign", "leftovers", "earlier", "faults"):
        for fewer in _without_one(getattr(plan, name)):
            smaller: dict[str, Any] = {name: fewer}
            yield replace(plan, **smaller)
    for number, job in enumerate(plan.jobs):
        for simpler in _smaller_jobs(job):
            yield _of(plan, (*plan.jobs[:number], simpler, *plan.jobs[number + 1 :]))
    for old in _without_one(plan.old):
        yield replace(plan, old=old)


def _smaller_jobs(job: JobPlan) -> Iterator[JobPlan]:
    for helpers in _without_one(job.helpers):
        yield replace(job, helpers=helpers)
    for attempts in _without_one(job.attempts):
        if {one.task for one in attempts} == set(range(len(job.files))):
            yield replace(job, attempts=attempts)
    if len(job.files) > 1:
        first = tuple(one for one in job.attempts if one.task == 0)
        yield replace(job, files=job.files[:1], attempts=first)
    for number, names in enumerate(job.files):
        for fewer in _without_one(names):
            if fewer:
                yield replace(job, files=(*job.files[:number], fewer, *job.files[number + 1 :]))
    plain = {
        "skew_s": 0.0,
        "key": None,
        "collect": False,
        "success": "marker",
        "partitions": (),
        "at_s": 0.0,
        "threads": 1,
        "callback": None,
        "spread": None,
        "keeps": False,
        "committer": "auto",
        "attempts": tuple(replace(one, adopted=False, retries=False) for one in job.attempts),
    }
    # All at once, since most do not matter; then one by one, for the others where one does.
    for some in (plain, *({name: value} for name, value in plain.items())):
        plainer = replace(job, **some)  # type: ignore[arg-type]  # each is of its field
        if plainer != job:
            yield plainer


def _of(plan: Plan, jobs: tuple[JobPlan, ...]) -> Plan:
    """*plan* with *jobs* alone, and without the faults of actors that are not there any more."""
    there = {name for job in jobs for name in actors_of(job)}
    gone = {name for job in plan.jobs for name in actors_of(job)} - there
    faults = tuple(one for one in plan.faults if one.actor not in gone)
    return replace(plan, jobs=jobs, faults=faults)


def _without_reader(plan: Plan, gone: int) -> Plan:
    """*plan* without one reader; those after it get other names, which their faults follow."""
    names = {f"reader{gone}": ""}
    names |= {f"reader{n}": f"reader{n - 1}" for n in range(gone + 1, len(plan.readers))}
    renamed = (replace(one, actor=names.get(one.actor, one.actor)) for one in plan.faults)
    return replace(
        plan,
        readers=(*plan.readers[:gone], *plan.readers[gone + 1 :]),
        faults=tuple(one for one in renamed if one.actor),
    )


def _without_one(things: Sequence[T]) -> Iterator[tuple[T, ...]]:
    for number in range(len(things)):
        yield (*things[:number], *things[number + 1 :])
