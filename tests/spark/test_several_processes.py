"""Driver processes that end one after the other, and others that are named: what the jar does."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.acted_process import ABORT, JOB_ID, RESUME, JobOfNoTasks
from tests.spark.conftest import PYTHON

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.spark.acted_process import ActedProcess


def test_a_decision_is_kept_when_a_second_process_ends(
    committing: SparkSession, acted: Callable[..., ActedProcess], tmp_path: Path
) -> None:
    process = acted({"commit": ["decide", "end"]}, {"attach": ["end"]}, {"commit": ["answer"]})
    JobOfNoTasks(committing, tmp_path / "out").commit()
    first, second, third = process.asked()
    assert [one["do"] for one in first] == ["start", "commit"]
    assert [one["is_decided"] for one in (second[0], third[0])] == [True, True]
    assert [one["do"] for one in third] == ["attach", "commit"]


@pytest.mark.parametrize(
    ("acts", "sentence"),
    [
        (["decide", "end"], f"is decided, .* delete nothing, and finish it with: {RESUME}$"),
        (["end"], f"may be decided: delete nothing, and finish it with: {RESUME}; .* {ABORT}$"),
    ],
)
def test_a_job_whose_processes_all_end_is_told_with_its_commands(
    committing: SparkSession,
    acted: Callable[..., ActedProcess],
    tmp_path: Path,
    acts: list[str],
    sentence: str,
) -> None:
    acted({"commit": acts}, {"commit": ["end"]}, {"commit": ["end"]}, *[{"attach": ["end"]}] * 3)
    write = JobOfNoTasks(committing, tmp_path / "out")
    with pytest.raises(Exception, match=f"job {JOB_ID} to file:.* is left behind") as raised:
        write.commit()
    assert re.search(sentence, str(raised.value))
    write.abort()  # As Spark does. It raises nothing.


def test_one_that_could_not_attach_is_asked_to_attach_again(
    committing: SparkSession, acted: Callable[..., ActedProcess], tmp_path: Path
) -> None:
    process = acted({"commit": ["end"]}, {"attach": ["refuse", "end"]})
    write = JobOfNoTasks(committing, tmp_path / "out")
    with pytest.raises(Exception, match=r"is left behind .the store is away for a moment"):
        write.commit()
    write.abort()
    assert [one["do"] for one in process.asked()[-1]] == ["attach", "abort"]


def test_an_interrupt_does_not_keep_another_process_from_aborting(
    committing: SparkSession, acted: Callable[..., ActedProcess], tmp_path: Path
) -> None:
    """Spark interrupts the thread of a query that is stopped, and asks for the abort in it."""
    process = acted({"abort": ["end"]})
    write = JobOfNoTasks(committing, tmp_path / "out")
    jvm = committing.sparkContext._jvm
    assert jvm is not None
    thread = jvm.java.lang.Thread
    thread.currentThread().interrupt()
    write.abort()
    assert thread.interrupted()
    assert [one["do"] for one in process.asked()[-1]] == ["attach", "abort"]


def test_another_python_is_named_by_another_context(
    committing: SparkSession, acted: Callable[..., ActedProcess], tmp_path: Path
) -> None:
    """In one JVM: a notebook stops its session, and begins one with another setting."""
    committing.range(1).write.parquet(str(tmp_path / "real"))
    process = acted()
    write = JobOfNoTasks(committing, tmp_path / "out")
    write.commit()
    assert [one["do"] for one in process.asked()[0]] == ["start", "commit"]


@pytest.mark.parametrize("said", ["hello", "{}"])
def test_a_python_that_prints_first(
    committing: SparkSession, started_with: Any, tmp_path: Path, said: str
) -> None:
    """A wrapper, or a module that is imported by itself."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho '{said}'\nexec {sys.executable} \"$@\"\n")
    python.chmod(0o755)
    started_with.set(PYTHON, str(python))
    committing.range(3).write.parquet(str(tmp_path / "out"))
    assert committing.read.parquet(str(tmp_path / "out")).count() == 3


def test_a_setting_for_the_driver_that_is_empty(
    committing: SparkSession, started_with: Any, tmp_path: Path
) -> None:
    started_with.set("spark.pyspark.driver.python", "")
    try:
        committing.range(3).write.parquet(str(tmp_path / "out"))
    finally:
        started_with.remove("spark.pyspark.driver.python")
    assert committing.read.parquet(str(tmp_path / "out")).count() == 3


def test_digits_are_those_of_names_in_every_language(
    committing: SparkSession, tmp_path: Path
) -> None:
    jvm = committing.sparkContext._jvm
    assert jvm is not None
    before = jvm.java.util.Locale.getDefault()
    jvm.java.util.Locale.setDefault(jvm.java.util.Locale("ar", "EG"))
    try:
        committing.range(3).write.parquet(str(tmp_path / "out"))
    finally:
        jvm.java.util.Locale.setDefault(before)
    assert committing.read.parquet(str(tmp_path / "out")).count() == 3
