"""A name that is created where a file was deleted: which of ours are, and where a store refuses it.

versitygw does, in a bucket that keeps versions: its marker of a deletion counts as a file there.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from itertools import count, product
from typing import TYPE_CHECKING, Self

import pytest

import fsspec_commit as fc
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, OpenOptions, registry
from fsspec_commit.testing import Crash, Fault, inject
from tests.flat.bucket import ALL_HABITS, VERSIONED, Bucket, make_bucket, remove_bucket
from tests.flat.store import FLAT, FlatStore
from tests.protocol.in_buckets import started, url, write
from tests.protocol.invariants import JOB_ID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.testing.simulation.bucket import Change

TOMBS = replace(VERSIONED, deleted_stay=True)


@pytest.fixture
def tombs() -> Iterator[Bucket]:
    """A bucket in which what was deleted stays in the way."""
    bucket = make_bucket(TOMBS)
    yield bucket
    remove_bucket(bucket)


class CreatedAgain:
    """Notes what is created where it was deleted, by names without what is unique in them."""

    def __init__(self, bucket: Bucket) -> None:
        self.found = set[str]()
        self._bucket = bucket
        self._gone = set[StorePath]()
        bucket.watch(self._note)

    def _note(self, change: Change) -> None:
        if change.after is None:
            self._gone.add(change.path)
        elif change.before is None and change.path in self._gone:
            name = change.path.removeprefix(f"{self._bucket.name}/out/")
            self.found.add(re.sub(rf"{JOB_ID}|[0-9a-f]{{16,}}", "*", name))


def run(bucket: Bucket, name: str, **options: object) -> None:
    job = started(bucket, single_writer=True, **options)
    job.commit([write(job.task(), name).commit()])


def delete(bucket: Bucket, ending: str) -> None:
    """As somebody who knows nothing of jobs."""
    for path in [path for path in bucket.objects if path.endswith(ending)]:
        bucket.delete(path, Expect.ANYTHING)


@pytest.mark.parametrize("habits", ALL_HABITS)
def test_of_our_own_only_the_marker_is_created_where_one_was_deleted(habits: str) -> None:
    """And what users call by one name again and again; nothing below `_commit/`."""
    bucket = make_bucket(ALL_HABITS[habits])
    again = CreatedAgain(bucket)
    # Where two uploads of a name would meet, jobs are refused every name that is not unique.
    keeps_names = bucket.habits.keyed_by == "upload_id"
    all_names = ["unique", "exact"] if keeps_names else ["unique"]
    for names, success in product(all_names, ["marker", "json", "none"]):
        for mode in ("append", "overwrite", "append", "overwrite_partitions"):
            run(bucket, "day=1/a.txt", mode=mode, names=names, success=success)
            delete(bucket, "/a.txt")
        if keeps_names:
            run(bucket, "_hidden.txt", names=names, success=success)
            delete(bucket, "/_hidden.txt")
    for nth in count(1):
        fault = Fault("create", nth=nth)
        with inject(fault) as fired, suppress(Crash):
            run(bucket, "b.txt", mode="overwrite", idempotency_key=str(nth))
        if not fired:
            break
        for job in fc.jobs(url(bucket)):
            finish = fc.resume if job.state in {"decided", "published"} else fc.abort
            finish(url(bucket), job.job_id)
    remove_bucket(bucket)
    assert nth > 5
    # There an earlier marker is not removed, but replaced.
    expected = {"_SUCCESS", "day=1/a.txt", "_hidden.txt"} if keeps_names else set()
    assert again.found == expected


def test_p8_there_a_second_job_would_be_decided_and_never_finished(tombs: Bucket) -> None:
    """Which is why they are refused."""
    run(tombs, "a.txt")
    with pytest.raises(fc.PartialCommitError, match="_SUCCESS"):
        run(tombs, "a.txt")
    (job,) = fc.jobs(url(tombs))
    for accept_loss in (False, True):
        with pytest.raises(fc.PartialCommitError, match="_SUCCESS"):
            fc.resume(url(tombs), job.job_id, accept_loss=accept_loss)
    # What docs/s3.md advises: a marker by hand, which stands for this one as well.
    tombs.put(StorePath(f"{tombs.name}/out/_SUCCESS"), b"", None, Expect.ANYTHING)
    assert fc.resume(url(tombs), job.job_id).file_count == 1
    assert fc.jobs(url(tombs)) == []


class Unverified(FlatStore):
    """Nobody says what its server does."""

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        store = await super().open(url, options)
        store.unverified_endpoint = store.bucket.name  # type: ignore[assignment]  # the others are verified
        store.capabilities = store.capabilities.known("declared", exclusive_create=None)
        return store


@pytest.mark.parametrize("single_writer", [False, True])
def test_p8_who_is_not_vouched_for_is_refused_before_any_work(
    tombs: Bucket, monkeypatch: pytest.MonkeyPatch, *, single_writer: bool
) -> None:
    monkeypatch.setitem(registry._registered, FLAT, Unverified)
    with pytest.raises(fc.UnsafeStoreError) as caught:
        started(tombs, single_writer=single_writer)
    assert caught.value.stage == "select"
    assert "refuses to create a file where another was deleted" in str(caught.value)
    assert "without versioning" in str(caught.value)
    selection = fc.explain(url(tombs), single_writer=single_writer)
    assert selection.committer is None
    assert selection.reasons[-1] in str(caught.value)
    report = fc.probe(url(tombs), single_writer=single_writer)
    assert report.remarks == selection.reasons
    assert report.ok, "nothing that it declares is refuted"
    assert not tombs.objects
    assert not tombs.uploads


def test_a_probe_finds_out_who_is_vouched_for(tombs: Bucket) -> None:
    report = fc.probe(url(tombs))
    assert report.differences == ("exclusive_create: declared True, observed False",)
    assert len(report.remarks) == 1
