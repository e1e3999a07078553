"""Where things are: every path of a destination lies inside it, and its records apart from data."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fsspec_commit.errors import RequestError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.names import Partition, Target, target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.layout import JobLayout

JOB = "20261120T140355-9c1e5f00a1b2c3d4"
ATTEMPT = "0123456789abcdef"
NONCE = Nonce("0123456789abcdef" * 2)
ENDED = datetime(2026, 11, 20, 14, 3, 55, tzinfo=UTC)
ROOTS = st.sampled_from(["/data/out", "bucket/out", "/", "", "/a/_commit", "/a b/é"]).map(StorePath)


def paths_of_a_job(job: JobLayout) -> Iterator[StorePath]:
    yield from (job.spec, job.claim(NONCE), job.replaced(NONCE), job.decision, job.published)
    yield from (job.prepared_success(NONCE), job.chosen(3), job.trash("a/b"), job.trash("x" * 300))
    attempt = job.attempt(3, ATTEMPT)
    yield from (attempt.working_directory, attempt.committed_directory, attempt.manifest)
    yield attempt.working_file(Target("day=1/a.parquet"))
    yield attempt.working_file(Target("é" * 120))
    yield job.chosen_list(NONCE)
    yield from (job.uploads, attempt.upload_record(NONCE))


@given(ROOTS)
def test_everything_of_a_job_is_in_its_area(root: StorePath) -> None:
    destination = DestinationLayout(root)
    job = destination.job(JOB)
    assert job.area == f"{destination.areas}/{JOB}"
    for path in paths_of_a_job(job):
        assert path.startswith(f"{job.area}/")
        assert not {"..", ".", ""} & set(path[len(job.area) + 1 :].split("/"))
    assert len(set(paths_of_a_job(job))) == len(list(paths_of_a_job(job)))


@given(ROOTS)
def test_what_belongs_to_no_job_is_in_the_destination(root: StorePath) -> None:
    destination = DestinationLayout(root)
    beginning = root if root.endswith("/") else f"{root}/"
    assert destination.areas == f"{beginning}_commit"
    assert destination.success == f"{beginning}_SUCCESS"
    assert destination.epoch(NONCE) == f"{beginning}_commit/epoch-{NONCE}"
    assert destination.probe(NONCE) == f"{beginning}_commit/probe-{NONCE}"
    deleted = destination.deleted(ENDED, NONCE)
    assert deleted == f"{beginning}_commit/deleted-20261120T140355-{NONCE}"
    assert destination.deleted_mark(deleted, "0123") == f"{deleted}/0123"
    assert destination.done("ab") == f"{beginning}_commit/done/ab"
    assert destination.final(target("a/b")) == f"{beginning}a/b"
    assert destination.relative(destination.final(target("a/b"))) == "a/b"
    assert destination.directory(Partition("")) == root
    assert destination.directory(Partition("day=1")) == f"{beginning}day=1"


@given(ROOTS)
def test_listed_children_of_the_areas_are_told_apart(root: StorePath) -> None:
    destination = DestinationLayout(root)
    kinds = {
        "epoch": destination.epoch(NONCE),
        "gone": destination.gone(NONCE),
        "probe": destination.probe(NONCE),
        "deleted": destination.deleted(ENDED, NONCE),
        "deleted once": StorePath(f"{destination.areas}/deleted-20261399T140355-{NONCE}"),
        "job": destination.job(JOB).area,
        "done": StorePath(f"{destination.areas}/done"),
        "stranger": StorePath(f"{destination.areas}/notes.txt"),
    }
    assert [kind for kind, path in kinds.items() if destination.is_epoch(path)] == ["epoch"]
    assert [kind for kind, path in kinds.items() if destination.is_gone(path)] == ["gone"]
    ends = {kind: destination.deleted_at(path) for kind, path in kinds.items()}
    assert {kind: ended for kind, ended in ends.items() if ended} == {"deleted": ENDED}
    elsewhere = StorePath(f"{destination.deleted(ENDED, NONCE)}/x")
    assert destination.deleted_at(elsewhere) is None
    assert [kind for kind, path in kinds.items() if destination.is_probe(path)] == ["probe"]
    assert [kind for kind, path in kinds.items() if destination.job_of(path)] == ["job"]
    below = {kind: StorePath(f"{path}/file") for kind, path in kinds.items()}
    assert [kind for kind, path in below.items() if destination.is_in_probe(path)] == ["probe"]


@pytest.mark.parametrize(
    ("root", "whole"),
    [("/", True), ("", True), ("bucket", True), ("bucket/out", False), ("/data", False)],
)
def test_a_whole_disk_or_bucket_is_known_by_its_root(root: str, whole: bool) -> None:
    assert DestinationLayout(StorePath(root)).is_whole_store is whole


@pytest.mark.parametrize("kind", ["epoch", "gone", "probe"])
@pytest.mark.parametrize(
    "path",
    [
        "/elsewhere/_commit/{kind}-{nonce}",
        "/data/out/_commit/{kind}-x/../../../etc",
        "/data/out/_commit/{kind}-{nonce}/below",
        "/data/out/_commit/{kind}-{nonce}\n",
        "/data/out/_commit/{kind}-",
        "/data/out/{kind}-{nonce}",
    ],
)
def test_nothing_else_passes_for_what_may_be_deleted(kind: str, path: str) -> None:
    destination = DestinationLayout(StorePath("/data/out"))
    odd = StorePath(path.format(kind=kind, nonce=NONCE))
    assert not destination.is_epoch(odd)
    assert not destination.is_gone(odd)
    assert not destination.is_probe(odd)


@pytest.mark.parametrize(
    "job_id",
    [
        "",
        "..",
        "9c1e",
        f"{JOB}/..",
        f"{JOB}\n",
        f"../{JOB}",
        JOB.upper(),
        "20261320T140355-9c1e5f00a1b2c3d4",
        "99999999T999999-9c1e5f00a1b2c3d4",
        "\u0662\u0660\u0662\u06661120T140355-9c1e5f00a1b2c3d4",
    ],
)
def test_no_path_is_made_from_what_is_no_job_id(job_id: str) -> None:
    destination = DestinationLayout(StorePath("/data/out"))
    with pytest.raises(RequestError) as caught:
        destination.job(job_id)
    assert caught.value.kind == "invalid_job_id"
    assert destination.job_of(StorePath(f"/data/out/_commit/{job_id}")) is None


@pytest.mark.parametrize(
    ("task_id", "attempt_id"),
    [(-1, ATTEMPT), (0, ""), (0, ".."), (0, f"{ATTEMPT}/.."), (0, ATTEMPT.upper()), (0, "0" * 15)],
)
def test_no_path_is_made_from_what_is_no_attempt(task_id: int, attempt_id: str) -> None:
    with pytest.raises(RequestError) as caught:
        DestinationLayout(StorePath("/data/out")).job(JOB).attempt(task_id, attempt_id)
    assert caught.value.kind == "invalid_attempt_id"


@given(st.text(max_size=80))
def test_a_claims_nonce_is_read_from_claims_only(name: str) -> None:
    job = DestinationLayout(StorePath("/data/out")).job(JOB)
    assert job.claim_nonce(job.claim(NONCE)) == NONCE
    assert job.claim_nonce(StorePath(f"{job.area}/{name}")) in {None, name.removeprefix("claim-")}
    assert job.claim_nonce(job.replaced(NONCE)) is None


@given(st.text(min_size=1, max_size=600), st.text(min_size=1, max_size=600))
@example(".", "..")
def test_trash_names_encode_the_path(one: str, other: str) -> None:
    job = DestinationLayout(StorePath("/data/out")).job(JOB)
    try:
        paths = [job.trash(name) for name in (one, other)]
    except UnicodeEncodeError:
        return
    assert (paths[0] == paths[1]) == (one == other)
    for path in paths:
        directory, _, name = path.rpartition("/")
        assert directory == f"{job.area}/trash"
        assert 0 < len(name) <= 255
        assert name not in {".", ".."}


@given(ROOTS)
def test_records_of_uploads_are_told_from_all_else(root: StorePath) -> None:
    job = DestinationLayout(root).job(JOB)
    attempt = job.attempt(3, ATTEMPT)
    records = {attempt.upload_record(NONCE), job.prepared_success(NONCE)}
    found = {path for path in paths_of_a_job(job) if job.is_upload_record(path)}
    assert found == records
    assert attempt.upload_record(NONCE).startswith(f"{attempt.uploads}/")
    other = DestinationLayout(root).job("20261120T140355-0000000000000000")
    assert not any(map(other.is_upload_record, records))


@pytest.mark.parametrize(
    ("root", "bucket", "key"),
    [("b/out", "b", "out/d/a"), ("b", "b", "d/a"), ("/data/out", "", "data/out/d/a")],
)
def test_a_path_is_a_key_of_a_bucket(root: str, bucket: str, key: str) -> None:
    destination = DestinationLayout(StorePath(root))
    assert destination.object_name(destination.final(target("d/a"))) == (bucket, key)


def test_who_has_recorded_an_upload() -> None:
    job = DestinationLayout(StorePath("bucket/out")).job(JOB)
    attempt = job.attempt(3, ATTEMPT)
    assert job.attempt_recorded_by(attempt.upload_record(NONCE)) == ATTEMPT
    for path in (job.prepared_success(NONCE), attempt.manifest, StorePath(f"{job.uploads}/3/x/y")):
        assert job.attempt_recorded_by(path) is None
