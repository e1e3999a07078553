"""Readers that know nothing of jobs, on the bare directory at any moment of a job; and those that
ask what is committed. What the page on guarantees says of both is what they see.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import fsspec_commit as fc
from tests.protocol.asked import AtSomeCalls
from tests.protocol.invariants import job_ids, model, state_of
from tests.scenes.places import LocalPlace
from tests.sweeps import some_by_day

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from fsspec_commit.testing.sweeps import Sweep

Files = dict[str, str]
"""What the one row of each file says, by the name of the file."""
OLD = {"day=1/old.parquet": "old 1", "day=1/same.parquet": "old same", "day=2/old.parquet": "old 2"}
NEW = {"day=1/same.parquet": "new same", "day=1/new.parquet": "new 1", "day=3/new.parquet": "new 3"}
JOBS: dict[str, dict[str, Any]] = {
    "append": {"mode": "append"},
    "error": {"mode": "error"},
    "overwrite": {"mode": "overwrite"},
    "overwrite_partitions": {"mode": "overwrite_partitions"},
    "overwrite, in place": {"mode": "overwrite", "names": "exact"},
}


def of_pyarrow(directory: str) -> list[str]:
    table = ds.dataset(directory, partitioning="hive").to_table()
    return table["file"].to_pylist() if len(table.column_names) else []


def of_pandas(directory: str) -> list[str]:
    frame = pd.read_parquet(directory)
    return list(frame["file"]) if len(frame.columns) else []


def of_polars(pattern: str, directory: str) -> list[str]:
    return pl.read_parquet(directory + pattern)["file"].to_list()


def of_duckdb(directory: str) -> list[str]:
    return [row[0] for row in duckdb.read_parquet(f"{directory}/**/*.parquet").fetchall()]


of_list: Any = pd.read_parquet  # its types know no lists
PLAIN: dict[str, Callable[[str], list[str]]] = {
    "pyarrow": of_pyarrow,
    "pandas": of_pandas,
    "polars, directory": partial(of_polars, ""),
    "polars, glob": partial(of_polars, "/**/*.parquet"),
    "DuckDB": of_duckdb,
}
REFUSES = {
    "polars, directory": (
        pl.exceptions.InvalidOperationError,
        pl.exceptions.ComputeError,
        FileNotFoundError,
    ),
    "polars, glob": (pl.exceptions.ComputeError, FileNotFoundError),
    "DuckDB": (duckdb.IOException,),
}
"""How they say that there is nothing to read: for polars, that not all of it is Parquet."""
ASKING: dict[str, Callable[[fc.CommittedFiles], Any]] = {
    "pyarrow": lambda found: pa.concat_tables(map(pq.read_table, found))["file"].to_pylist(),
    "pandas": lambda found: of_list(found.paths, filesystem=found.filesystem)["file"],
    "polars": lambda found: pl.read_parquet(found)["file"].to_list(),
    "DuckDB": lambda found: [row[0] for row in duckdb.read_parquet(found).fetchall()],
}


class Readers:
    """Every reader, at each moment that it is asked.

    Attributes:
        refused: Who refused to read anything, and in which state the job was.
        states: In which states it was.
    """

    def __init__(self, destination: Path, options: dict[str, Any], old: Files) -> None:
        self.refused = set[tuple[str, str]]()
        self.states = set[str]()
        self._destination = destination
        self._place = LocalPlace(destination)
        self._old, self._new = set(old.values()), set(NEW.values())
        exact = options.get("names") == "exact"
        new = NEW if exact else {_unique(name): label for name, label in NEW.items()}
        self._in_place = {old[name] for name in old.keys() & new.keys()}
        after = model(_bytes(old), _bytes(new), str(options["mode"]))
        self._after = {data.decode() for data in after.values()}

    async def look(self) -> None:
        snapshot = self._place.snapshot()
        (job_id,) = job_ids(snapshot) or [""]
        state = state_of(snapshot, job_id) if job_id else "over"
        self.states.add(state)
        for name, read in PLAIN.items():
            try:
                rows = sorted(read(str(self._destination)))
            except REFUSES.get(name, ()):
                self.refused.add((name, state))
                continue
            assert self._may_list(state, rows), f"{name} sees {rows} of a job that is {state}"
        asking: Any = fc.committed_files
        found = await asking.__wrapped__(self._destination)
        for name, ask in ASKING.items() if found else ():
            rows = sorted(ask(found))
            assert self._may_be_told(state, rows), f"{name} is told {rows}, and it is {state}"
        assert found or not self._old or state == "over"

    def _may_list(self, state: str, rows: list[str]) -> bool:
        """As the table on the page says; of what is replaced in place, one or the other."""
        seen = set(rows)
        if len(seen) != len(rows):
            return False
        if state in {"undecided", "aborted"}:
            return seen == self._old
        if state == "decided":
            return self._old - self._in_place <= seen <= self._old | self._new
        if state == "published":
            return self._after <= seen <= self._old | self._after
        return seen in (self._old, self._after)

    def _may_be_told(self, state: str, rows: list[str]) -> bool:
        seen = set(rows)
        if state == "decided" and self._in_place:
            return self._old - self._in_place <= seen and len(rows) == len(self._old)
        expected = {"published": [self._after], "over": [self._old, self._after]}
        return seen in expected.get(state, [self._old]) and len(rows) == len(seen)


def _unique(name: str) -> str:
    return name.replace(".parquet", "@0.parquet")


def _bytes(files: Files) -> dict[str, bytes]:
    return {name: label.encode() for name, label in files.items()}


def _parquet(label: str) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"file": [label]}), sink)
    return bytes(sink.getvalue())


def run(destination: Path, options: dict[str, Any], new: Iterable[tuple[str, str]]) -> None:
    with fc.Job(destination, **options) as job, job.task() as task:
        for name, label in new:
            with task.open(name) as file:
                file.write(_parquet(label))


@some_by_day(8)
@pytest.mark.parametrize("name", JOBS)
def test_at_any_moment_of_a_job(name: str, fast: Path, sweep: Sweep) -> None:
    options, destination = JOBS[name], fast / "out"
    old = {} if name == "error" else OLD
    destination.mkdir()
    LocalPlace(destination).put({file: _parquet(label) for file, label in old.items()})
    readers = Readers(destination, options, old)
    chosen = set(sweep(range(1, 60)))
    with AtSomeCalls(chosen.__contains__, readers.look).throughout():
        run(destination, options, NEW.items())
    if sweep.is_whole:
        assert {"undecided", "decided", "published", "over"} <= readers.states
        assert ("polars, directory", "undecided") in readers.refused
    if old:
        # Where there is something to read, the others always do.
        assert {who for who, _ in readers.refused} <= {"polars, directory"}
