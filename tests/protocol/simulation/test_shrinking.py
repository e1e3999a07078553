"""What fails is shrunk, and printed with what repeats it: as it was drawn, and as it is shown."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

from fsspec_commit.testing import simulation
from fsspec_commit.testing.simulation import (
    FaultAt,
    JobPlan,
    Plan,
    ReaderPlan,
    Run,
    draw,
    run,
    search,
    shrink,
)
from fsspec_commit.testing.simulation.shrinking import _smaller
from tests.protocol.planted.bugs import BUGS
from tests.protocol.simulation.scenes import again


def plan_shown(failed: Run) -> Plan:
    """The plan that stands in what is printed."""
    found = re.search(r"^plan = (.*)$", str(failed), re.MULTILINE)
    assert found is not None
    plan = eval(found[1], vars(simulation).copy())
    assert isinstance(plan, Plan)
    return plan


@pytest.mark.parametrize(
    ("family", "varied", "sliced"),
    [("gcs", False, False), ("s3", True, False), (None, False, True)],
)
def test_a_run_that_is_found_says_what_repeats_it(
    family: str | None, monkeypatch: pytest.MonkeyPatch, *, varied: bool, sliced: bool
) -> None:
    BUGS["leaves the old files"].plant(monkeypatch)
    failed = search(range(60), family=family, varied=varied, sliced=sliced)
    assert failed is not None
    assert run(plan_shown(failed)).violations == failed.violations
    found = re.fullmatch(r"draw\((\d+)(?:, .*)?\)", failed.drawn_by)
    assert found is not None
    plan = draw(int(found[1]), family=family, varied=varied, sliced=sliced)
    whole = run(plan)
    assert whole.violations
    # The bug is planted in this process: so what the command says is run here.
    *_, said = str(failed).splitlines()
    python, option, program = shlex.split(said.partition(": ")[2])
    assert (python, option) == ("python", "-c")
    printed: list[object] = []
    exec(program, {"print": printed.append})
    assert [str(one) for one in printed] == [str(whole)]


def test_what_repeats_a_run_is_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of its own, where the bug is not planted, the same plan is well."""
    with monkeypatch.context() as patch:
        BUGS["leaves the old files"].plant(patch)
        failed = search(range(60), family="gcs", varied=True)
    assert failed is not None
    command = str(failed).splitlines()[-1].partition(": ")[2]
    done = subprocess.run(
        [sys.executable, *shlex.split(command)[1:]], capture_output=True, text=True, check=True
    )
    plan = eval(failed.drawn_by, vars(simulation).copy())
    assert done.stdout.startswith("nothing was wrong\n")
    assert done.stdout.endswith(f"plan = {plan!r}\n")


def failing(plan: Plan) -> Run:
    return next(found for found in map(run, again(plan, 50)) if found.violations)


def test_readers_who_are_not_needed_go(monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS["leaves the old files"].plant(monkeypatch)
    plan = Plan(
        family="gcs",
        old=("old.txt",),
        jobs=(JobPlan(name="a", mode="overwrite"),),
        readers=(ReaderPlan(at_s=0.0), ReaderPlan(at_s=1.0, count=3)),
        faults=(FaultAt("reader1", 2, "halt", 0.3),),
    )
    smallest = shrink(failing(plan))
    assert smallest.violations
    assert smallest.plan.readers == ()
    assert smallest.plan.faults == ()
    assert smallest.plan.old == plan.old


def test_the_reader_who_shows_it_stays_with_its_own_faults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second one is called as the first was when that is gone, and so are its faults."""
    BUGS["shows new files too early"].plant(monkeypatch)
    reader, late = ReaderPlan(at_s=0.006, count=40), ReaderPlan(at_s=9_000.0)
    plan = Plan(
        family="gcs",
        jobs=(JobPlan(name="a", mode="append"),),
        readers=(late, reader, late),
        faults=(FaultAt("reader1", 1, "halt", 0.001), FaultAt("reader2", 1, "error")),
    )
    smallest = shrink(failing(plan))
    assert smallest.violations
    assert smallest.plan.readers == (reader,)
    assert {one.actor for one in smallest.plan.faults} <= {"reader0"}
    (fewer,) = (one for one in _smaller(plan) if one.readers == (reader, late))
    assert [one.actor for one in fewer.faults] == ["reader0", "reader1"]


def test_what_a_job_does_not_need_goes_though_something_else_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The partition that is cleared is the bug; keys, markers, and clocks are not."""
    BUGS["leaves the old files"].plant(monkeypatch)
    job = JobPlan(
        name="a",
        mode="overwrite_partitions",
        files=(("day=1/a.txt",),),
        partitions=("day=2",),
        key="k",
        success="json",
        skew_s=1.0,
        keeps=True,
    )
    smallest = shrink(failing(Plan(family="gcs", old=("day=2/old.txt",), jobs=(job,))))
    (left,) = smallest.plan.jobs
    assert left == JobPlan(name="a", mode=job.mode, files=job.files, partitions=job.partitions)
