"""Files that a task has written and that are not shown when it commits: none is left out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.scenes.remotes import on
from tests.servers.faults import AnswerOfAnother, Rule
from tests.spark.attempts import Attempts
from tests.spark.places import close_filesystem, hadoop_settings, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.scenes.remotes import Remote
    from tests.servers.proxy import FaultProxy
    from tests.spark.places import SparkPlace

INGRESS = AnswerOfAnother(404, b"<html>404 page not found</html>")


@pytest.fixture
def place(
    committing: SparkSession, spark_jars: str, remote: Remote, proxy: FaultProxy
) -> Iterator[SparkPlace]:
    """Behind a proxy, in whose listings of Hadoop two objects are a page."""
    place = place_of(remote, endpoint_url=proxy.endpoint_url)
    with hadoop_settings(committing, {**place.settings, "fs.s3a.paging.maximum": "2"}):
        yield place
        proxy.clear()
        close_filesystem(committing, place.url)


@pytest.mark.guarantees("P1")
@on("versitygw", "gen2")
def test_who_answers_in_the_place_of_a_store_makes_no_task_empty(
    committing: SparkSession, place: SparkPlace, proxy: FaultProxy
) -> None:
    """An ingress whose store restarts says "404" to everything."""
    attempts = Attempts(committing, place.url)
    attempt = attempts.begun(0)
    attempts.write(attempts.named(attempt), b"row\n")
    # Of Gen2 the record of the job is still seen before the listing.
    away = Rule(INGRESS, times=None, nth=2 if place.remote.name == "gen2" else 1)
    proxy.add(away)
    with pytest.raises(Exception, match="is not shown"):
        attempt[0].commitTask(attempt[1])
    assert away.met
    proxy.clear()
    attempts.commit(attempt[0].commitTask(attempt[1]))
    assert [row.value for row in committing.read.text(place.url).collect()] == ["row"]


@pytest.mark.guarantees("P1")
@on("versitygw")
def test_a_listing_of_records_that_breaks_off_is_not_the_whole(
    committing: SparkSession, place: SparkPlace, proxy: FaultProxy
) -> None:
    attempts = Attempts(committing, place.url)
    attempt = attempts.begun(0)
    for number in range(3):
        attempts.write(attempts.named(attempt, f"-{number}.txt"), b"row\n")
    away = proxy.add(Rule(INGRESS, operation="ListObjectsV2", nth=2))
    with pytest.raises(Exception, match=r"cannot see what task 0 has written"):
        attempt[0].commitTask(attempt[1])
    assert away.met
    attempts.commit(attempt[0].commitTask(attempt[1]))
    assert committing.read.text(place.url).count() == 3


@pytest.mark.slow
@on("versitygw")
def test_what_is_no_record_of_an_upload_is_named(
    committing: SparkSession, place: SparkPlace
) -> None:
    attempts = Attempts(committing, place.url)
    attempt = attempts.begun(0)
    file = attempts.named(attempt)
    attempts.write(file, b"row\n")
    bucket = place.remote.bucket
    record = f"{file.removeprefix('s3a://')}.pending"
    whole = bucket.read(record)
    good = json.loads(whole)
    others = (
        b"",
        whole[:-9],
        whole + whole,
        json.dumps(good | {"length": None}).encode(),
        json.dumps(good | {"etags": [{}]}).encode(),
    )
    for other in others:
        bucket.write(record, other)
        with pytest.raises(Exception, match=r"\.txt\.pending cannot be read"):
            attempt[0].commitTask(attempt[1])
    bucket.write(record, whole)
    attempts.commit(attempt[0].commitTask(attempt[1]))
    assert committing.read.text(place.url).count() == 1


@pytest.mark.guarantees("P1")
def test_a_file_that_somebody_removes_is_not_left_out(
    committing: SparkSession, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    attempts = Attempts(committing, str(out))
    attempt = attempts.begun(0)
    for number in range(2):
        attempts.opened(attempt, f"-{number}.txt").write_text("row\n")
    [removed] = out.rglob("*-1.txt.pending")
    removed.rename(tmp_path / "removed")
    with pytest.raises(Exception, match=r"-1\.txt\.pending, which is not shown"):
        attempt[0].commitTask(attempt[1])
    (tmp_path / "removed").rename(removed)
    attempts.commit(attempt[0].commitTask(attempt[1]))
    assert committing.read.text(str(out)).count() == 2


def test_a_file_without_rows_may_never_be_opened(committing: SparkSession, tmp_path: Path) -> None:
    attempts = Attempts(committing, str(tmp_path / "out"))
    attempt = attempts.begun(0)
    attempts.named(attempt)
    message = attempt[0].commitTask(attempt[1])
    assert json.loads(message.obj())["files"] == []
    attempts.commit(message)
    assert [path.name for path in (tmp_path / "out").glob("[!_.]*")] == []
