"""Mistakes at the command line: one sentence in its own words, and the status that says more."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import fsspec_commit as fc
from fsspec_commit.cli.ending import Status
from fsspec_commit.errors import Reply
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.wrapped import WrappedStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.unit.cli.conftest import Ran

T = TypeVar("T")
TABLE = pa.table({"day": ["a", "b"], "clicks": [1, 2]})


@pytest.fixture
def url() -> str:
    """A dataset that stands; memory is of this process, and so are these commands."""
    url = f"memory://commands-{uuid4().hex}"
    fc.write_dataset(TABLE, url, mode="append")
    return url


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    pq.write_table(TABLE, path)
    return path


MISTAKES: list[tuple[list[str], int, tuple[str, ...]]] = [
    (["write", "SOURCE", "URL"], 1, ("already holds data", "--mode error", "use --mode append")),
    (
        ["write", "SOURCE", "URL", "--committer", "v2"],
        2,
        ("--committer v2", "algorithm 2", "leave --committer out"),
    ),
    (
        ["explain", "URL", "--committer", "staging"],
        2,
        ("--committer staging", "staging committers", '"magic" stands for it'),
    ),
    (
        ["write", "SOURCE", "URL", "--committer", "magic", "--mode", "append"],
        2,
        ("'magic' is not safe here", "use 'v1'"),
    ),
    (
        ["write", "SOURCE", "URL", "--partitions", "day=a", "--mode", "append"],
        2,
        ("--partitions is for --mode overwrite_partitions",),
    ),
    (
        ["write", "SOURCE", "URL", "--mode=overwrite_partitions", "--partitions", "day=*"],
        2,
        ("--partitions holds 'day=*'", "name each directory"),
    ),
    (
        ["write", "SOURCE", "URL", "--partition-by", "days", "--mode", "append"],
        2,
        ("--partition-by 'days' is no column", "'day', 'clicks'"),
    ),
    (["write", "SOURCE", "s3:/bucket/x"], 2, ("neither a URL nor a path", "begins with 's3://'")),
    (["write", "SOURCE", "s3://k:planted@b/x"], 2, ("holds a secret", "--storage-option or")),
    (["write", "none.parquet", "URL"], 2, ("there is no source 'none.parquet'",)),
    (["write", "-", "URL"], 2, ("there is no source '-'", "standard input is not read", "a file")),
    (
        ["write", "/dev/null", "URL", "--source-format=csv"],
        2,
        ("source '/dev/null' is no file but a stream", "before the rows", "write it to a file"),
    ),
    (["write", "SOURCE", "URL", "--overwrite"], 2, ("no such option: --overwrite", "--mode over")),
    (["write", "SOURCE", "URL", "--partition-cols=a"], 2, ("no such option", "--partition-by?")),
    (
        ["clean", "URL", "--dry-run"],
        2,
        ("no such option: --dry-run", "nothing is removed without --delete"),
    ),
    (["clean", "URL", "--force"], 2, ("no such option: --force", "did you mean --delete?")),
    (["abort", "URL", "9c1e"], 3, ("no unfinished job", "'9c1e'", "list them with")),
    (["clean", "URL"], 2, ("'--older-than'", "'--damaged'")),
    (
        ["clean", "URL", "--damaged", "20261120T140355-9c1e5d0a7b2f4e68"],
        3,
        ("no job 20261120T140355-9c1e5d0a7b2f4e68", "or never was", "`jobs` lists those"),
    ),
    (["write", "SOURCE", "URL", "--mode=dynamic"], 2, ("'--mode': 'dynamic' is not one of",)),
    *(
        ([*typed, "SOURCE"], 2, ("is not a directory", "a destination is the directory of"))
        for typed in (["jobs"], ["probe"], ["explain"], ["write", "SOURCE"])
    ),
    (["jobs", "ftp://host/x"], 2, ("no adapter serves 'ftp' URLs", "known: abfs")),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: " ".join(mistake[0]))
def test_a_mistake_is_told(
    mistake: tuple[list[str], int, tuple[str, ...]],
    url: str,
    source: Path,
    command: Callable[..., Ran],
) -> None:
    typed, status, says = mistake
    places = {"URL": url, "SOURCE": str(source)}
    ran = command(*(places.get(word, word) for word in typed))
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    [line] = ran.err.splitlines()
    assert [words for words in says if words not in line] == [], line
    assert "planted" not in line
    # No Python: neither arguments, nor calls.
    assert re.search(r"(?<![\w/'])[a-z_]+=[\"'A-Z\[(]|\w\(\)", line) is None, line
    assert ran.status == status


def test_a_source_that_cannot_be_asked_is_named(
    url: str, command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was "NoCredentialsError: Unable to locate credentials", of nobody knew what."""

    class NoCredentialsError(Exception):
        """As botocore's: no ``OSError``."""

    def ask(*_: object, **_options: object) -> bool:
        raise NoCredentialsError("Unable to locate credentials")

    monkeypatch.setattr(MemoryFileSystem, "exists", ask)
    ran = command("write", "memory://theirs/x.csv", url, "--json")
    told = ran.document["error"]
    assert (ran.status, told["kind"], told["outcome"]) == (2, "unreadable_source", "not_committed")
    assert told["message"] == (
        "cannot look for source 'memory://theirs/x.csv': NoCredentialsError: Unable to locate "
        "credentials; check --source-storage-option, and what the environment holds"
    )


