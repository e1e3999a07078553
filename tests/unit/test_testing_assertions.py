"""What `assert_committed` and `assert_no_leftovers` accept and refuse, on every kind of URL."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import fsspec
import pytest

import fsspec_commit as fc
from fsspec_commit.testing import assert_committed, assert_no_leftovers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
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
