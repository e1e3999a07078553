"""Mistakes at the command line: one sentence in its own words, and the status that says more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fsspec_commit as fc
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
        ["write", "SOURCE", "URL", "--partition-by", "days", "--mode", "append"],
        2,
        ("--partition-by 'days' is no column", "'day', 'clicks'"),
    ),
    (["write", "SOURCE", "s3:/bucket/x"], 2, ("neither a URL nor a path", "begins with 's3://'")),
    (["write", "SOURCE", "s3://k:planted@b/x"], 2, ("holds a secret", "--storage-option or")),
    (["write", "none.parquet", "URL"], 2, ("there is no source 'none.parquet'",)),
    (["abort", "URL", "9c1e"], 3, ("no unfinished job", "'9c1e'", "list them with")),
    (["clean", "URL"], 2, ("'--older-than'", "'--damaged'")),
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