def test_while_it_waits_it_says_for_whom(
    url: str, source: Path, command: Callable[..., Ran]
) -> None:
    with inject(Fault("rename", nth=1, kind="crash_before")), pytest.raises(Crash):
        fc.write_dataset(TABLE, url, mode="overwrite")
    [other] = fc.jobs(url)
    assert other.state == "decided"
    ran = command("write", source, url, "--mode", "overwrite", "--wait", "1s")
    assert ran.status == 1
    waiting, error = ran.err.splitlines()
    assert re.fullmatch(
        rf"job \S+ to '{url}' waits: job {other.job_id} is committed but not finished there",
        waiting,
    )
    assert f"fsspec-commit resume {url} {other.job_id}" in error
    assert "commit()" not in error
    quiet = command("write", source, url, "--mode", "overwrite", "--wait", "1s", "--quiet")
    assert quiet.err.splitlines()[0].startswith("error: ")
    fc.resume(url, other.job_id)


def test_an_interrupted_probe_says_what_may_remain(url: str, command: Callable[..., Ran]) -> None:
    """It has written, so "nothing was changed" would not be so."""

    async def carry(verb: str, path: object, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "rename":
            raise KeyboardInterrupt
        return await call()

    with wrapping(lambda store: WrappedStore(store, carry)):
        ran = command("probe", url)
    assert ran.status == 1
    assert "interrupted; small objects of the probe may remain under _commit/" in ran.err
    assert command("clean", url, "--older-than", "0s", "--delete").status == 0
    assert fc.jobs(url) == []


def test_a_clean_that_the_store_refuses_is_not_done(url: str, command: Callable[..., Ran]) -> None:
    """It ended with 0, and a script took the job for aborted."""
    job = fc.Job(url, mode="append").start()
    job._begun_here = False  # It is left behind, and warns nobody.

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "create" and path.endswith("/decision"):
            raise fc.StoreError("not yours", path=path, reply=Reply.REFUSED)
        return await call()

    clean = ("clean", url, "--older-than", "0s")
    with wrapping(lambda store: WrappedStore(store, carry)):
        assert command(*clean).status == 0
        ran = command(*clean, "--delete")
        assert (ran.status, ran.out) == (3, f"not removed\t{job.job_id}: not yours\n")
        assert command(*clean, "--delete", "--quiet").status == 3
        document = command(*clean, "--delete", "--json").document
        assert document["not_removed"] == [f"{job.job_id}: not yours"]
    assert command(*clean, "--delete").status == 0


@pytest.mark.parametrize("arguments", [("jobs",), ("show",), ("clean", "--older-than", "0s")])
def test_a_destination_that_may_be_misspelt_is_told_of(
    arguments: tuple[str, ...], url: str, command: Callable[..., Ran]
) -> None:
    """Not by the status: before its first job a destination is like that."""
    misspelt = f"{url}s"
    name, *options = arguments
    ran = command(name, misspelt, *options)
    assert (ran.status, ran.out, ran.err) == (0, "", f"nothing is at {misspelt!r} so far\n")
    assert command(name, misspelt, *options, "--json").err == ran.err
    assert command(name, url, *options).err == ""


def test_who_may_not_look_at_a_destination_sees_its_jobs(
    url: str, command: Callable[..., Ran]
) -> None:
    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "stat":
            raise fc.StoreError("not yours", path=path, reply=Reply.REFUSED)
        return await call()

    with wrapping(lambda store: WrappedStore(store, carry)):
        assert command("jobs", url).status == 0


def test_a_record_that_may_not_be_read_is_not_called_damaged(
    url: str, command: Callable[..., Ran]
) -> None:
    """It was: put back what stood there. It stands there."""
    job = fc.Job(url, mode="append").start()

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "read":
            error = fc.StoreError("not yours", path=path, reply=Reply.REFUSED)
            error.errno = errno.EACCES
            raise error
        return await call()

    with wrapping(lambda store: WrappedStore(store, carry)):
        ran = command("show", url, job.job_id)
        statuses = [command(verb, url, job.job_id).status for verb in ("resume", "abort")]
        statuses.append(command("clean", url, "--older-than", "0s", "--delete").status)
    assert statuses == [Status.UNSETTLED, Status.UNSETTLED, Status.DONE]
    assert "not yours; nothing says that it is damaged: ask as somebody who may read it" in ran.out
    assert "state\tunknown\n" in ran.out
    assert "look again when it can be reached, with credentials that may read it" in ran.out
    assert "--damaged" not in ran.out
    job.abort()
