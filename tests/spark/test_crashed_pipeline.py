"""The example of docs/testing.md that crashes the driver of a Spark job, as it stands there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.testing import crash_points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from fsspec_commit.testing import Fault
    from fsspec_commit.testing.sweeps import Sweep

pytestmark = pytest.mark.checkout

PAGE = (Path(__file__).parents[2] / "docs/testing.md").read_text("utf-8")
TEST = "test_a_driver_that_crashes_loses_nothing"


def saved(name: str, directory: Path) -> None:
    """A file that the page shows, as its reader would save it."""
    block = re.search(rf"^```python\n(# {name}\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert block is not None
    (directory / name).write_text(block[1], "utf-8")


# Each case is two jobs of Spark's: others are tried each night.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")
@pytest.mark.parametrize("every", [4])
def test_the_example_works(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sweep: Sweep
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    tried: list[Fault] = []

    def some(run: Callable[[], object]) -> Iterator[Fault]:
        for fault in sweep(crash_points(run)):
            tried.append(fault)
            yield fault

    for name in ("test_pipeline.py", "test_spark_pipeline.py"):
        saved(name, tmp_path)
    page: Any = __import__("test_spark_pipeline")
    try:
        monkeypatch.setattr(page, "crash_points", some)
        getattr(page, TEST)(tmp_path / "out")
    finally:
        for name in ("test_pipeline", "test_spark_pipeline"):
            del sys.modules[name]
    assert tried
    assert spark.range(1).count() == 1, "the session goes on"
