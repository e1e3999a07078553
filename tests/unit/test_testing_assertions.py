"""What `assert_committed` and `assert_no_leftovers` accept and refuse, on every kind of URL."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import fsspec
import numpy as np
import pytest
from upath import UPath

import fsspec_commit as fc
from fsspec_commit.testing import assert_committed, assert_no_leftovers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

JOB = "20261120T140355-9c1e5f00a1b2c3d4"
DIGEST = "ab" * 32


@pytest.fixture(params=["memory", "path", "file"])
def destination(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "path":
        yield str(tmp_path / "out #1")
    elif request.param == "file":
        yield f"file://{tmp_path}/out"
    else:
        url = f"memory://assertions-{uuid4().hex}"
        yield url
        plain = fsspec.filesystem("memory")
        if plain.exists(url):
            plain.rm(url, recursive=True)


def put(destination: str, files: Mapping[str, bytes]) -> None:
    plain, root = fsspec.core.url_to_fs(destination)
    for name, data in files.items():
        path = f"{root}/{name}"
        plain.makedirs(path.rpartition("/")[0], exist_ok=True)
        plain.pipe_file(path, data)


DELETED = f"_commit/deleted-20261120T140355-{'0' * 32}"
GOOD = {
    "_SUCCESS": b"",
    "a.txt": b"a",
    "day=1/b.txt": b"b",
    "_hidden/c.txt": b"hidden",
    "day=1/.d.crc": b"hidden",
    f"_commit/epoch-{'0' * 32}": b"",
    f"_commit/done/{DIGEST}": b"",
    f"{DELETED}/0123456789abcdef": b"",
}


def test_a_committed_destination_is_accepted(destination: str) -> None:
    put(destination, GOOD)
    assert_committed(destination)
    assert_committed(destination, file_count=2)
    assert_no_leftovers(destination)


def test_the_count_must_be_right(destination: str) -> None:
    put(destination, GOOD)
    with pytest.raises(AssertionError, match=r"has 2 data files, not 3: 'a\.txt', 'day=1/b\.txt'"):
        assert_committed(destination, file_count=3)
    put(f"{destination}/other", {"_SUCCESS": b"", "a.txt": b"a"})
    with pytest.raises(AssertionError, match=r"has 1 data file, not 2: 'a\.txt'"):
        assert_committed(f"{destination}/other", file_count=2)


def test_the_marker_must_be_there_unless_none_was_asked_for(destination: str) -> None:
    with pytest.raises(AssertionError, match="has no _SUCCESS; there is: nothing"):
        assert_committed(destination)
    put(destination, {"a.txt": b"a"})
    with pytest.raises(AssertionError, match=r"has no _SUCCESS; there is: 'a\.txt'"):
        assert_committed(destination, file_count=1)
    assert_committed(destination, file_count=1, marker=False)
    assert_no_leftovers(destination)


@pytest.mark.parametrize(
    ("records", "state"),
    [({}, "undecided"), ({"decision": b"{}"}, "decided and not finished")],
)
def test_a_standing_job_is_refused(destination: str, records: dict[str, bytes], state: str) -> None:
    area = f"_commit/{JOB}"
    put(destination, {**GOOD, f"{area}/job.json": b"{}"})
    put(destination, {f"{area}/{name}": data for name, data in records.items()})
    with pytest.raises(AssertionError, match=rf"job {JOB} at .* is {state}"):
        assert_committed(destination)
    with pytest.raises(AssertionError, match=r"job\.json"):
        assert_no_leftovers(destination)


@pytest.mark.parametrize("area", [JOB, f"void-{JOB}-{'0' * 32}"])
def test_a_job_whose_area_is_elsewhere_is_refused_as_well(destination: str, area: str) -> None:
    """Who was about to remove it has died: `clean` puts it back, for somebody who resumes it."""
    put(destination, {**GOOD, f"_commit/{area}/job.json": b"{}", f"_commit/{area}/decision": b"{}"})
    with pytest.raises(AssertionError, match=rf"job {JOB} at .* is decided and not finished"):
        assert_committed(destination)


COMMITTED = b'{"state":"committed"}'


@pytest.mark.parametrize("decision", [COMMITTED, b"{torn", b"[]", b"\xff"])
def test_a_damaged_job_is_refused(destination: str, decision: bytes) -> None:
    """It has decided, somebody has deleted its `job.json`, and files of it may be missing."""
    records = {"decision": decision, "manifests/0/0123456789abcdef": b"{}"}
    put(destination, {**GOOD, **{f"_commit/{JOB}/{name}": one for name, one in records.items()}})
    with pytest.raises(AssertionError, match=rf"job {JOB} at .* is damaged: .* job\.json is gone"):
        assert_committed(destination)


@pytest.mark.parametrize(
    "records",
    [
        {"decision": b'{"state":"aborted"}', "manifests/0/0123456789abcdef": b"{}"},
        {"decision": COMMITTED},
        {"decision": COMMITTED, "manifests/0/0123456789abcdef": b"{}", "published": b"{}"},
    ],
)
def test_what_is_left_of_a_job_that_is_over_is_not_damaged(
    destination: str, records: dict[str, bytes]
) -> None:
    put(destination, {**GOOD, **{f"_commit/{JOB}/{name}": one for name, one in records.items()}})
    assert_committed(destination)
    with pytest.raises(AssertionError, match=JOB):
        assert_no_leftovers(destination)


def test_a_job_that_was_given_up_is_refused(destination: str) -> None:
    put(destination, {**GOOD, f"_commit/lost/{JOB}": b""})
    with pytest.raises(AssertionError, match=rf"job {JOB} at .* was given up"):
        assert_committed(destination)
    assert_no_leftovers(destination)


def test_that_a_job_stands_explains_a_missing_marker(destination: str) -> None:
    put(destination, {f"_commit/{JOB}/job.json": b"{}", f"_commit/{JOB}/decision": b"{}"})
    with pytest.raises(AssertionError, match=rf"job {JOB} at .* is decided and not finished"):
        assert_committed(destination)


@pytest.mark.parametrize("nowhere", [None, "", 5, b"out", "data/*.parquet"])
@pytest.mark.parametrize("assertion", [assert_committed, assert_no_leftovers])
def test_what_is_no_destination_is_refused(
    assertion: Callable[..., None], nowhere: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An assertion about a place where nothing can be would hold."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fc.RequestError):
        assertion(nowhere)


def test_a_store_that_nobody_knows_and_a_count_that_is_none(destination: str) -> None:
    with pytest.raises(fc.UnknownProtocolError, match="no filesystem of 'foo://x'"):
        assert_committed("foo://x")
    with pytest.raises(TypeError, match="file_count is a number of files, not '1'"):
        assert_committed(destination, file_count="1")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="file_count is a number of files, not True"):
        assert_committed(destination, file_count=True)


def test_a_count_may_be_numpys(tmp_path: Path) -> None:
    """As those that pandas and pyarrow hand out often are."""
    put(str(tmp_path), GOOD)
    assert_committed(tmp_path, file_count=np.int64(2))
    with pytest.raises(AssertionError, match="not 3"):
        assert_committed(tmp_path, file_count=np.int64(3))


def test_a_destination_is_given_as_to_a_job(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    bucket = f"assertions-{uuid4().hex}"
    put(f"memory://{bucket}/out", GOOD)
    put(str(tmp_path), GOOD)
    for destination in (tmp_path, UPath(tmp_path), UPath(f"memory://{bucket}/out")):
        assert_committed(destination, file_count=2)
        assert_no_leftovers(destination)
    assert_committed(f"{bucket}/out", file_count=2, filesystem=memory)
    assert_no_leftovers(f"{bucket}/out", filesystem=memory)
    memory.rm(f"/{bucket}", recursive=True)


@pytest.mark.parametrize(
    "left",
    [
        f"_commit/{JOB}/claim-{'0' * 32}",
        f"_commit/gone-{'0' * 32}/job.json",
        "_commit/other",
        "_commit/done/deeper/x",
    ],
)
def test_leftovers_are_refused_and_named(destination: str, left: str) -> None:
    put(destination, {**GOOD, left: b""})
    assert_committed(destination)
    with pytest.raises(AssertionError, match=left):
        assert_no_leftovers(destination)


@pytest.mark.parametrize(
    "left", [f"_commit/epoch-{'1' * 32}", f"_commit/done/{DIGEST}", f"{DELETED}/{'0' * 16}"]
)
def test_what_may_stay_must_be_empty(destination: str, left: str) -> None:
    put(destination, {**GOOD, left: b"not empty"})
    with pytest.raises(AssertionError, match=left):
        assert_no_leftovers(destination)


def test_an_empty_directory_of_a_job_is_a_leftover(destination: str) -> None:
    put(destination, GOOD)
    plain, root = fsspec.core.url_to_fs(destination)
    plain.makedirs(f"{root}/_commit/{JOB}")
    with pytest.raises(AssertionError, match=JOB):
        assert_no_leftovers(destination)


def test_a_long_list_is_cut(destination: str) -> None:
    put(destination, {f"{number:02d}.txt": b"" for number in range(30)})
    with pytest.raises(AssertionError, match=r"'19\.txt', and 10 more"):
        assert_committed(destination, file_count=1, marker=False)


def test_real_jobs_are_judged(destination: str) -> None:
    with fc.Job(destination) as job:
        with job.task() as task, task.open("a.txt") as file:
            file.write(b"a")
        with pytest.raises(AssertionError):
            assert_committed(destination)
        with pytest.raises(AssertionError, match=job.job_id):
            assert_no_leftovers(destination)
    assert_committed(destination, file_count=1)
    assert_no_leftovers(destination)
