"""Names that a task writes twice or cannot close, through the libraries people use.

On a disk, but for what the loop, which stores of objects are behind, has to do with it.
"""

import errno
import gc
import io
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FSSpecHandler, PyFileSystem

import fsspec_commit as fc
from fsspec_commit.sync import bridge
from fsspec_commit.sync.part_sink import PART_BYTES
from fsspec_commit.testing.committer_contract.given import request_refused
from tests.flat import store as _flat  # noqa: F401  # the protocol of `flat://`
from tests.flat.bucket import AWS, make_bucket


class MistakeError(Exception):
    """Raised by the code around the library."""


def test_pandas_and_pyarrow_rewrite_by_the_same_rule(tmp_path: Path) -> None:
    table = pa.table({"a": [1]})
    with fc.Job(tmp_path / "out", mode="append", names="exact") as job:
        task = job.task()
        filesystem = PyFileSystem(FSSpecHandler(task.filesystem))
        pq.write_table(table, "a.parquet", filesystem=filesystem)
        pd.DataFrame({"a": [1]}).to_parquet("b.parquet", filesystem=task.filesystem)
        for name in ("a.parquet", "b.parquet"):
            with suppress(MistakeError), task.filesystem.open(name, "wb") as file:
                pq.write_table(pa.table({"a": [2]}), file)
                raise MistakeError
        with request_refused("file_discarded"):
            task.commit()
        pd.DataFrame({"a": [3]}).to_parquet("a.parquet", filesystem=task.filesystem)
        with request_refused("file_discarded"):
            task.commit()
        task.filesystem.rm("b.parquet")
        task.commit()
    assert pq.read_table(tmp_path / "out/a.parquet").to_pydict() == {"a": [3]}
    assert not (tmp_path / "out/b.parquet").exists()


def _full_disk(destination: Path) -> None:
    """Make the file that is open below *destination* fail to take what is buffered for it."""
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            if str(link.readlink()).startswith(f"{destination}/_commit/"):
                full = os.open("/dev/full", os.O_WRONLY)
                os.dup2(full, int(link.name))
                os.close(full)


@pytest.mark.parametrize("rewritten", [False, True])
def test_a_file_that_could_not_be_closed_stops_its_task(tmp_path: Path, rewritten: bool) -> None:
    """Also where a library keeps the error to itself, and also where it was the first writing."""
    destination = tmp_path / "out"
    with fc.Job(destination, mode="append", names="exact") as job:
        task = job.task()
        if rewritten:
            with task.open("a.txt", "w") as file:
                file.write("first")
        file = task.open("a.txt", "w")
        file.write("second")
        _full_disk(destination)
        with pytest.raises(OSError, match=r"a\.txt") as caught:
            file.close()
        assert caught.value.errno == errno.ENOSPC
        with request_refused("file_discarded"):
            task.commit()
        with task.open("a.txt", "w") as file:
            file.write("third")
        task.commit()
    assert (destination / "a.txt").read_text() == "third"


