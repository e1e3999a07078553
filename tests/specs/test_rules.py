"""The rules hold in every interleaving that a model has; each weaker set of them fails there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, get_args

import pytest

from tests.specs import (
    adoption,
    emptying,
    job_over,
    late_deletes,
    look_beside,
    marker_uploads,
    markers,
    nested,
    published_by_marker,
    reader,
    reader_jobs,
    remembered_facts,
    trash,
    void_area,
)
from tests.specs.explore import search_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.specs.explore import Found

VOID_AREAS = {
    "Gen2": partial(void_area.search_if_empty, "by path", "if empty"),
    "disk": partial(void_area.search_if_empty, "by handle", "if empty, or by rename"),
    "HDFS": partial(void_area.search_if_empty, "by path", "if empty, or by rename"),
}
# Each with a number of states below which it would have explored next to nothing.
RULES: dict[str, tuple[Callable[[], Found], int]] = {
    "adoption": (adoption.search, 100),
    "emptying": (emptying.search, 1_000),
    "job over": (job_over.search, 10_000),
    "late deletes": (late_deletes.search, 1_000),
    **{
        f"look beside, {jobs}": (partial(look_beside.search, jobs), 10_000)
        for jobs in look_beside.JOBS
    },
    "marker uploads": (marker_uploads.search, 1_000),
    **{f"markers, {plan}": (partial(markers.search, plan), 100) for plan in markers.PLANS},
    **{f"nested, {plan}": (partial(nested.search, plan), 40) for plan in nested.PLANS},
    "published by marker": (published_by_marker.search, 100),
    **{f"reader, {plan}": (partial(reader.search, plan), 100) for plan in reader_jobs.PLANS},
    "remembered facts": (remembered_facts.search, 1_000),
    "trash": (trash.search, 1_000),
    "void area, by handle": (partial(void_area.search, "by handle"), 100),
    "void area, by path": (partial(void_area.search, "by path"), 100),
    "void area, beside earlier, by handle": (
        partial(void_area.search_beside_earlier, "by handle"),
        100,
    ),
    "void area, beside earlier, by path": (
        partial(void_area.search_beside_earlier, "by path"),
        100,
    ),
    **{f"void area, {store}": (search, 50) for store, search in VOID_AREAS.items()},
}
BY_NIGHT = {
    "reader, two of many",
    *(f"look beside, {jobs}" for jobs in look_beside.JOBS if jobs not in look_beside.BY_DAY),
}
WEAKENED = [
    pytest.param(partial(search, weakened), id=f"{model}: {weakened}")
    for model, search, rules in (
        ("adoption", adoption.search, adoption.Weakened),
        ("emptying", emptying.search, emptying.Weakened),
        ("job over", job_over.search, job_over.Weakened),
        ("late deletes", late_deletes.search, late_deletes.Weakened),
        (
            "look beside",
            partial(search_all, look_beside.search, look_beside.TWO_PAGES),
            look_beside.Weakened,
        ),
        (
            "look beside, lied to",
            partial(search_all, look_beside.search, look_beside.LIED_TO),
            look_beside.WeakenedIfLiedTo,
        ),
        ("marker uploads", marker_uploads.search, marker_uploads.Weakened),
        ("markers", partial(search_all, markers.search, markers.PLANS), markers.Weakened),
        ("nested, by directories", partial(nested.search, "by directories"), nested.Weakened),
        ("nested, by branches", partial(nested.search, "by branches"), nested.Weakened),
        ("nested, by pages", partial(nested.search, "by pages"), nested.Weakened),
        ("published by marker", published_by_marker.search, published_by_marker.Weakened),
        ("reader", partial(search_all, reader.search, reader_jobs.PLANS), reader.Weakened),
        ("remembered facts", remembered_facts.search, remembered_facts.Weakened),
        ("trash", trash.search, trash.Weakened),
        ("void area", partial(void_area.search, "by handle"), void_area.Weakened),
        ("void area, Gen2", VOID_AREAS["Gen2"], void_area.WeakenedIfEmpty),
        ("void area, disk", VOID_AREAS["disk"], void_area.WeakenedIfEmpty),
        ("void area, HDFS", VOID_AREAS["HDFS"], void_area.WeakenedIfEmpty),
    )
    for weakened in get_args(rules)
]


@pytest.mark.parametrize(
    "model",
    [pytest.param(model, marks=pytest.mark.slow if model in BY_NIGHT else ()) for model in RULES],
)
def test_the_rules_hold(model: str) -> None:
    search, states_min = RULES[model]
    found = search()
    assert found.problem is None, f"{found.problem}: {' | '.join(found.trace)}"
    assert found.states > states_min


@pytest.mark.parametrize("search", WEAKENED)
def test_each_weaker_rule_fails(search: Callable[[], Found]) -> None:
    found = search()
    assert found.problem is not None, f"without this rule all is well: {found.states} states"
    assert found.trace
