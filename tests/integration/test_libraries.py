"""Every example of the documentation with the real libraries, read back with plain ones."""

from __future__ import annotations

import concurrent.futures
import contextlib
import gzip
import io
import multiprocessing
import os
import pickle
import subprocess
import sys
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
import dask.dataframe as dd
import duckdb
import fsspec
import joblib
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from dask.base import compute
from dask.delayed import delayed
from upath import UPath

import fsspec_commit as fc
from fsspec_commit.testing import assert_committed, assert_no_leftovers
from tests.integration.library_workers import write, write_or_die

if TYPE_CHECKING:
    from collections.abc import Callable

FRAME = pd.DataFrame(
    {"id": range(100), "day": [f"2026-11-{20 + i % 3}" for i in range(100)], "x": 0.5}
)
POLARS = pl.DataFrame(FRAME)
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)
DAYS = ["day=2026-11-20", "day=2026-11-21", "day=2026-11-22"]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def in_task(out: Path, write: Callable[[fc.Task], object], **options: Any) -> fc.CommitResult:
    """Run one writer in one task, and check what stands there when the job is committed."""
    with fc.Job(out, **options) as job, job.task() as task:
        write(task)
        assert not [name for name in files_in(out) if not name.startswith("_")]
    assert job.result is not None
    assert sorted(job.result.files) == [name for name in files_in(out) if not name.startswith("_")]
    assert_committed(str(out), file_count=job.result.file_count)
    assert_no_leftovers(str(out))
    return job.result


def files_in(out: Path) -> list[str]:
    return sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())


def only_file(out: Path) -> Path:
    (name,) = [name for name in files_in(out) if not name.startswith("_")]
    return out / name


def frame_at(out: Path) -> pd.DataFrame:
    """All rows, as pandas itself reads the directory."""
    frame = pd.read_parquet(out, columns=["id", "x"]).sort_values("id", ignore_index=True)
    days = pd.read_parquet(out).sort_values("id", ignore_index=True)["day"]
    return frame.assign(day=days.astype(FRAME["day"].dtype))[FRAME.columns.tolist()]


def check_rows(out: Path, expected: pd.DataFrame = FRAME) -> None:
    pd.testing.assert_frame_equal(frame_at(out), expected, check_dtype=False)


# -- pandas --------------------------------------------------------------------------------------


