"""Mistakes that users make, and what they must be told: what, where, why, and what now.

Each is a call that goes wrong. Of the message a few words are pinned for each of the four, so that
it can be worded anew, and not lose one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.fs
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

import fsspec_commit as fc

TABLE = pa.table({"day": ["a", "b"], "clicks": [1, 2]})


@dataclass(frozen=True)
class Mistake:
    """One of them.

    Attributes:
        name: What the test is called.
        make: Makes it, at a destination that is free.
        says: Words of the message, in the order what, where, why, what now; some say two at once.
        kind: The error's, where it is one of this package's.
        error: The error's class.
        on_disk: Whether it takes a disk to make it; memory is cheaper.
    """

    name: str
    make: Callable[[str], object]
    says: tuple[str, ...]
    kind: str | None = "invalid_option"
    error: type[BaseException] = fc.RequestError
    on_disk: bool = False


def a_job(**options: Any) -> Callable[[str], object]:
    return lambda out: fc.Job(out, **options).start()


def a_job_at(destination: Any, **options: Any) -> Callable[[str], object]:
    return lambda _: fc.Job(destination, **options).start()


def a_dataset(**options: Any) -> Callable[[str], object]:
    return lambda out: fc.write_dataset(TABLE, out, **options)


def in_a_task(work: Callable[[fc.Task], object]) -> Callable[[str], object]:
    def make(out: str) -> None:
        with fc.Job(out) as job, job.task() as task:
            work(task)

    return make


def in_a_job(work: Callable[[fc.Job], object]) -> Callable[[str], object]:
    def make(out: str) -> None:
        with fc.Job(out, allow_empty=True) as job:
            work(job)

    return make


def a_file(**options: Any) -> Callable[[str], object]:
    return in_a_task(lambda task: task.open("a.txt", **options))


def _below_a_file(out: str) -> None:
    Path(out).write_text("x", "utf-8")
    fc.Job(f"{out}/far/below").start()


def _at_a_file(out: str) -> None:
    Path(out).write_text("x", "utf-8")
    fc.Job(out).start()


DESTINATIONS = [
    Mistake(
        "a URL of one store, a filesystem of another",
        a_job_at("s3://bucket/x", filesystem=MemoryFileSystem()),
        ("'s3' URL", "MemoryFileSystem", "serves 'memory'", "give the URL alone"),
        "store_mismatch",
    ),
    Mistake(
        "a URL in memory, a filesystem of disks",
        a_job_at("memory://bucket/x", filesystem=LocalFileSystem()),
        ("'memory' URL", "LocalFileSystem", "'file' and 'local'", "or a path on that filesystem"),
        "store_mismatch",
    ),
    Mistake(
        "one slash is missing",
        a_job_at("s3:/bucket/x"),
        ("neither a URL nor a path", "begins with 's3://'", "'./s3:…'"),
        "invalid_url",
    ),
    Mistake(
        "a place of Databricks",
        a_job_at("dbfs:/mnt/x"),
        ("neither a URL nor a path", "begins with 'dbfs://'", "'./dbfs:…'"),
        "invalid_url",
    ),
    Mistake(
        "a protocol that nobody serves",
        a_job_at("ftp://host/x"),
        ("no adapter serves 'ftp' URLs", "known: abfs", "register()"),
        "unknown_protocol",
        fc.UnknownProtocolError,
    ),
    Mistake("bytes", a_job_at(b"/data/out"), ("destination", "is bytes", "os.fsdecode()")),
    Mistake("nothing", a_job_at(None), ("destination", "a path, a URL or a UPath", "NoneType")),
    Mistake("a number", a_job_at(5), ("destination", "a path, a URL or a UPath", "int")),
    Mistake("a list", a_job_at(["/data/out"]), ("destination", "a path, a URL or a UPath", "list")),
    Mistake("an empty text", a_job_at(""), ("the destination is empty", "give a path or a URL")),
    Mistake(
        "the class of a filesystem",
        a_job(filesystem=MemoryFileSystem),
        ("filesystem= takes an fsspec filesystem", "the class MemoryFileSystem", "pass the URL"),
        "unknown_protocol",
        fc.UnknownProtocolError,
    ),
    Mistake(
        "a filesystem of pyarrow",
        a_job(filesystem=pa.fs.LocalFileSystem()),
        ("filesystem= takes an fsspec filesystem", "pyarrow._fs.LocalFileSystem", "pass the URL"),
        "unknown_protocol",
        fc.UnknownProtocolError,
    ),
    Mistake(
        "a filesystem that caches",
        a_job_at(
            "memory://bucket/x",
            filesystem=fsspec.filesystem("simplecache", target_protocol="memory"),
        ),
        ("cannot commit through", "a cache hides what the store holds", "unwrap it"),
        "unknown_protocol",
        fc.UnknownProtocolError,
    ),
    Mistake(
        "a filesystem and options",
        a_job(filesystem=LocalFileSystem(), storage_options={}),
        ("storage_options= or filesystem=, not both", "a filesystem has its own"),
    ),
    Mistake(
        "options that are a text",
        a_job(storage_options="key"),
        ("storage_options= is a mapping", "such as {'anon': True}", "not str"),
    ),
    Mistake(
        "a secret in the URL",
        a_job_at("s3://key:planted@bucket/x"),
        ("the destination holds a secret", "before an '@'", "storage_options="),
        "secret_in_url",
    ),
    Mistake(
        "the work area of a destination",
        lambda out: fc.Job(f"{out}/_commit/x").start(),
        ("cannot open", "'_commit' is kept for the commit protocol", "name another directory"),
        "reserved_name",
    ),
    Mistake(
        "a file for a directory",
        _at_a_file,
        ("is not a directory", "a destination is the directory of"),
        None,
        fc.StoreError,
        on_disk=True,
    ),
    Mistake(
        "a directory below a file",
        _below_a_file,
        ("cannot make the directory", "the file", "/out' is in the way"),
        None,
        fc.CommitFailedError,
        on_disk=True,
    ),
    Mistake(
        "a place that is no disk",
        lambda _: fc.probe("/proc/none"),
        ("cannot write", "/proc/none", "takes no new directory"),
        None,
        fc.StoreError,
    ),
    Mistake(
        "an adapter that is none",
        lambda _: fc.register("mine", 5),  # type: ignore[arg-type]  # the mistake
        ("cannot register 5", "'mine' URLs", "'package.module:Class'"),
        "invalid_adapter",
    ),
]

OPTIONS = [
    Mistake(
        "a mode without its name",
        lambda out: fc.Job(out, "append"),  # type: ignore[arg-type]  # the mistake
        ("options have names", "1 came without one", "write mode='append'"),
        None,
        TypeError,
    ),
    Mistake(
        "storage options without their name",
        lambda out: fc.Job(out, {"key": "planted"}),  # type: ignore[arg-type]
        ("options have names", "1 came without one", "the first is a dict"),
        None,
        TypeError,
    ),
    Mistake(
        "Spark's word for partition_by",
        a_dataset(partitionBy=["day"]),
        ("no option 'partitionBy'", "did you mean 'partition_by'?"),
        None,
        TypeError,
    ),
    Mistake(
        "pandas' word for partition_by",
        a_dataset(partition_cols=["day"]),
        ("no option 'partition_cols'", "did you mean 'partition_by'?"),
        None,
        TypeError,
    ),
    Mistake(
        "an option of write_dataset, to a job",
        a_job(partition_cols=["day"]),
        ("a job has no option 'partition_cols'", "write_dataset has partition_by="),
        None,
        TypeError,
    ),
    Mistake(
        "an option of write_dataset by its own name, to a job",
        a_job(partition_by="day"),
        ("a job has no option 'partition_by'", "write_dataset has partition_by="),
        None,
        TypeError,
    ),
    Mistake(
        "half the name of a key",
        a_job(key="x"),
        ("no option 'key'", "did you mean 'idempotency_key'?"),
        None,
        TypeError,
    ),
    Mistake(
        "pyarrow's word for mode",
        a_dataset(existing_data_behavior="delete_matching"),
        ("no option 'existing_data_behavior'", "did you mean 'mode'?"),
        None,
        TypeError,
    ),
    Mistake(
        "an option that is misspelled",
        a_job(idempotencykey="x"),
        ("no option 'idempotencykey'", "did you mean 'idempotency_key'?"),
        None,
        TypeError,
    ),
    Mistake("a mode of files", a_job(mode="w"), ("mode='w'", "'append'", "mean 'overwrite'?")),
    Mistake(
        "a mode of Spark",
        a_job(mode="ErrorIfExists"),
        ("mode='ErrorIfExists'", "is none of", "mean 'error'?"),
    ),
    Mistake("a list of modes", a_job(mode=["append"]), ("mode=['append']", "is none of 'error'")),
    Mistake("tasks as text", a_job(tasks="8"), ("tasks='8'", "no count of tasks", "at least 1")),
    Mistake("no time to wait", a_job(wait_s=dt.timedelta(1)), ("wait_s=", "no number of seconds")),
    Mistake(
        "one partition for a list",
        a_job(mode="overwrite_partitions", partitions="day=1"),
        ("partitions is a list", "write ['day=1']"),
    ),
    Mistake(
        "a partition that is a dict",
        a_job(mode="overwrite_partitions", partitions=[{"day": 1}]),
        ("partitions holds {'day': 1}", "no text", "hive_path(day=…)"),
    ),
    Mistake(
        "a dict for a list of partitions",
        a_job(mode="overwrite_partitions", partitions={"day": "1"}),
        ("partitions is a list of directories", "not a dict", "[hive_path(day='1')]"),
    ),
    Mistake(
        "a partition of another column",
        a_dataset(mode="overwrite_partitions", partition_by="day", partitions=["hour=1"]),
        ("partitions holds 'hour=1'", "begin with 'day=…'", "hive_path(day=…)"),
    ),
    Mistake(
        "a value for a partition",
        a_dataset(mode="overwrite_partitions", partition_by=["day"], partitions=["a"]),
        ("partitions holds 'a'", "begin with 'day=…'", "hive_path(day=…)"),
    ),
    Mistake(
        "a pattern of partitions",
        a_job(mode="overwrite_partitions", partitions=["day=*"]),
        ("partitions holds 'day=*'", "no pattern", "name each directory", "'%2A'"),
    ),
    Mistake(
        "partitions that are None",
        a_job(mode="overwrite_partitions", partitions=None),
        ("partitions is a list of directories", "not None", "leave it out"),
    ),
    Mistake(
        "partitions for another mode",
        a_job(partitions=["day=1"]),
        ('partitions=[…] is for mode="overwrite_partitions"',),
    ),
    Mistake(
        "a function for a callback",
        a_job(callback=print),
        ("callback=", "no fsspec Callback", "set_size(files)", "TqdmCallback()"),
    ),
    Mistake(
        "a key that is no text",
        a_job(idempotency_key="\ud800"),
        ("idempotency_key is a text of valid unicode", "not '\\ud800'"),
    ),
    Mistake(
        "several values for a directory",
        lambda _: fc.hive_path(day=["a", "b"]),
        ("a directory is named by one text", "not by ['a', 'b']"),
    ),
    Mistake(
        "collecting without a count",
        a_job(collect="store"),
        ('collect="store" needs tasks=N', "only the count says what is missing"),
    ),
]

COMMITTERS = [
    Mistake(
        "Hadoop's v2",
        a_job(committer="v2"),
        ("committer='v2'", "algorithm 2", "a part of itself visible", "leave committer= out"),
    ),
    Mistake(
        "Hadoop's v2 by its number",
        a_job(committer="2"),
        ("committer='2'", "refused on every store", "leave committer= out"),
    ),
    Mistake(
        "Hadoop's file",
        a_job(committer="file"),
        ("committer='file'", "FileOutputCommitter", '"v1" here', "leave committer= out"),
    ),
    Mistake(
        "Hadoop's directory",
        a_job(committer="directory"),
        ("committer='directory'", "staging committers", '"magic" stands for it', 'mode="error"'),
    ),
    Mistake(
        "Hadoop's partitioned",
        a_job(committer="partitioned"),
        ("committer='partitioned'", '"magic" stands for it', 'mode="overwrite_partitions"'),
    ),
    Mistake(
        "Hadoop's staging",
        a_job(committer="staging"),
        ("committer='staging'", "on a local disk first", '"magic" stands for it'),
    ),
    Mistake(
        "a class of Hadoop's",
        a_job(committer="org.apache.hadoop.fs.s3a.commit.magic.MagicS3GuardCommitter"),
        ("is none of 'auto'", 'it is written "magic" here'),
    ),
    Mistake(
        "v2, explained",
        lambda out: fc.explain(out, committer="v2"),  # type: ignore[arg-type]
        ("committer='v2'", "refused on every store", "leave committer= out"),
    ),
    Mistake(
        "magic, on a disk",
        a_job(committer="magic"),
        ("cannot commit to", "'magic' is not safe here", "no multipart uploads", "use 'v1'"),
        "unsafe_store",
        fc.UnsafeStoreError,
    ),
]
