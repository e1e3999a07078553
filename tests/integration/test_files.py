"""Names of every kind, and files that are left in every way."""

from __future__ import annotations

import gc
import os
import unicodedata
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

import pytest

import fsspec_commit as fc
from tests.protocol.invariants import check_settled, directories_of, raw_visible, snapshot_of

if TYPE_CHECKING:
    from pathlib import Path

NFC = unicodedata.normalize("NFC", "é.txt")
NFD = unicodedata.normalize("NFD", "é.txt")
NAMES = [
    "plain.txt",
    "with space.txt",
    " leading and trailing ",
    "100%.txt",
    "%2e%2e",
    "%41.txt",
    "a=b.txt",
    "[x]*?.txt",
    "new\nline.txt",
    "tab\tand\\backslash",
    "quotes '\".txt",
    "#hash&semi;.txt",
    "日本語.parquet",
    "no extension",
    "trailing.",
    "-dash",
    "~tilde",
    "day=a b/hour=100%25/x.txt",
    f"{NFC}/composed.txt",
    NFC,
    NFD,
]
LONGEST = ["x" * 255, "é" * 127 + "x", "d" * 255 + "/" + "f" * 251 + ".txt"]


def write(
    destination: Path, files: list[str], text: str = "data of", **options: object
) -> fc.CommitResult:
    with fc.Job(destination, **options) as job, job.task() as task:  # type: ignore[arg-type]
        for name in files:
            with task.open(name) as file:
                file.write(f"{text} {name}".encode())
    assert job.result is not None
    return job.result


def expected(names: list[str], text: str = "data of") -> dict[str, bytes]:
    return {name: f"{text} {name}".encode() for name in names}


# One name cannot be a file and a directory.
EXACT = [name for name in NAMES if name != f"{NFC}/composed.txt"] + LONGEST


def test_names_of_every_kind_exact(tmp_path: Path) -> None:
    destination = tmp_path / "out"
    result = write(destination, EXACT, mode="append", names="exact")
    assert sorted(result.files) == sorted(EXACT)
    assert raw_visible(snapshot_of(destination)) == expected(EXACT)
    # Byte for byte, not by what Python makes of names.
    assert {os.fsencode(name) for name in EXACT if "/" not in name} <= set(
        os.listdir(os.fsencode(destination))  # noqa: PTH208  # which knows no bytes
    )
    with pytest.raises(fc.DestinationExistsError):
        write(destination, EXACT[-1:], mode="append", names="exact")
    result = write(destination, EXACT, "again", mode="overwrite", names="exact")
    assert sorted(result.in_place) == sorted(EXACT)
    assert raw_visible(snapshot_of(destination)) == expected(EXACT, "again")
    write(destination, ["only.txt"], mode="overwrite", names="exact")
    check_settled(
        snapshot_of(destination), directories_of(destination), expected=expected(["only.txt"])
    )


def test_names_of_every_kind_unique(tmp_path: Path) -> None:
    destination = tmp_path / "out"
    names = [*NAMES, "day=a b/x.csv.gz"]
    first = write(destination, names, mode="append")
    second = write(destination, names, mode="append")
    shown = raw_visible(snapshot_of(destination))
    assert sorted([*first.files, *second.files]) == sorted(shown)
    assert sorted(shown.values()) == sorted(2 * list(expected(names).values()))
    assert any(name.endswith(".csv.gz") for name in shown)
    write(destination, ["only.txt"], mode="overwrite")
    assert list(raw_visible(snapshot_of(destination)).values()) == [b"data of only.txt"]


