"""A `clean` that looks between the two steps of a start, and removes the area much later."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsspec_commit.testing.simulation import run
from tests.protocol.planted import runs
from tests.protocol.planted.of_effects import renames_areas_that_just_begin


@pytest.mark.parametrize("family", ["disk", "dfs"])
def test_p1_p2_a_reader_sees_a_job_whose_area_was_empty(family: str) -> None:
    found = run(replace(runs.BESIDE_A_SLOW_CLEAN, family=family.replace("dfs", "hdfs")))
    assert not found.violations, found
    assert found.told["commit returned"] == 1
    assert found.visible == ("a.txt", "z.txt")


@pytest.mark.parametrize("family", ["disk", "dfs"])
def test_p8_a_job_whose_area_went_begins_under_another_id(family: str) -> None:
    plan = replace(runs.BESIDE_A_SLOW_CLEAN, family=family.replace("dfs", "hdfs"))
    found = run(replace(plan, faults=(replace(plan.faults[0], delay_s=3.0),)))
    assert not found.violations, found
    assert found.told["commit returned"] == 1
    made = [one.path for one in found.trace.events if one.what == "create"]
    begun = [path.split("/")[-2] for path in made if path.endswith("/job.json")]
    assert len(set(begun)) == len(begun) == 2


@pytest.mark.parametrize("family", ["disk", "dfs"])
def test_where_an_empty_area_is_renamed_it_is_not_seen(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is where an adapter removes no empty directories, and makes them before files."""
    renames_areas_that_just_begin(monkeypatch)
    found = run(replace(runs.BESIDE_A_SLOW_CLEAN, family=family.replace("dfs", "hdfs")))
    assert any(one.startswith("P1 P2: reader") for one in found.violations), found
