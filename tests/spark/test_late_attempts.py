"""Task attempts that go on when their job is over."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.spark.attempts import Attempts

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def seen(out: Path) -> list[str]:
    return sorted(path.read_text() for path in out.glob("part-*"))


@pytest.mark.parametrize("is_committed", [True, False], ids=["committed", "aborted"])
def test_an_attempt_that_is_late_changes_nothing(
    committing: SparkSession, tmp_path: Path, *, is_committed: bool
) -> None:
    out = tmp_path / "out"
    attempts = Attempts(committing, str(out))
    late, good, later = (attempts.begun(number) for number in range(3))
    begun = attempts.opened(late)
    begun.write_text("late")
    attempts.opened(good).write_text("good")
    message = good[0].commitTask(good[1])
    if is_committed:
        attempts.commit(message)
    else:
        attempts.protocol.abortJob(attempts.job)
    expected = ["good"] * is_committed
    assert seen(out) == expected
    assert fc.jobs(str(out)) == []

    # One was in the midst of it, the other had opened nothing so far.
    begun.parent.mkdir(parents=True, exist_ok=True)
    begun.write_text("late, and longer")
    with pytest.raises(Exception, match="is over, and this attempt at task 0 is late"):
        late[0].commitTask(late[1])
    late[0].abortTask(late[1])
    with pytest.raises(Exception, match="is over, and this attempt at task 0 is late"):
        attempts.opened(later)
    later[0].abortTask(later[1])
    assert seen(out) == expected
    assert not list(out.rglob("*.pending"))
    # To Spark a directory is a destination that exists, be it empty.
    assert out.exists() == is_committed

    # Of one whose process is killed something stays; it reports to a driver that is done.
    attempts.protocol.onTaskCommit(message)
    begun.parent.mkdir(parents=True, exist_ok=True)
    begun.write_text("killed")
    committing.range(1, numPartitions=1).selectExpr("'next' AS value").write.mode("append").text(
        str(out)
    )
    assert seen(out) == [*expected, "next\n"]
    fc.clean(str(out), older_than=timedelta(0), dry_run=False)
    assert not list(out.rglob("*.pending"))
    assert seen(out) == [*expected, "next\n"]
