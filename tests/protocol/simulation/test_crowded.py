"""Jobs in each other's way, at the same time, where somebody else answers listings of their areas.

What is drawn elsewhere has two or three jobs that seldom meet, and stores that say the truth. Here
single requests take long, so that jobs end while others look at them; an area may be listed without
``job.json``, or as empty, though it holds that; and some stores never say what stood at one moment.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, get_args

import pytest

from fsspec_commit.records.job import Mode
from fsspec_commit.testing.simulation import (
    FAMILIES,
    CleanerPlan,
    FaultAt,
    HelperPlan,
    JobPlan,
    Plan,
    run,
)
from fsspec_commit.testing.simulation.plan import HelperKind, Policy
from fsspec_commit.testing.simulation.process import Process
from fsspec_commit.testing.simulation.store import SimulatedStore
from tests.protocol.planted.bugs import BUGS
from tests.protocol.simulation.scenes import UUID
from tests.protocol.simulation.seeds import parts, seeds_of

if TYPE_CHECKING:
    from fsspec_commit.layout import StorePath
    from fsspec_commit.testing.simulation import Run
    from fsspec_commit.testing.simulation.process import FaultKind

BY_DAY, BY_NIGHT = 300, 3_000
WAYS: tuple[FaultKind, ...] = (
    "halt", "halt_after", "crash_before", "crash_after", "hang", "applied_late",
    "error_but_applied", "interrupt",
)  # fmt: skip
VERBS = (
    "create", "list_children", "list_tree", "read", "stat", "rename", "complete", "delete",
)  # fmt: skip
CAUGHT = (
    "takes a listing for the end of a job",
    "counts a renewed look beside one that ended",
    "looks at no area that was not listed first",
)
"""Planted bugs that the first runs here catch, and those that are drawn elsewhere hardly do."""


class Surroundings:
    """What is drawn of the store of one run, and what happens to its requests."""

    def __init__(self, seed: int) -> None:
        self._random = random = Random(f"surroundings {seed}")
        self._slow = random.choice((0.0, 0.1, 0.25, 0.5))
        self._false = random.choice((0.0, 0.05, 0.2, 0.5))
        self._never_at_once = not random.randrange(5)

    def plant(self, patch: pytest.MonkeyPatch) -> None:
        """Have it so in the simulator."""
        travels, opens = Process._travel_s, SimulatedStore.__init__
        at_once, in_order = SimulatedStore.list_at_once, SimulatedStore.list_in_order

        def travel_s(process: Process) -> float:
            return travels(process) + self._waits_s()

        def opened(store: SimulatedStore, *args: Any, **named: Any) -> None:
            opens(store, *args, **named)
            if self._never_at_once:
                store.at_once = None  # type: ignore[assignment]  # as where a store is none

        async def list_at_once(store: SimulatedStore, path: StorePath) -> Any:
            shown = await at_once(store, path)
            if not shown or path.endswith("/_commit") or not self._is_false():
                return shown
            return [one for one in shown if self._is_left(one.path)]

        async def list_in_order(store: SimulatedStore, *asked: StorePath) -> Any:
            answer = await in_order(store, *asked)
            if answer is None or not self._is_false():
                return answer
            shown, is_whole = answer
            return [path for path in shown if self._is_left(path)], is_whole

        patch.setattr(Process, "_travel_s", travel_s)
        patch.setattr(SimulatedStore, "__init__", opened)
        patch.setattr(SimulatedStore, "list_at_once", list_at_once)
        patch.setattr(SimulatedStore, "list_in_order", list_in_order)

    def _waits_s(self) -> float:
        if self._random.random() >= self._slow:
            return 0.0
        return self._random.choice((0.02, 0.1, 0.1, 0.3, 0.3, 1.0, 2.5))

    def _is_false(self) -> bool:
        self._hides = self._random.choice(("", "/job.json"))
        return self._random.random() < self._false

    def _is_left(self, path: str) -> bool:
        return not path.endswith(self._hides)


def crowded(seed: int) -> Plan:
    """Two to five jobs that begin within a few seconds, and three faults at most."""
    random = Random(f"crowded {seed}")
    family = FAMILIES[random.choice(sorted(FAMILIES))]
    apart_s = random.choice((0.05, 0.3, 1.0, 4.0))

    def job(name: str) -> JobPlan:
        mode = random.choice(("append", "append", *get_args(Mode)))
        is_exact = family.keeps_names_apart and (family.takes_any_name or mode == "append")
        names = ("a.txt", "day=1/a.txt") if mode != "overwrite_partitions" else ("day=1/a.txt",)
        return JobPlan(
            name=name,
            mode=mode,
            names="exact" if is_exact and not random.randrange(7) else "unique",
            files=((random.choice(names),),),
            at_s=random.random() * apart_s,
            key=random.choice(("k", None, None)),
            helpers=tuple(
                HelperPlan(kind=random.choice(get_args(HelperKind)), at_s=random.random() * 5)
                for _ in range(random.choice((0, 0, 0, 1, 2)))
            ),
            wait_s=random.choice((0.0, 5.0, 60.0, 60.0)),
            then=random.choice(get_args(Policy)),
            success=random.choice(("marker", "json", "none")),
        )

    jobs = tuple(job(name) for name in "abcde"[: random.randint(2, 5)])
    faults = tuple(
        FaultAt(
            f"{random.choice(jobs).name}.driver",
            random.randint(1, 8),
            random.choice(WAYS),
            random.choice((0.1, 0.5, 3.0, 20.0, 60.0)),
            verb=random.choice(VERBS),
        )
        for _ in range(random.randint(0, 3))
    )
    old = (f"old-{UUID}.txt", f"day=1/old-{UUID}.txt") if random.randrange(2) else ()
    cleaners = () if random.randrange(7) else (CleanerPlan(at_s=random.random() * 5),)
    return Plan(
        family=family.name, schedule=seed, old=old, jobs=jobs, faults=faults, cleaners=cleaners
    )


def run_crowded(seed: int) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        Surroundings(seed).plant(patch)
        return run(crowded(seed))


@pytest.fixture(params=parts(4))
def seeds(request: pytest.FixtureRequest) -> range:
    return seeds_of(request, by_day=BY_DAY, by_night=BY_NIGHT)


def test_p1_to_p11_hold_among_jobs_that_meet(seeds: range) -> None:
    for seed in seeds:
        found = run_crowded(seed)
        assert not found.violations, f"seed {seed}: {found}"


@pytest.mark.unforeseen
@pytest.mark.parametrize("name", CAUGHT)
def test_bugs_that_take_such_a_store_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS[name].plant(monkeypatch)
    assert any(run_crowded(seed).violations for seed in range(100))
