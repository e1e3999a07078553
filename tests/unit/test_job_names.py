"""Whose a name is, and whether anybody may use it again: what attributes uploads, and permits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from fsspec_commit.errors import RequestError
from fsspec_commit.names import (
    Target,
    is_hidden_name,
    is_never_reused,
    job_named_in,
    unique_suffix,
    uniquely_named,
)
from tests.unit.test_names import ATTEMPTS, JOB, TARGETS, TASKS

if TYPE_CHECKING:
    from fsspec_commit.ids import AttemptId

OTHER_JOB = "20261101T000000-0123456789abcdef"
A_UUID = "6a0d9b8e-5c0f-4a55-9f0e-0123456789ab"


@pytest.mark.parametrize(
    ("name", "job"),
    [
        (f"part-{JOB}-0.parquet", JOB),
        (f"d/part-{JOB}-12", JOB),
        (f"part-{JOB}-0-0123456789abcdef.csv.gz", JOB),
        (f"part-{OTHER_JOB}-0-{JOB}-3.parquet", JOB),
        (f"part-{JOB}-0.x-{OTHER_JOB}-3.parquet", OTHER_JOB),
        (f"part-{JOB}-0/a.parquet", None),
        (f"part-{JOB}.parquet", None),
        (f"part-{JOB}-x.parquet", None),
        (f"part-{JOB}-0x.parquet", None),
        (f"part{JOB}-0.parquet", None),
        ("part-20261399T000000-0123456789abcdef-0.parquet", None),
        ("_SUCCESS", None),
        ("", None),
    ],
)
def test_a_name_names_the_last_job_it_was_made_for(name: str, job: str | None) -> None:
    assert job_named_in(name) == job


@given(TARGETS, TASKS, ATTEMPTS)
def test_every_unique_name_names_its_job(
    name: Target, task: int, attempt: AttemptId | None
) -> None:
    try:
        named = uniquely_named(name, unique_suffix(JOB, task, attempt))
    except RequestError:
        return
    hidden = is_hidden_name(name.rpartition("/")[2])
    assert job_named_in(named) == (job_named_in(name) if hidden else JOB)
    assert hidden or is_never_reused(named)


@pytest.mark.parametrize(
    ("name", "never"),
    [
        (f"part-00000-{A_UUID}-c000.snappy.parquet", True),
        (f"d/{A_UUID}", True),
        (A_UUID.upper(), True),
        (f"part-{JOB}-0.parquet", True),
        (f"{A_UUID}/part.parquet", False),
        (f"id={A_UUID}/part-0.parquet", False),
        (A_UUID.replace("-", ""), False),
        (f"0{A_UUID}", False),
        (f"{A_UUID}0", False),
        (A_UUID.replace("a", "g"), False),
        ("part-0.parquet", False),
        ("_metadata", False),
        ("", False),
    ],
)
def test_a_name_that_is_never_reused_says_so_itself(name: str, never: bool) -> None:
    assert is_never_reused(name) is never
