"""Runs that have found a bug, each kept as the smallest plan that shows it."""

from __future__ import annotations

import pytest

from fsspec_commit.testing.simulation import AttemptPlan, FaultAt, JobPlan, Plan, run


@pytest.mark.xfail(
    strict=True,
    reason="a job without a marker removes that of another one, which then asks for --accept-loss",
)
@pytest.mark.parametrize("family", ["disk", "gcs"])
def test_p8_a_marker_that_another_job_has_removed_keeps_no_job_from_its_end(family: str) -> None:
    """Two appends; one dies when its marker stands, the other removes that and writes none."""
    plan = Plan(
        family=family,
        jobs=(
            JobPlan(name="a", mode="append"),
            JobPlan(
                name="b",
                mode="append",
                success="none",
                attempts=(AttemptPlan(task=0, pause_s=20),),
            ),
        ),
        faults=(FaultAt("a.driver", 6, "crash_before", verb="create"),),
    )
    found = run(plan)
    assert found.told["commit returned"] == 1
    assert not found.violations, found
