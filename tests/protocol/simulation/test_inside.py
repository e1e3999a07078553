"""A destination inside another one is used for the first time while the outer one lists old files.

Listings by pages show each page, and each level of partitions, as of another moment. The outer job
stands still before each of its listings in turn, and the inner one begins and commits meanwhile.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import pytest

from fsspec_commit.testing.simulation import FAMILIES, FaultAt, JobPlan, Plan, run
from tests.protocol.planted import of_neighbours
from tests.sweeps import some_by_day

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsspec_commit.testing.sweeps import Sweep

Mode: TypeAlias = Literal["overwrite", "overwrite_partitions"]

PAGED = [name for name, family in FAMILIES.items() if family.page_entries is not None]
IN_NO_ORDER = [name for name in PAGED if not FAMILIES[name].lists_by_name]
LISTINGS_MAX = 9
"""More than the outer job begins of one kind: the last ones of a sweep stand for no pause."""
OLD = tuple(f"inner/day=1/{name}.txt" for name in "abcdef")


def plan_of(
    family: str,
    mode: Mode,
    old: int,
    nth: int,
    *,
    verb: str,
    schedule: int = 0,
) -> Plan:
    outer = JobPlan(name="a", mode=mode, files=(("inner/day=1/a.txt",),), then="abort")
    inner = JobPlan(name="n", mode="append", files=(("day=1/z.txt",),), at_s=2.0, at="out/inner")
    pause = FaultAt("a.driver", nth, "halt", 20.0, verb)
    return Plan(
        family=family, schedule=schedule, old=OLD[:old], jobs=(outer, inner), faults=(pause,)
    )


def plans(family: str) -> list[Plan]:
    """Every listing of the outer job, and how full the directory is in which the inner one goes."""
    return [
        plan_of(family, mode, old, nth, verb=verb)
        for mode, old, nth, verb in product(
            get_args(Mode),
            range(1, len(OLD) + 1),
            range(1, LISTINGS_MAX + 1),
            ("list_tree", "list_children"),
        )
    ]


def is_broken(tried: Iterable[Plan]) -> bool:
    return any(run(plan).violations for plan in tried)


@pytest.mark.parametrize("family", PAGED)
@some_by_day(20)
def test_p9_p10_what_begins_inside_during_a_listing_is_not_replaced(
    family: str, sweep: Sweep
) -> None:
    for plan in sweep(plans(family)):
        found = run(plan)
        assert not found.violations, found


@pytest.mark.parametrize("family", ["gcs", "s3"])
@pytest.mark.parametrize(
    ("plant", "plan"),
    [
        (of_neighbours.takes_pages_for_one_moment, of_neighbours.BETWEEN_PAGES),
        (of_neighbours.looks_only_into_partitions, of_neighbours.BETWEEN_LEVELS),
    ],
)
def test_without_a_look_afterwards_it_is(
    plant: object, plan: Plan, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = [
        replace(plan, family=family, faults=(replace(plan.faults[0], call=nth),))
        for nth in range(1, LISTINGS_MAX + 1)
    ]
    assert not is_broken(tried)
    assert callable(plant)
    plant(monkeypatch)
    assert is_broken(tried)


@pytest.mark.parametrize("family", IN_NO_ORDER)
def test_p9_p10_where_names_come_in_no_order_each_file_of_a_later_page_is_minded(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page may show a file of it, and one before had no place for its work area."""
    tried = [
        plan_of(family, "overwrite", 6, nth, verb="list_tree", schedule=schedule)
        for schedule, nth in product(range(10), range(1, 5))
    ]
    assert not is_broken(tried)
    of_neighbours.takes_pages_for_one_moment(monkeypatch)
    assert is_broken(tried)


def test_p9_p10_in_no_order_a_file_of_the_first_page_is_minded_as_well() -> None:
    """The place of its job's area is on the second page, when that area has gone; on the first one
    its epoch was not there yet."""
    outer = JobPlan(name="a", mode="overwrite", files=(("x/a.txt",),), then="abort", at_s=20.0)
    names = ("z0.txt", "z1.txt", "z2.txt")
    inner = JobPlan(name="n", mode="append", files=(names,), at="out/inner", success="none")
    faults = (
        FaultAt("a.driver", 4, "halt", 400.0, "list_tree"),
        FaultAt("n.driver", 5, "halt", 100.0, "create"),
    )
    found = run(Plan(family="s3-express", schedule=447494285, jobs=(outer, inner), faults=faults))
    assert not found.violations, found
    assert found.told["commit not_committed"] == 1


@pytest.mark.parametrize("declared", [(), ("day=1",)], ids=["written", "declared"])
@pytest.mark.parametrize("family", ["gcs", "disk"])
@pytest.mark.parametrize("files", [1, 2, 5])
def test_a_destination_in_a_directory_that_stays_is_nobodys_affair(
    files: int, family: str, declared: tuple[str, ...]
) -> None:
    """Readers take `day=%31` for the same value; however many pages list it."""
    names = tuple(f"{name}.txt" for name in "abcde"[:files])
    inner = JobPlan(name="n", mode="append", files=(names,), at="out/day=%31", success="none")
    new = (("day=1/a.txt",),)
    outer = JobPlan(
        name="a",
        mode="overwrite_partitions",
        files=new,
        partitions=declared,
        then="abort",
        at_s=20.0,
    )
    found = run(Plan(family=family, schedule=3, old=("day=1/o.txt",), jobs=(outer, inner)))
    assert not found.violations, found
    assert found.told["commit returned"] == 2