@pytest.mark.parametrize(
    "name", ["a b%[x]=\n'", NFC, NFD, "ü" * 100], ids=["odd", "composed", "decomposed", "long"]
)
def test_a_destination_of_an_odd_name(tmp_path: Path, name: str) -> None:
    destination = tmp_path / name / "out"
    write(destination, NAMES[:3], mode="append", names="exact")
    write(destination, NAMES[:3], "again", mode="overwrite", names="exact")
    check_settled(
        snapshot_of(destination), directories_of(destination), expected=expected(NAMES[:3], "again")
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("x" * 256, {"names": "exact"}),
        ("é" * 128, {"names": "exact"}),
        ("d" * 256 + "/x", {"names": "exact"}),
        ("/".join(["d" * 200] * 6), {"names": "exact"}),
        ("x" * 230 + ".txt", {"names": "unique"}),
    ],
    ids=["file", "bytes, not letters", "directory", "path", "with the job's id"],
)
def test_a_name_that_is_too_long_is_refused_at_open(
    tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    destination = tmp_path / "out"
    with fc.Job(destination, mode="append", **options) as job, job.task() as task:
        with pytest.raises(fc.RequestError) as raised:
            task.open(name)
        assert raised.value.kind == "name_too_long"
        with task.open("short.txt") as file:
            file.write(b"fits")
    assert list(raw_visible(snapshot_of(destination)).values()) == [b"fits"]


def test_an_old_file_whose_name_is_not_unicode_is_never_deleted(tmp_path: Path) -> None:
    destination = tmp_path / "out"
    destination.mkdir()
    odd = destination / os.fsdecode(b"\xff.txt")
    odd.write_bytes(b"old")
    with pytest.raises(fc.CommitError) as raised:
        write(destination, ["new.txt"], mode="overwrite")
    assert raised.value.outcome == "not_committed"
    assert odd.exists()
    assert list(snapshot_of(destination).values()) == [b"old"]


class MistakeError(Exception):
    """Somebody's own."""


def test_a_file_left_by_an_exception_is_dropped(tmp_path: Path) -> None:
    with fc.Job(tmp_path / "out", mode="append", names="exact") as job, job.task() as task:
        for compression in (None, "gzip"):
            with (
                suppress(MistakeError),
                task.open("half.txt", "w", compression=compression) as file,
            ):
                file.write("half of it")
                raise MistakeError
        with task.open("whole.txt", "w") as file:
            file.write("whole")
    check_settled(snapshot_of(tmp_path / "out"), expected={"whole.txt": b"whole"})


@pytest.mark.parametrize("mode", ["wb", "w"])
def test_a_file_that_is_garbage_is_dropped_and_not_passed_over(
    tmp_path: Path, mode: Literal["wb", "w"]
) -> None:
    with fc.Job(tmp_path / "out", mode="append", names="exact") as job:
        task = job.task()
        file = task.open("half.txt", mode)
        file.write("half of it" if mode == "w" else b"half of it")
        del file
        gc.collect()
        with pytest.raises(fc.RequestError, match="never closed it") as caught:
            task.commit()
        assert caught.value.kind == "file_abandoned"
        with task.open("half.txt", "w") as whole:
            whole.write("whole")
        task.commit()
    check_settled(snapshot_of(tmp_path / "out"), expected={"half.txt": b"whole"})


def test_a_file_closed_after_its_task_has_failed_is_dropped(tmp_path: Path) -> None:
    destination = tmp_path / "out"
    with fc.Job(destination, mode="append", names="exact") as job:
        with suppress(MistakeError), job.task() as task:
            late = task.open("late.txt", "w")
            late.write("too late")
            raise MistakeError
        late.close()
        with job.task(0) as again, again.open("whole.txt", "w") as file:
            file.write("whole")
    check_settled(
        snapshot_of(destination), directories_of(destination), expected={"whole.txt": b"whole"}
    )


@pytest.mark.parametrize("committer", ["v1", "manifest"])
def test_p2_a_task_that_was_aborted_has_no_files(
    tmp_path: Path, committer: Literal["v1", "manifest"]
) -> None:
    """Neither meanwhile nor when its job commits those of another task."""
    destination = tmp_path / "out"
    with fc.Job(destination, committer=committer, names="exact") as job:
        task = job.task(0)
        with task.open("a.txt") as file:
            file.write(b"a")
        seen = task.filesystem
        assert seen.find("") == ["a.txt"]
        task.abort()
        assert (seen.find(""), seen.exists("a.txt")) == ([], False)
        with job.task(1) as other, other.open("b.txt") as file:
            file.write(b"b")
    check_settled(snapshot_of(destination), directories_of(destination), expected={"b.txt": b"b"})


@pytest.mark.parametrize("mistake", [MistakeError, KeyboardInterrupt, SystemExit])
def test_an_exception_in_a_job_aborts_it(tmp_path: Path, mistake: type[BaseException]) -> None:
    destination = tmp_path / "out"
    write(destination, ["old.txt"], mode="append", names="exact")
    with suppress(mistake), fc.Job(destination, mode="overwrite") as job:
        with job.task() as task, task.open("new.txt") as file:
            file.write(b"new")
        open_one = job.task().open("open.txt")
        raise mistake
    open_one.close()
    check_settled(
        snapshot_of(destination), directories_of(destination), expected=expected(["old.txt"])
    )


def test_a_file_that_outlives_its_job_is_nowhere(tmp_path: Path) -> None:
    destination = tmp_path / "out"
    with fc.Job(destination, mode="append", names="exact") as job:
        spec = job.spec
        late = fc.Task.from_spec(spec, 7)
        file = late.open("late.txt")
        file.write(b"too late")
        with job.task() as task, task.open("whole.txt") as whole:
            whole.write(b"whole")
    file.write(b" by far")
    file.close()
    with pytest.raises(fc.JobNotActiveError) as raised:
        late.commit()
    assert raised.value.outcome != "not_committed"
    with pytest.raises(fc.JobNotActiveError):
        fc.Task.from_spec(spec, 8).open("later.txt")
    check_settled(
        snapshot_of(destination), directories_of(destination), expected={"whole.txt": b"whole"}
    )


BLOCKERS = {
    "a file for a directory": ("day=1", "day=1/a.txt"),
    "a file for one further down": ("day=1/hour=1", "day=1/hour=1/a.txt"),
    "a directory for a file": ("day=1/a.txt/old.txt", "day=1/a.txt"),
}


@pytest.mark.parametrize("mode", ["append", "overwrite", "overwrite_partitions"])
@pytest.mark.parametrize(("blocker", "name"), BLOCKERS.values(), ids=BLOCKERS.keys())
def test_what_is_in_the_way_is_named_and_never_removed(
    tmp_path: Path, mode: str, blocker: str, name: str
) -> None:
    """Refused before the decision where a listing shows it; else the job waits to be resumed."""
    destination = tmp_path / "out"
    path = destination / blocker
    path.parent.mkdir(parents=True)
    path.write_bytes(b"in the way")
    with pytest.raises(fc.CommitError, match=r"day=1") as raised:
        write(destination, [name], mode=mode, names="exact")
    assert path.read_bytes() == b"in the way"
    assert raised.value.outcome == ("not_committed" if not fc.jobs(destination) else "partial")
    path.unlink()
    if path.parent.name == "a.txt":
        path.parent.rmdir()
    for job in fc.jobs(destination):
        assert job.state == "decided"
        fc.resume(destination, job.job_id)
        check_settled(
            snapshot_of(destination), directories_of(destination), expected=expected([name])
        )


def test_jobs_tasks_and_questions_leave_no_descriptor_open(tmp_path: Path) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208  # names are enough

    def work() -> None:
        with fc.Job(tmp_path / "out", mode="append") as job:
            with job.task() as task, task.open("d/here.txt", "w") as file:
                file.write("here")
            with fc.Task.from_spec(job.spec, 5) as there, there.open("d/there.txt", "w") as file:
                file.write("there")
            assert there.message is not None
            job.commit([there.message])
        fc.jobs(tmp_path / "out")
        fc.Job(tmp_path / "out", mode="append").start().abort()

    work()
    before = descriptors()
    gc.disable()
    try:
        for _ in range(10):
            work()
        assert descriptors() <= before
    finally:
        gc.enable()
