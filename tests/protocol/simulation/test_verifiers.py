"""Somebody asks `verify` while jobs come, go, and die: all that it says was so at some moment."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.protocol import verify
from fsspec_commit.testing.simulation import (
    FAMILIES,
    AttemptPlan,
    FaultAt,
    HelperPlan,
    JobPlan,
    Plan,
    ReaderPlan,
    draw,
    readers,
    run,
    search,
    settling,
)
from fsspec_commit.testing.simulation.world import World
from tests.protocol.simulation.seeds import parts, seeds_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsspec_commit.destination import OpenDestination
    from fsspec_commit.protocol.clean import CleanReport
    from fsspec_commit.protocol.verify import Comparison

WHEN_ALL_IS_OVER = Plan(
    family="gcs",
    jobs=(JobPlan(name="a", mode="append", files=(("a.txt", "day=1/a.txt", "day=2/a.txt"),)),),
    readers=(ReaderPlan(at_s=60.0, verifies=True),),
)
BY_DAY = 6
BY_NIGHT = 1_000


@pytest.fixture(params=parts(2))
def seeds(request: pytest.FixtureRequest) -> range:
    return seeds_of(request, by_day=BY_DAY, by_night=BY_NIGHT)


@pytest.mark.parametrize("varied", [False, True], ids=["plain", "varied"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda name: name.replace("hdfs", "dfs"))
def test_p1_p2_what_verify_says_is_so(family: str, seeds: range, *, varied: bool) -> None:
    failed = search(seeds, family=family, varied=varied, verified=True)
    assert failed is None, failed


@pytest.mark.parametrize("family", FAMILIES, ids=lambda name: name.replace("hdfs", "dfs"))
def test_who_verifies_often_is_told_of_jobs_that_are_over_and_of_one_that_has_died(
    family: str,
) -> None:
    """The first has left its names; the second dies when all is in place, and leaves none."""
    files = (("a.txt", "day=1/a.txt", "day=2/a.txt"),)
    resumer = HelperPlan(kind="resumer", at_s=15.0)
    plan = Plan(
        family=family,
        jobs=(
            JobPlan(name="a", mode="append", files=files, success="json"),
            JobPlan(
                name="b", mode="append", files=files, at_s=20.0, then="leave", helpers=(resumer,)
            ),
        ),
        readers=(ReaderPlan(at_s=0.0, count=80, every_s=0.5, verifies=True),),
        faults=(FaultAt("b.driver", 6, "crash_before", verb="create"),),
    )
    found = run(plan)
    assert not found.violations, found
    text = "\n".join(found.trace.lines())
    compared = re.findall(r"told that (\d of \d) files are as jobs wrote them", text)
    assert [*dict.fromkeys(compared)] == ["0 of 0", "3 of 3", "3 of 6", "0 of 6"]
    shown = re.findall(r"told of (\d) things to settle", text)
    assert [*dict.fromkeys(shown)] == ["0", "1"]
    assert shown[-1] == "0"


def test_half_of_those_that_are_drawn_are_told_of_files() -> None:
    """Of such as jobs have written down: the others ask before that, or when all jobs are over."""
    runs = [run(draw(seed, varied=True, verified=True)) for seed in range(20)]
    told = ["\n".join(one.trace.lines()) for one in runs]
    assert sum(re.search(r"told that [1-9]\d* of", text) is not None for text in told) >= 10


LIES: dict[str, tuple[str, Callable[[Comparison], Comparison]]] = {
    "a file too many": ("P1 P2", lambda told: replace(told, file_count=told.file_count + 1)),
    "a file too few": ("P1 P2", lambda told: replace(told, file_count=told.file_count - 1)),
    "compared too many": ("P1 P2", lambda told: replace(told, checked_count=4)),
    "one is missing": ("P1 P2", lambda told: replace(told, missing=["a.txt: of job x"])),
    "one is changed": ("P1 P2", lambda told: replace(told, changed=["a.txt: it has 1 bytes"])),
    "all are changed": ("P1 P2", lambda told: replace(told, changed=["the 3 files have 1 bytes"])),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_comparison_that_was_never_so_is_noticed(
    lie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    promise, lies = LIES[lie]

    async def compare(*given: Any) -> Comparison:
        return lies(await verify.compare(*given))

    monkeypatch.setattr(readers, "compare", compare)
    told = run(WHEN_ALL_IS_OVER).violations
    assert len(told) == 1
    assert told[0].startswith(f"{promise}: reader0 ")


@pytest.mark.parametrize(
    ("promise", "what"), [("P7", "committed but not finished, resume it"), ("P8", "damaged, it is")]
)
def test_a_job_that_is_shown_and_was_never_so_is_noticed(
    promise: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids: list[str] = []

    async def cleaned(*given: Any, **how: Any) -> CleanReport:
        report = await settling.cleaned(*given, **how)
        return replace(report, shown=(f"{ids[0]}: {what}",))

    def begun(world: World, job_id: str, plan: JobPlan) -> None:
        ids.append(job_id)
        real(world, job_id, plan)

    real = World.begun
    monkeypatch.setattr(World, "begun", begun)
    monkeypatch.setattr(readers, "cleaned", cleaned)
    told = run(WHEN_ALL_IS_OVER).violations
    assert len(told) == 1
    assert told[0].startswith(f"{promise}: reader0 ")


def test_a_reader_that_changes_anything_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def cleaned(to: OpenDestination, older_than_s: float, **_: bool) -> CleanReport:
        return await settling.cleaned(to, older_than_s)

    monkeypatch.setattr(readers, "cleaned", cleaned)
    job = JobPlan(name="a", mode="append", attempts=(AttemptPlan(task=0, at_s=20.0),))
    found = run(Plan(family="gcs", jobs=(job,), readers=(ReaderPlan(at_s=10.0, verifies=True),)))
    assert found.violations[0].startswith("P10: reader0 has changed ")
