"""Mistakes that users make while a job is at work, beside those by which it does not begin."""

from __future__ import annotations

import datetime as dt
import io
from concurrent.futures import Future
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds

import fsspec_commit as fc
from tests.integration.mistakes import (
    COMMITTERS,
    DESTINATIONS,
    OPTIONS,
    TABLE,
    Mistake,
    a_dataset,
    a_file,
    in_a_job,
    in_a_task,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = [
    Mistake(
        "an absolute name",
        in_a_task(lambda task: task.open("/tmp/a")),
        ("cannot write '/tmp/a'", "relative to the destination", "leave the destination's own"),
        "outside_destination",
    ),
    Mistake(
        "a name that is bytes",
        in_a_task(lambda task: task.open(b"a")),  # type: ignore[arg-type]
        ("a file is named by a text", "relative to the destination", "not by b'a'"),
        "invalid_name",
    ),
    Mistake(
        "a path that is none, to the filesystem",
        in_a_task(lambda task: task.filesystem.rm(None)),
        ("a file is named by a text", "relative to the destination", "not by None"),
        "invalid_name",
    ),
    Mistake(
        "a name of the protocol's",
        in_a_task(lambda task: task.open("_commit/a")),
        ("cannot write '_commit/a'", "kept for the commit protocol", "choose another name"),
        "reserved_name",
    ),
    Mistake(
        "an encoding there is not",
        a_file(mode="w", encoding="utf-99"),
        ("cannot open 'a.txt' so", "unknown encoding: utf-99"),
    ),
    Mistake(
        "a line end there is not",
        a_file(mode="w", newline="x"),
        ("cannot open 'a.txt' so", "newline"),
    ),
    Mistake(
        "a compression there is not",
        a_file(compression="snapy"),
        ("compression='snapy' is none of", "gzip", "zstd"),
    ),
    Mistake("a mode that is no mode", a_file(mode=5), ("mode=5", "'wb' and 'xb' for bytes")),
    Mistake(
        "text for bytes",
        in_a_task(lambda task: task.open("a").write("x")),
        ("'a' is open for bytes", "this is text", "mode='w'"),
        None,
        TypeError,
    ),
    Mistake(
        "bytes for text",
        in_a_task(lambda task: task.open("a", "w").write(b"x")),
        ("'a' is open for text", "this is bytes", "mode='wb'"),
        None,
        TypeError,
    ),
    Mistake(
        "a file for the system",
        in_a_task(lambda task: task.open("a").fileno()),
        ("fileno: files of a task are write-once", "task.local_file('a')"),
        None,
        io.UnsupportedOperation,
    ),
    Mistake(
        "no bytes at all",
        in_a_task(lambda task: task.open("a").write(None)),
        ("cannot write NoneType to 'a'", "bytes are wanted"),
        None,
        TypeError,
    ),
]


def _tasks_from_1_on(out: str) -> None:
    with fc.Job(out, tasks=2, allow_empty=True) as job:
        for number in (1, 2):
            with job.task(number):
                pass


class _Lazy:
    """A frame of Dask, as far as it is looked at."""

    def __iter__(self) -> Iterator[str]:
        """Over the names of its columns."""
        return iter(["day"])

    def compute(self) -> None:
        """What takes its time."""


TASKS = [
    Mistake(
        "a task's number as text",
        in_a_job(lambda job: job.task("3")),  # type: ignore[arg-type]
        ("a task id is a number from 0 on", "not '3'"),
        "invalid_task_id",
    ),
    Mistake(
        "a job for its spec",
        in_a_job(lambda job: fc.Task.from_spec(job, 0)),  # type: ignore[arg-type]
        ("from_spec takes the spec of a job", "not Job", "send job.spec"),
        "not_a_spec",
    ),
    Mistake(
        "a task of a job's own making",
        in_a_job(lambda job: fc.Task(job, 0)),  # type: ignore[arg-type]
        ("a task is begun by job.task()", "Task.from_spec(job.spec, task_id)", "not by", "of Job"),
        None,
        TypeError,
    ),
    Mistake(
        "an attempt of no id",
        in_a_job(lambda job: job.adopt(0, "first", [])),
        ("not an attempt (16 hex digits)", "task 0, 'first'"),
        "invalid_attempt_id",
    ),
    Mistake(
        "a result before the job",
        lambda out: fc.Job(out).result,
        ("the job has not started", '"with Job(...)"', "start()"),
        None,
        RuntimeError,
    ),
    Mistake(
        "a spec's text for the spec",
        in_a_job(lambda job: fc.Job.from_spec(job.spec.to_json())),  # type: ignore[arg-type]
        ("from_spec takes the spec of a job", "not str", "JobSpec.from_json(text)"),
        "not_a_spec",
    ),
    Mistake(
        "a spec's bytes",
        lambda _: fc.JobSpec.from_json(b"{}"),  # type: ignore[arg-type]
        ("a spec is read from the text", "to_json()", "not from bytes"),
        "not_a_spec",
    ),
    Mistake(
        "a message's bytes",
        lambda _: fc.TaskCommit.from_json(b"{}"),  # type: ignore[arg-type]
        ("a message is read from the text", "to_json()", "not from bytes"),
        "not_a_message",
    ),
    Mistake(
        "messages that are a number",
        in_a_job(lambda job: job.commit(5)),  # type: ignore[arg-type]
        ("cannot commit job", "a list of what tasks returned", "not int"),
        "not_a_message",
    ),
    Mistake(
        "a message that is none",
        in_a_job(lambda job: job.commit(["x"])),  # type: ignore[list-item]
        ("cannot commit job", "'x' is no TaskCommit", "must return task.message"),
        "not_a_message",
    ),
    Mistake(
        "a message's text for the message",
        in_a_job(lambda job: job.commit([job.spec.to_json()])),  # type: ignore[list-item]
        ("is no TaskCommit", "TaskCommit.from_json(text) reads one"),
        "not_a_message",
    ),
    Mistake(
        "a future for what it will give",
        in_a_job(lambda job: job.commit([Future()])),  # type: ignore[list-item]
        ("is no TaskCommit", "pass what its .result() returns"),
        "not_a_message",
    ),
    Mistake(
        "a task for its message",
        in_a_job(lambda job: job.commit([fc.Task.from_spec(job.spec, 0)])),  # type: ignore[list-item]
        ("is no TaskCommit", "pass its .message"),
        "not_a_message",
    ),
    Mistake(
        "tasks numbered from 1 on",
        _tasks_from_1_on,
        ("1 of 2 tasks have no message: 0", "task 2 has one", "numbered 0 to 1"),
        "missing_tasks",
    ),
    Mistake(
        "a job that has not started",
        lambda out: fc.Job(out).commit(),
        ("the job has not started", '"with Job(...)"', "start()"),
        None,
        RuntimeError,
    ),
    Mistake(
        "a job used twice",
        in_a_job(lambda job: job.start()),
        ("a job is used once", "make a new Job"),
        None,
        RuntimeError,
    ),
]

OPERATIONS = [
    Mistake(
        "a job that has no name",
        lambda out: fc.resume(out, None),  # type: ignore[arg-type]
        ("None is not a job id", "one looks like"),
        "invalid_job_id",
    ),
    Mistake(
        "a job that is abbreviated",
        lambda out: fc.abort(out, "9c1e"),
        ("'9c1e' is not a job id", "one looks like"),
        "invalid_job_id",
    ),
    Mistake(
        "a job for its id",
        in_a_job(lambda job: fc.abort(job.destination, job)),  # type: ignore[arg-type]
        ("is not a job id", "pass its .job_id"),
        "invalid_job_id",
    ),
    Mistake(
        "an age that is a number",
        lambda out: fc.clean(out, older_than=7),  # type: ignore[arg-type]
        ("older_than=7 is no age", "timedelta(days=7)"),
    ),
    Mistake(
        "an age of the future",
        lambda out: fc.clean(out, older_than=dt.timedelta(days=-1)),
        ("older_than=", "is no age", "timedelta(days=7)"),
    ),
    Mistake(
        "one damaged job for a list",
        lambda out: fc.clean(out, damaged="9c1e"),
        ("damaged is a list of job ids", "write ['9c1e']"),
    ),
    Mistake("no age", fc.clean, ("say which jobs", "older_than=timedelta(…)", "damaged=[…]")),
]

DATASETS = [
    Mistake(
        "the destination before the data",
        lambda out: fc.write_dataset(out, TABLE),
        ("cannot write an object of type str", "a pyarrow table", "the data comes first"),
        "not_arrow_data",
    ),
    Mistake(
        "a path for the data",
        lambda out: fc.write_dataset("in.parquet", out),
        ("cannot write an object of type str", "pyarrow.dataset.dataset(path) reads files"),
        "not_arrow_data",
    ),
    Mistake(
        "a frame of Dask",
        lambda out: fc.write_dataset(_Lazy(), out),
        ("cannot write an object of type", "still to be computed", ".compute()"),
        "not_arrow_data",
    ),
    Mistake(
        "a dict",
        lambda out: fc.write_dataset({"a": [1]}, out),
        ("cannot write an object of type dict", "give a pyarrow table", "pyarrow.table()"),
        "not_arrow_data",
    ),
    Mistake(
        "a list of rows",
        lambda out: fc.write_dataset([{"a": 1}], out),
        ("needs schema=", "before the first batch", "from_pylist()"),
        "missing_schema",
    ),
    Mistake(
        "a list of tables",
        lambda out: fc.write_dataset([TABLE], out),
        ("type list is taken for an iterable of batches", "needs schema=", "concat_tables()"),
        "missing_schema",
    ),
    Mistake(
        "a list of tables, with their schema",
        lambda out: fc.write_dataset([TABLE], out, schema=TABLE.schema),
        (
            "an iterable gives batches",
            "has given an object of type pyarrow.lib.Table",
            "concat_tables()",
        ),
        "not_arrow_data",
    ),
    Mistake(
        "one column",
        lambda out: fc.write_dataset(TABLE["day"], out),
        ("type pyarrow.lib.ChunkedArray is no stream of batches", "pyarrow.table() makes a table"),
        "not_arrow_data",
    ),
    Mistake(
        "every column for the directories",
        a_dataset(partition_by=["day", "clicks"]),
        ("cannot partition by every column", "'day', 'clicks'", "no rows", "leave one out"),
    ),
    Mistake(
        "every column, by pyarrow's object",
        a_dataset(partitioning=ds.partitioning(TABLE.schema, flavor="hive")),
        ("cannot partition by every column", "'day', 'clicks'", "no rows", "leave one out"),
    ),
    Mistake(
        "a column there is not",
        a_dataset(partition_by="days"),
        ("cannot partition by 'days'", "'day', 'clicks'", "did you mean 'day'?"),
        "unknown_column",
    ),
    Mistake(
        "two columns of one name",
        lambda out: fc.write_dataset(pa.table([[1], [2]], names=["a", "a"]), out),
        ("the data have 2 columns 'a'", "no reader tells apart", "rename all but one"),
        "duplicate_column",
    ),
    Mistake(
        "a column twice",
        a_dataset(partition_by=["day", "day"]),
        ("partition_by=", "a column twice"),
    ),
    Mistake(
        "no column", a_dataset(partition_by=5), ("partition_by=5 names no column", "give a name")
    ),
    Mistake(
        "a format there is not",
        a_dataset(format="xlsx"),
        ("'xlsx' is no format that Arrow writes", "one of 'parquet'"),
        "unknown_format",
    ),
    Mistake(
        "a template without a number",
        a_dataset(basename_template="x.parquet"),
        ("basename_template='x.parquet'", "no place for a file's number", "'part-{i}.parquet'"),
    ),
    Mistake(
        "a template with a directory",
        a_dataset(basename_template="x/{i}.parquet"),
        ("basename_template='x/{i}.parquet'", "no directory", "partition_by="),
    ),
    Mistake(
        "what would end the process",
        a_dataset(max_open_files=0),
        ("max_open_files=0 is no count", "from 1 on", "leave it out"),
    ),
    Mistake(
        "a count that is a text",
        a_dataset(max_rows_per_file="5"),
        ("max_rows_per_file='5' is no count", "leave it out"),
    ),
    Mistake(
        "options of a file as a dict",
        a_dataset(file_options={"compression": "zstd"}),
        ("file_options is what make_write_options()", "not {'compression'", "ParquetFileFormat()"),
    ),
    Mistake(
        "options of a file for another format",
        lambda out: fc.write_dataset(
            TABLE, out, format="csv", file_options=ds.ParquetFileFormat().make_write_options()
        ),
        ("file_options are those of another format", "give format= too"),
    ),
    Mistake(
        "a schema that is a dict",
        a_dataset(schema={"a": "int"}),
        ("schema= is a pyarrow.schema(…)", "not dict"),
    ),
    Mistake(
        "a visitor that cannot be called",
        a_dataset(file_visitor=5),
        ("file_visitor=5 cannot be called", "told of each file"),
    ),
    Mistake(
        "tasks of a single task",
        a_dataset(tasks=5),
        ("tasks= makes no sense here", "one job of one task"),
    ),
]

MISTAKES = [*DESTINATIONS, *OPTIONS, *COMMITTERS, *FILES, *TASKS, *OPERATIONS, *DATASETS]