def test_a_parquet_file_cut_short_is_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pyarrow closes what it could not write, and the disk has room for that."""
    table = pa.table({"a": list(range(1 << 20))})
    destination = tmp_path / "out"
    with fc.Job(destination, mode="append", names="exact") as job:
        task = job.task()
        filesystem = PyFileSystem(FSSpecHandler(task.filesystem))
        with monkeypatch.context() as patch:
            patch.setattr(PartlyWritten, "calls", 0)
            patch.setattr("fsspec_commit_stores.local.writing.io.BufferedWriter", PartlyWritten)
            with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
                pq.write_table(table, "a.parquet", filesystem=filesystem)
        with request_refused("file_discarded"):
            task.commit()
        pq.write_table(table, "a.parquet", filesystem=filesystem)
        task.commit()
    assert pq.read_table(destination / "a.parquet") == table


class PartlyWritten(io.BufferedWriter):
    """A file on a disk that is full at the second write, and has room again at the next."""

    calls = 0

    def write(self, data: Any, /) -> int:
        PartlyWritten.calls += 1
        if PartlyWritten.calls == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(data)


def test_x_takes_a_name_again_once_it_holds_nothing(tmp_path: Path) -> None:
    with fc.Job(tmp_path / "out", mode="append", names="exact") as job, job.task() as task:
        with task.open("a.txt", "w") as file:
            file.write("first")
            with pytest.raises(FileExistsError):
                task.open("a.txt", "x")
        with pytest.raises(FileExistsError):
            task.open("a.txt", "x")
        task.filesystem.rm("a.txt")
        with suppress(MistakeError), task.open("a.txt", "x") as file:
            raise MistakeError
        with task.open("a.txt", "x") as file:
            file.write("second")
    assert (tmp_path / "out/a.txt").read_text() == "second"


def test_an_open_file_is_not_removed(tmp_path: Path) -> None:
    with fc.Job(tmp_path / "out", mode="append", names="exact") as job, job.task() as task:
        with task.open("a.txt", "w") as file:
            file.write("first")
        with task.open("a.txt", "w") as file:
            with request_refused("file_open"):
                task.filesystem.rm("a.txt")
            file.write("second")
    assert (tmp_path / "out/a.txt").read_text() == "second"


def test_what_garbage_has_left_is_no_business_of_a_forked_child(tmp_path: Path) -> None:
    """What is told to a child is not to drop it there, where its parent may be writing again."""
    with fc.Job(tmp_path / "out", mode="append", names="exact") as job, job.task() as task:
        task.open("told.txt").write(b"garbage")
        gc.collect()
        [left] = (tmp_path / "out").rglob("told.txt.pending")
        child = os.fork()
        if child == 0:
            gc.collect()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert left.exists()
        with task.open("told.txt", "w") as file:
            file.write("parent")
    assert (tmp_path / "out/told.txt").read_text() == "parent"


class Cycle:
    """Garbage that only the collector finds, with what it holds."""

    def __init__(self, held: object) -> None:
        self.held = (self, held)


@pytest.mark.filterwarnings("ignore:.*was abandoned:ResourceWarning")
@pytest.mark.parametrize("mode", ["wb", "w"])
def test_garbage_waits_for_nothing(tmp_path: Path, mode: str) -> None:
    """The collector may call in the midst of anything, of what the task itself does, too.

    Python 3.12 and later collect at any moment; here it is made to at every few allocations.
    """
    before = gc.get_threshold()
    with fc.Job(tmp_path / "out", mode="append", names="exact") as job:
        broken, fine = job.task(), job.task()
        gc.set_threshold(7, 2, 2)
        try:
            for number in range(200):
                Cycle(broken.open(f"broken-{number}", mode))  # type: ignore[arg-type]
                with fine.open(f"fine-{number % 20}", "w") as file:
                    file.write("fine")
        finally:
            gc.set_threshold(*before)
        with request_refused("file_abandoned"):
            gc.collect()
            broken.commit()
        broken.abort()
        fine.commit()
    assert len(list((tmp_path / "out").glob("fine-*"))) == 20


@pytest.mark.filterwarnings("ignore:.*was abandoned:ResourceWarning")
def test_garbage_that_the_loop_collects_is_left_to_the_task() -> None:
    """Whoever waits for the loop there waits for ever; the upload that was begun goes later."""
    bucket = make_bucket(AWS)

    async def collect() -> None:
        gc.collect()

    with fc.Job(f"flat://{bucket.name}/out", mode="append", allow_empty=True) as job:
        task = job.task()
        gc.disable()
        try:
            broken = task.open("broken.bin")
            broken.write(bytes(PART_BYTES))
            Cycle(broken)
            del broken
            assert len(bucket.uploads) == 1
            bridge.run(collect())
        finally:
            gc.enable()
        assert len(bucket.uploads) == 1
        with request_refused("file_abandoned"):
            task.commit()
        task.abort()
        assert not bucket.uploads