def test_plain_files(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with task.open("notes.txt", "w") as file:
            file.write("hello")

    in_task(out, write)
    assert only_file(out).read_text() == "hello"


def test_pandas_to_parquet(out: Path) -> None:
    in_task(out, lambda task: FRAME.to_parquet("part.parquet", filesystem=task.filesystem))
    check_rows(out)


def test_pandas_to_parquet_with_partitions(out: Path) -> None:
    result = in_task(
        out,
        lambda task: FRAME.to_parquet(".", partition_cols=["day"], filesystem=task.filesystem),
    )
    assert list(result.partitions) == DAYS
    check_rows(out)


def test_pandas_to_csv_compressed(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with task.open("part.csv.gz", "w", compression="gzip") as file:
            FRAME.to_csv(file, index=False)

    in_task(out, write)
    path = only_file(out)
    assert path.name.endswith(".csv.gz")
    assert gzip.decompress(path.read_bytes()).startswith(b"id,day,x\n0,")
    pd.testing.assert_frame_equal(pd.read_csv(path), FRAME, check_dtype=False)


def test_other_pandas_writers(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with task.open("part.json", "w") as text:
            FRAME.to_json(text, orient="records", lines=True)
        with task.open("part.pkl") as binary:
            FRAME.to_pickle(binary)
        with task.open("part.csv.xz", "w", compression="infer") as text:
            FRAME.to_csv(text, index=False)
        with task.open("part.feather") as binary:
            FRAME.to_feather(binary)

    in_task(out, write)
    by_kind = {path.suffixes[-1]: path for path in out.glob("part*")}
    pd.testing.assert_frame_equal(
        pd.read_json(by_kind[".json"], lines=True), FRAME, check_dtype=False
    )
    pd.testing.assert_frame_equal(pd.read_pickle(by_kind[".pkl"]), FRAME)
    pd.testing.assert_frame_equal(pd.read_feather(by_kind[".feather"]), FRAME)
    pd.testing.assert_frame_equal(pd.read_csv(by_kind[".xz"]), FRAME, check_dtype=False)


def test_an_error_in_the_middle_of_a_pandas_writer(out: Path) -> None:
    class Bad:
        def __str__(self) -> str:
            raise LookupError("boom")

    frame = pd.DataFrame({"a": [*range(10_000), Bad()]})

    def write(task: fc.Task) -> None:
        with task.open("part.csv", "w") as file:
            frame.to_csv(file)

    with pytest.raises(LookupError, match="boom"):
        in_task(out, write)
    assert files_in(out) == []


# -- polars --------------------------------------------------------------------------------------


def test_polars_write_parquet(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with task.open("pl.parquet") as file:
            POLARS.write_parquet(file)

    in_task(out, write)
    assert pl.read_parquet(only_file(out)).equals(POLARS)


def test_polars_sink_parquet(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with task.open("pl.parquet") as file:
            POLARS.lazy().sink_parquet(file)

    in_task(out, write)
    assert pl.read_parquet(only_file(out)).equals(POLARS)


def test_polars_write_csv(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with task.open("pl.csv") as file:
            POLARS.write_csv(file)

    in_task(out, write)
    assert pl.read_csv(only_file(out)).equals(POLARS)


@pytest.mark.filterwarnings("ignore:.*unstable")
def test_polars_sink_partitioned(out: Path) -> None:
    def write(task: fc.Task) -> None:
        # polars flushes the files and lets go of them, but never closes one.
        with contextlib.ExitStack() as files:

            def provide(a: Any) -> Any:
                directory = fc.hive_path(**a.partition_keys.row(0, named=True))
                name = f"{directory}/{a.index_in_partition}.parquet"
                return files.enter_context(task.open(name))

            POLARS.lazy().sink_parquet(
                pl.PartitionBy("", key="day", include_key=False, file_path_provider=provide)
            )

    result = in_task(out, write)
    assert list(result.partitions) == DAYS
    found = pl.scan_parquet(out / "**/*.parquet", hive_partitioning=True).sort("id").collect()
    assert found.with_columns(pl.col("day").cast(pl.String)).select(POLARS.columns).equals(POLARS)


# -- DuckDB --------------------------------------------------------------------------------------


def with_duckdb(task: fc.Task, *statements: str) -> None:
    con = duckdb.connect()
    con.register("t", TABLE)
    con.register_filesystem(task.filesystem)
    for statement in statements:
        con.execute(statement)
    con.unregister_filesystem(task.filesystem.protocol)
    con.close()


def test_duckdb_copy(out: Path) -> None:
    in_task(
        out, lambda task: with_duckdb(task, f"COPY t TO '{task.url('t.parquet')}' (FORMAT parquet)")
    )
    check_rows(out)


def test_duckdb_copy_csv(out: Path) -> None:
    in_task(out, lambda task: with_duckdb(task, f"COPY t TO '{task.url('t.csv')}' (FORMAT csv)"))
    pd.testing.assert_frame_equal(pd.read_csv(only_file(out)), FRAME, check_dtype=False)


def test_duckdb_copy_partitioned(out: Path) -> None:
    result = in_task(
        out,
        lambda task: with_duckdb(
            task,
            f"COPY t TO '{task.url()}' "
            "(FORMAT parquet, PARTITION_BY (day), FILENAME_PATTERN 'part-{i}')",
        ),
    )
    assert list(result.partitions) == DAYS
    check_rows(out)


def test_duckdb_copy_twice_to_one_name_says_what_to_do(out: Path) -> None:
    def write(task: fc.Task) -> None:
        copy = f"COPY t TO '{task.url('t.parquet')}' (FORMAT parquet)"
        with_duckdb(task, copy, copy)

    with pytest.raises(Exception, match=r"write-once.*USE_TMP_FILE false"):
        in_task(out, write)
    assert files_in(out) == []


def test_duckdb_copy_twice_without_a_temporary_file_replaces(out: Path) -> None:
    def write(task: fc.Task) -> None:
        copy = f"TO '{task.url('t.parquet')}' (FORMAT parquet, USE_TMP_FILE false)"
        with_duckdb(task, f"COPY (FROM t LIMIT 3) {copy}", f"COPY t {copy}")

    in_task(out, write)
    check_rows(out)


# -- pyarrow, through the filesystem -------------------------------------------------------------


@pytest.mark.parametrize("base", [".", ""])
def test_pyarrow_write_dataset(base: str, out: Path) -> None:
    result = in_task(
        out,
        lambda task: ds.write_dataset(
            TABLE,
            base or task.url(),
            format="parquet",
            partitioning=["day"],
            partitioning_flavor="hive",
            filesystem=task.filesystem,
        ),
    )
    assert list(result.partitions) == DAYS
    check_rows(out)


def test_pyarrow_write_to_dataset(out: Path) -> None:
    result = in_task(
        out,
        lambda task: pq.write_to_dataset(
            TABLE, ".", partition_cols=["day"], filesystem=task.filesystem
        ),
    )
    assert list(result.partitions) == DAYS
    check_rows(out)


def test_pyarrow_parquet_writer(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with pq.ParquetWriter("part.parquet", TABLE.schema, filesystem=task.filesystem) as writer:
            writer.write_table(TABLE.slice(0, 40))
            writer.write_table(TABLE.slice(40))

    in_task(out, write)
    check_rows(out)


def test_pyarrow_write_table(out: Path) -> None:
    in_task(out, lambda task: pq.write_table(TABLE, "a/part.parquet", filesystem=task.filesystem))
    check_rows(out)


def test_pyarrow_csv_writer(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with (
            task.open("part.csv") as file,
            pa.csv.CSVWriter(file, TABLE.schema) as writer,
        ):
            writer.write_table(TABLE)

    in_task(out, write)
    pd.testing.assert_frame_equal(pd.read_csv(only_file(out)), FRAME, check_dtype=False)


def test_a_file_that_parquet_writer_closes_after_an_error_is_dropped_with_the_task(
    out: Path,
) -> None:
    def write(task: fc.Task) -> None:
        with pq.ParquetWriter("part.parquet", TABLE.schema, filesystem=task.filesystem) as writer:
            writer.write_table(TABLE)
            raise LookupError("boom")

    with pytest.raises(LookupError, match="boom"):
        in_task(out, write)
    assert files_in(out) == []


# -- files that cannot be streamed ---------------------------------------------------------------


def test_a_local_file_is_put(out: Path, tmp_path: Path) -> None:
    local = tmp_path / "book.zip"
    pd.DataFrame({"a": [1]}).to_csv(local, compression={"method": "zip", "archive_name": "a.csv"})

    def write(task: fc.Task) -> None:
        task.filesystem.put_file(str(local), "book.zip")
        task.filesystem.put(str(local), "again/book.zip")
        task.filesystem.pipe_file("piped.bin", b"123")

    result = in_task(out, write)
    assert result.file_count == 3
    assert next(out.glob("book*.zip")).read_bytes() == local.read_bytes()
    assert next(out.glob("again/book*.zip")).read_bytes() == local.read_bytes()
    assert next(out.glob("piped*.bin")).read_bytes() == b"123"


def test_what_a_task_cannot_do(out: Path) -> None:
    with fc.Job(out) as job, job.task() as task:
        with task.open("a.bin") as file:
            file.write(b"1")
        assert task.filesystem.ls("", detail=False) == ["a.bin"]
        for verb, arguments in (
            ("mv", ["a.bin", "b.bin"]),
            ("cp_file", ["a.bin", "b.bin"]),
            ("cat_file", ["a.bin"]),
            ("open", ["a.bin", "rb"]),
            ("open", ["a.bin", "ab"]),
        ):
            with pytest.raises(io.UnsupportedOperation, match="write-once"):
                getattr(task.filesystem, verb)(*arguments)
        task.filesystem.rm("a.bin")
        with task.open("b.bin") as file:
            file.write(b"2")
    assert [path.read_bytes() for path in out.glob("*.bin")] == [b"2"]


# -- Dask ----------------------------------------------------------------------------------------


def frames_of(frame: pd.DataFrame, npartitions: int) -> Any:
    from_pandas: Any = dd.from_pandas
    return from_pandas(frame, npartitions=npartitions)


def test_dask_to_parquet_with_threads(out: Path) -> None:
    frames = frames_of(FRAME, npartitions=4)

    def write(task: fc.Task) -> None:
        with dask.config.set(scheduler="threads"):
            frames.to_parquet(".", filesystem=task.filesystem, write_index=False)

    assert in_task(out, write).file_count == 4
    check_rows(out)


def test_dask_to_parquet_with_processes_is_refused(out: Path) -> None:
    frames = frames_of(FRAME, npartitions=4)

    def write(task: fc.Task) -> None:
        with dask.config.set(scheduler="processes"):
            frames.to_parquet(".", filesystem=task.filesystem, write_index=False)

    with pytest.raises(TypeError, match="cannot be pickled"):
        in_task(out, write)
    assert files_in(out) == []


# -- other processes: spec out, message back -----------------------------------------------------

FRAMES = [FRAME[i::3].reset_index(drop=True) for i in range(3)]


def by_pool(method: str) -> Callable[[fc.JobSpec], list[fc.TaskCommit]]:
    def run(spec: fc.JobSpec) -> list[fc.TaskCommit]:
        context = multiprocessing.get_context(method)
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
            return list(pool.map(write, repeat(spec), range(len(FRAMES)), FRAMES))

    return run


def by_multiprocessing(spec: fc.JobSpec) -> list[fc.TaskCommit]:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        messages = pool.starmap(write, zip(repeat(spec), range(len(FRAMES)), FRAMES, strict=False))
        pool.close()
        pool.join()
    return messages


def by_joblib(spec: fc.JobSpec) -> list[fc.TaskCommit]:
    found = joblib.Parallel(n_jobs=2)(
        joblib.delayed(write)(spec, i, frame) for i, frame in enumerate(FRAMES)
    )
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
    return list(found)


def by_dask(scheduler: str) -> Callable[[fc.JobSpec], list[fc.TaskCommit]]:
    def run(spec: fc.JobSpec) -> list[fc.TaskCommit]:
        frames = frames_of(FRAME, npartitions=3).to_delayed()
        tasks = [delayed(write, pure=False)(spec, i, part) for i, part in enumerate(frames)]
        run_all: Any = compute
        with dask.config.set({"scheduler": scheduler, "multiprocessing.context": "spawn"}):
            return list(run_all(*tasks))

    return run


def by_threads(spec: fc.JobSpec) -> list[fc.TaskCommit]:
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return list(pool.map(write, repeat(spec), range(len(FRAMES)), FRAMES))


ELSEWHERE = {
    "concurrent.futures, spawn": by_pool("spawn"),
    "concurrent.futures, fork": by_pool("fork"),
    "multiprocessing": by_multiprocessing,
    "joblib": by_joblib,
    "dask, processes": by_dask("processes"),
    "dask, threads": by_dask("threads"),
    "threads": by_threads,
}


# Python 3.12 warns of fork in a process with threads; that it works here is what is tested.
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("engine", ELSEWHERE)
def test_workers_elsewhere(engine: str, out: Path) -> None:
    with fc.Job(out, mode="append", tasks=len(FRAMES)) as job:
        messages = ELSEWHERE[engine](job.spec)
        result = job.commit(messages)
    assert result.file_count == 3
    check_rows(out)
    assert_committed(str(out), file_count=3)
    assert_no_leftovers(str(out))


def test_a_worker_that_dies_is_run_again(out: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with fc.Job(out, tasks=3) as job:
        messages: dict[int, fc.TaskCommit] = {}
        while len(messages) < 3:
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
                try:
                    for i in sorted({0, 1, 2} - messages.keys()):
                        messages[i] = pool.submit(write_or_die, job.spec, i, FRAMES[i]).result()
                except concurrent.futures.process.BrokenProcessPool:
                    assert Path(out).with_name("died").exists()
        result = job.commit(messages.values())
    assert result.file_count == 3
    check_rows(out)
    assert_no_leftovers(str(out))


def test_a_missing_message_is_named(out: Path) -> None:
    with (
        pytest.raises(fc.RequestError, match=r"1 of 3 tasks ha\w+ no message: 1"),
        fc.Job(out, tasks=3) as job,
    ):
        job.commit([write(job.spec, i, FRAMES[i]) for i in (0, 2)])
    assert [name for name in files_in(out) if not name.startswith("_")] == []


def test_slurm(out: Path, tmp_path: Path) -> None:
    spec = fc.Job(out, mode="append", tasks=3, collect="store").start().spec
    spec_file = tmp_path / "spec.json"
    spec_file.write_text(spec.to_json())
    root = Path(__file__).parents[2]
    said = []
    # Task 1 runs twice: the scheduler thought that it was lost.
    for number in ("0", "1", "2", "1"):
        done = subprocess.run(
            [sys.executable, "-m", "tests.integration.library_workers", str(spec_file)],
            env={
                **os.environ,
                "SLURM_ARRAY_TASK_ID": number,
                "PYTHONPATH": os.pathsep.join([str(root), *filter(None, sys.path)]),
            },
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(done.stdout.strip())
    assert said == ["True", "True", "True", "False"]
    result = fc.Job.from_spec(fc.JobSpec.from_json(spec_file.read_text())).commit()
    assert result.file_count == 3
    assert sorted(pd.read_parquet(out)["id"]) == [0, 1, 2]
    assert_no_leftovers(str(out))


def test_a_task_sent_to_a_process_is_refused(out: Path) -> None:
    with fc.Job(out, allow_empty=True) as job, job.task() as task:
        for thing in (job, task, task.filesystem):
            with pytest.raises(TypeError, match=r"send job\.spec"):
                pickle.dumps(thing)
        assert pickle.loads(pickle.dumps(job.spec)) == job.spec
        with concurrent.futures.ProcessPoolExecutor(
            1, mp_context=multiprocessing.get_context("spawn")
        ) as pool:
            sent = pool.submit(FRAME.to_parquet, "part.parquet", filesystem=task.filesystem)
            with pytest.raises(TypeError, match=r"send job\.spec"):
                sent.result()


# -- where ---------------------------------------------------------------------------------------


def test_a_universal_path(out: Path) -> None:
    with fc.Job(UPath(out)) as job, job.task() as task:
        FRAME.to_parquet("part.parquet", filesystem=task.filesystem)
    check_rows(out)
    assert fc.write_dataset(TABLE, UPath(out.as_uri()), mode="overwrite").replaced_count == 1
    check_rows(out)


@pytest.mark.parametrize("kind", ["file", "local", "dir"])
def test_a_filesystem_of_the_caller(kind: str, out: Path) -> None:
    plain = fsspec.filesystem("file" if kind == "dir" else kind, auto_mkdir=True)
    options = dict(plain.storage_options)
    destination = str(out)
    if kind == "dir":
        plain = fsspec.filesystem("dir", path=str(out.parent), fs=plain)
        destination = out.name
    fc.write_dataset(TABLE, destination, filesystem=plain)
    check_rows(out)
    if kind != "dir":
        assert plain.storage_options == options
    assert plain.ls(destination)


def test_a_filesystem_of_pyarrow_is_refused(out: Path) -> None:
    with pytest.raises(fc.UnknownProtocolError, match="takes an fsspec filesystem"):
        fc.write_dataset(TABLE, out, filesystem=pa.fs.LocalFileSystem())


def test_memory(out: Path) -> None:
    url = f"memory://libraries-{os.getpid()}/{out.parent.name}"
    with fc.Job(url) as job, job.task() as task:
        FRAME.to_parquet("part.parquet", filesystem=task.filesystem)
        with task.open("pl.parquet") as file:
            POLARS.write_parquet(file)
    assert job.result is not None
    for name in job.result.files:
        pd.testing.assert_frame_equal(pd.read_parquet(f"{url}/{name}"), FRAME)
    fsspec.filesystem("memory").rm(url, recursive=True)


def test_jobs_inside_one_another(out: Path) -> None:
    with fc.Job(out, mode="append") as outer, outer.task() as first:
        with fc.Job(out, mode="append") as inner, inner.task() as second:
            FRAME[:50].to_parquet("part.parquet", filesystem=second.filesystem)
        FRAME[50:].to_parquet("part.parquet", filesystem=first.filesystem)
    check_rows(out)
