"""What runs are about: in some thousand plans that are drawn, all occurs that they are to search.

Plans alone: what is drawn and never occurs would be searched by nobody. What a run comes to is for
the other tests.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import chain, combinations, combinations_with_replacement, product
from typing import TYPE_CHECKING, get_args

import pytest

from fsspec_commit.records.job import Mode
from fsspec_commit.testing.simulation import FAMILIES, draw
from fsspec_commit.testing.simulation.earlier import VERSIONS
from fsspec_commit.testing.simulation.families import DRAWN_FAMILIES
from fsspec_commit.testing.simulation.folding import folded
from fsspec_commit.testing.simulation.leftovers import LEFTOVERS
from fsspec_commit.testing.simulation.process import FaultKind
from fsspec_commit.testing.simulation.rules import is_visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.testing.simulation import JobPlan, Plan

SEEDS = range(600)
LEAST = 5
"""How often each must occur at least, in eight plans of each seed."""
SKEWED_S = 400.0
HELPERS = ("twin", "resumer", "aborter")
SPELLED_TWICE = "partitions that fold, where names are folded"
THINGS = [
    *(f"{count} attempts of a task" for count in range(1, 5)),
    *("adopted attempts", "attempts that write a file again", "messages that the store collects"),
    *("hidden names", "unique names", "exact names", "slices elsewhere"),
    *("a callback that raises", "a callback that exits", "1 jobs", "2 jobs", "3 jobs"),
    *(f"{one} and {two}" for one, two in combinations_with_replacement(sorted(get_args(Mode)), 2)),
    *("unique and exact names", "exact names, twice", "one key, twice"),
    *("partitions that overlap", "partitions that nest", SPELLED_TWICE),
    *("a destination inside", "a destination beside it"),
    *HELPERS,
    *(f"{who} that stands still" for who in ("driver", "attempt", "resumer", "cleaner", "reader")),
    *("a driver that dies", "a second crash, in recovery"),
    *("a cleaner ahead of time", "a cleaner behind it", "a reader"),
    *("a foreign writer", "a foreigner who deletes", "a foreign file in the way"),
    *(f"leftover: {name}" for name in LEFTOVERS),
    *(f"{mode} of version {one}" for one, mode in product(VERSIONS, ("append", "overwrite"))),
    *("an abort of an earlier version", "an earlier version's job, resumed meanwhile"),
    *("an earlier version's exact names", "an earlier version's marker"),
    *(f"fault: {kind}" for kind in get_args(FaultKind)),
    *(f"store: {name}" for name in DRAWN_FAMILIES),
    *(f"{by} on {name}" for name, family in FAMILIES.items() for by in family.committers[1:]),
    "jobs by two committers",
]


@cache
def drawn() -> tuple[Plan, ...]:
    """Some of what the random runs draw, in each of their ways."""
    ways = product((False, True), ("", "sliced", "extended", "committers"))
    return tuple(
        draw(
            seed,
            varied=varied,
            sliced=more == "sliced",
            extended=more == "extended",
            committers=more == "committers",
        )
        for varied, more in ways
        for seed in SEEDS
    )


@cache
def counted() -> Counter[str]:
    """In how many plans each thing is."""
    return Counter(thing for plan in drawn() for thing in about(plan))


def about(plan: Plan) -> set[str]:
    things = chain(of_pairs(plan), of_faults(plan), of_others(plan), of_earlier_versions(plan))
    return {*things, *chain.from_iterable(map(of_a_job, plan.jobs)), f"{len(plan.jobs)} jobs"}


def of_a_job(job: JobPlan) -> Iterator[str]:
    for count in Counter(one.task for one in job.attempts).values():
        yield f"{count} attempts of a task"
    if any(one.adopted for one in job.attempts):
        yield "adopted attempts"
    if any(one.retries for one in job.attempts):
        yield "attempts that write a file again"
    if job.collect:
        yield "messages that the store collects"
    if not all(map(is_visible, chain.from_iterable(job.files))):
        yield "hidden names"
    if job.spread is not None:
        yield "slices elsewhere"
    if job.callback is not None:
        yield f"a callback that {job.callback}"
    if job.at != "out":
        yield "a destination inside" if job.at.startswith("out/") else "a destination beside it"
    yield f"{job.names} names"
    yield from (helper.kind for helper in job.helpers)


def of_pairs(plan: Plan) -> Iterator[str]:
    """Of jobs at one destination."""
    for one, two in combinations(plan.jobs, 2):
        if one.at != two.at:
            continue
        yield " and ".join(sorted((one.mode, two.mode)))
        if one.names != two.names:
            yield "unique and exact names"
        elif one.names == "exact":
            yield "exact names, twice"
        if one.key is not None and one.key == two.key:
            yield "one key, twice"
        for mine, other in product(partitions(one), partitions(two)):
            if mine == other:
                yield "partitions that overlap"
            elif f"{mine}/".startswith(f"{other}/") or f"{other}/".startswith(f"{mine}/"):
                yield "partitions that nest"
            elif folded(mine) == folded(other) and FAMILIES[plan.family].folds_names:
                yield SPELLED_TWICE


def partitions(job: JobPlan) -> set[str]:
    """Those that it writes or declares."""
    written = {name.rpartition("/")[0] for name in chain.from_iterable(job.files)}
    return {*written, *job.partitions} - {""}


def of_faults(plan: Plan) -> Iterator[str]:
    dying = {one.actor for one in plan.faults if one.kind.startswith("crash")}
    for one in plan.faults:
        yield f"fault: {one.kind}"
        if one.kind in {"halt", "halt_after"}:
            kind = one.actor.rpartition(".")[2].rstrip("0123456789")
            yield f"{kind} that stands still"
    for job in plan.jobs:
        helpers = {f"{job.name}.{one.kind}{n}" for n, one in enumerate(job.helpers)}
        if f"{job.name}.driver" in dying:
            yield "a second crash, in recovery" if dying & helpers else "a driver that dies"


def of_others(plan: Plan) -> Iterator[str]:
    yield f"store: {plan.family}"
    yield from (f"{job.committer} on {plan.family}" for job in plan.jobs)
    if len({job.committer for job in plan.jobs}) > 1:
        yield "jobs by two committers"
    for cleaner in plan.cleaners:
        if abs(cleaner.skew_s) > SKEWED_S:
            yield "a cleaner ahead of time" if cleaner.skew_s > 0 else "a cleaner behind it"
    if plan.readers:
        yield "a reader"
    for foreign in plan.foreign:
        if foreign.until_s is not None:
            yield "a foreign file in the way"
        else:
            yield "a foreigner who deletes" if foreign.deletes else "a foreign writer"
    yield from (f"leftover: {name}" for name in plan.leftovers)


def of_earlier_versions(plan: Plan) -> Iterator[str]:
    for earlier in plan.earlier:
        yield f"{earlier.mode} of version {earlier.version}"
        if earlier.aborts:
            yield "an abort of an earlier version"
        if earlier.resumed_s is not None:
            yield "an earlier version's job, resumed meanwhile"
        if earlier.names == "exact":
            yield "an earlier version's exact names"
        if earlier.marks:
            yield "an earlier version's marker"


def test_some_thousand_plans_are_looked_at() -> None:
    assert len({*drawn()}) > 3_000


@pytest.mark.parametrize("thing", THINGS)
def test_each_occurs(thing: str) -> None:
    assert counted()[thing] >= LEAST
