"""``write``: files in, a committed dataset out, or an error and nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fsspec_commit.ids import is_job_id
from tests.integration.cli.command import command, files_of
from tests.integration.cli.drivers import left_behind
from tests.integration.cli.rows import TABLE, rows_of

if TYPE_CHECKING:
    from pathlib import Path


def test_write_ends_with_one_line_on_a_pipe(source: Path, destination: Path) -> None:
    ran = command("write", source, destination)
    [[job, *fields]] = ran.rows
    assert (ran.status, ran.err) == (0, "")
    assert is_job_id(job)
    assert [*fields[:4], fields[-1]] == ["committed", "error", "1", "3", str(destination)]
    assert rows_of(destination) == TABLE.to_pylist()
    assert (destination / "_SUCCESS").read_bytes() == b""


def test_write_for_programs(source: Path, destination: Path) -> None:
    document = command(
        "write", source, destination, "--partition-by", "day", "--mode", "append", "--json"
    ).document
    assert document["destination"] == str(destination)
    assert (document["state"], document["mode"], document["committer"]) == (
        "committed",
        "append",
        "v1",
    )
    assert (document["file_count"], document["rows"]) == (2, 3)
    assert document["partitions"] == ["day=1", "day=2"]
    assert rows_of(destination) == TABLE.to_pylist()


@pytest.mark.parametrize("format_", ["parquet", "csv", "arrow", "feather"])
def test_write_writes_what_pyarrow_writes(format_: str, source: Path, destination: Path) -> None:
    assert command("write", source, destination, "--format", format_).status == 0
    assert all(name.endswith(f".{format_}") for name in files_of(destination))
    rows = rows_of(destination, format_)
    assert [row["n"] for row in rows] == [1, 2, 3]


def test_write_reads_everything_into_one_dataset(tmp_path: Path, destination: Path) -> None:
    (tmp_path / "a.csv").write_text("day,n\n1,1\n")
    (tmp_path / "b.jsonl").write_text('{"day": 1, "n": 2, "s": "x"}\n')
    pq.write_table(pa.table({"day": [2], "n": [3]}), tmp_path / "c.parquet")
    ran = command("write", tmp_path / "[ab].*", tmp_path / "c.parquet", destination)
    assert (ran.status, ran.err) == (0, "")
    assert rows_of(destination) == [
        {"day": 1, "n": 1, "s": None},
        {"day": 1, "n": 2, "s": "x"},
        {"day": 2, "n": 3, "s": None},
    ]


def test_write_limits_the_rows_of_a_file(source: Path, destination: Path) -> None:
    ran = command("write", source, destination, "--max-rows-per-file", 1, "--json")
    assert ran.document["file_count"] == 3


def test_write_refuses_to_write_over_data(source: Path, destination: Path) -> None:
    assert command("write", source, destination).status == 0
    ran = command("write", source, destination)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("error: ")
    assert rows_of(destination) == TABLE.to_pylist()


def test_write_takes_promises(source: Path, destination: Path) -> None:
    for promise in ("--single-writer", "--delete-by-name"):
        assert command("write", source, destination, "--mode", "overwrite", promise).status == 0


def test_write_ignores_where_data_stands(source: Path, destination: Path) -> None:
    assert command("write", source, destination).status == 0
    ran = command("write", source, destination, "--mode", "ignore", "--json")
    assert (ran.status, ran.document["state"]) == (0, "skipped")


def test_write_overwrites_partitions(source: Path, tmp_path: Path, destination: Path) -> None:
    assert command("write", source, destination, "--partition-by", "day").status == 0
    pq.write_table(pa.table({"day": [2], "n": [9], "s": ["z"]}), tmp_path / "new.parquet")
    ran = command(
        "write",
        tmp_path / "new.parquet",
        destination,
        *("--partition-by", "day", "--mode", "overwrite_partitions", "--partitions", "day=1"),
        "--json",
    )
    assert (ran.status, ran.document["replaced_count"]) == (0, 2)
    assert rows_of(destination) == [{"day": 2, "n": 9, "s": "z"}]


def test_write_commits_once_for_a_key(source: Path, destination: Path) -> None:
    arguments = (
        "write",
        source,
        destination,
        "--mode",
        "append",
        "--idempotency-key",
        "k",
        "--json",
    )
    assert [command(*arguments).document["state"] for _ in range(2)] == ["committed", "skipped"]
    assert rows_of(destination) == TABLE.to_pylist()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--partition-by", "dya"], "'dya' is no column of the sources; they have 'day', 'n', 's'"),
        (["--partition-by", "day,day"], "names a column twice"),
        (["--partition-by", "day,n", "--partition-by", "s"], "leaves none for the files"),
        (["--committer", "magic"], "not safe here"),
        (["--partitions", "day=1"], "partitions"),
    ],
)
def test_write_refuses_what_makes_no_sense(
    arguments: list[str], says: str, source: Path, destination: Path
) -> None:
    ran = command("write", source, destination, *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert files_of(destination) == []


def test_a_source_that_breaks_off_commits_nothing(tmp_path: Path, destination: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("n\n" + "1\n" * 2_000_000 + "two\n")
    ran = command("write", path, destination)
    assert (ran.status, ran.out) == (1, "")
    assert "CSV conversion error to int64: invalid value 'two'" in ran.err
    assert "nothing was committed" in ran.err
    assert files_of(destination) == []
    assert command("jobs", destination).rows == []


def test_a_dataset_is_read_without_the_jobs_in_flight(
    source: Path, tmp_path: Path, destination: Path
) -> None:
    assert command("write", source, destination).status == 0
    left_behind(destination, "open")
    copy = tmp_path / "copy"
    assert command("write", destination, copy).status == 0
    assert rows_of(copy) == TABLE.to_pylist()


def test_a_source_with_half_a_job_is_refused(
    source: Path, tmp_path: Path, destination: Path
) -> None:
    assert command("write", source, destination).status == 0
    left_behind(destination, "decided")
    ran = command("write", destination, tmp_path / "copy")
    assert ran.status == 2
    assert "is committed but not finished there" in ran.err
    assert "fsspec-commit resume" in ran.err
    assert not (tmp_path / "copy").exists()


def test_a_source_with_a_damaged_job_is_refused(
    source: Path, tmp_path: Path, destination: Path
) -> None:
    """It may have committed, and a part of it be in place."""
    assert command("write", source, destination).status == 0
    job_id = left_behind(destination, "decided")
    (destination / "_commit" / job_id / "decision").write_text("{torn")
    ran = command("write", destination, tmp_path / "copy")
    assert ran.status == 2
    assert f"are committed is not known: job {job_id} is damaged" in ran.err
    assert f"see: fsspec-commit show '{destination}' {job_id}" in ran.err
    assert not (tmp_path / "copy").exists()
