"""Tasks that fail, or whose process dies, are run again, and each row is there once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest

import fsspec_commit as fc
from tests.spark.frames import has_no_job
from tests.spark.retrying_driver import ROWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
SCENES = ("raises", "dies", "dies-after-its-commit", "upstream")


@pytest.fixture(scope="module")
def played(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a driver of its own has left of every scene: one start of Spark for all of them."""
    place = tmp_path_factory.mktemp("retries")
    path = os.pathsep.join([str(ROOT), str(ROOT / "stores"), *sys.path])
    with (place / "log").open("wb") as log:
        done = subprocess.run(
            [sys.executable, "-m", "tests.spark.retrying_driver", str(place)],
            check=False,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1"},
            stdout=log,
            stderr=log,
            timeout=280,
        )
    assert done.returncode == 0, (place / "log").read_text()[-3_000:]
    # Every scene has happened, with either way to write.
    assert (place / "failures").read_text().count("one") == 2 * len(SCENES)
    return place


@pytest.mark.parametrize("way", ["write", "data-source"])
@pytest.mark.parametrize("scene", SCENES)
def test_each_row_is_there_once(played: Path, scene: str, way: str) -> None:
    name = f"{scene}-{way}"
    assert raised(played, name) == ""
    assert ids(played / name) == [*range(ROWS)]
    assert has_no_job(played / name)


def raised(played: Path, scene: str) -> str:
    found: str = json.loads((played / "raised.json").read_text()).get(scene, "")
    return found


def ids(place: Path) -> list[int]:
    found = ds.dataset(place, format="parquet").to_table(columns=["id"])
    return sorted(found["id"].to_pylist())


def test_abort_after_the_commit_does_nothing(played: Path) -> None:
    assert "the answer was lost" in raised(played, "unheard")
    assert ids(played / "unheard") == [*range(ROWS)]
    assert has_no_job(played / "unheard")


def test_abort_after_the_decision_leaves_it_to_resume(played: Path) -> None:
    assert "the store has gone" in raised(played, "unpublished")
    (left,) = fc.jobs(played / "unpublished")
    assert left.state == "decided"
    fc.resume(played / "unpublished", left.job_id)
    assert ids(played / "unpublished") == [*range(ROWS)]
