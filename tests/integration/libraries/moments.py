"""What readers see at any moment of a job, on the bare directory and of what they are told.

What the page on guarantees says of both is what they may see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

import fsspec_commit as fc
from tests.protocol.invariants import job_ids, model, state_of
from tests.scenes.places import LocalPlace

if TYPE_CHECKING:
    from tests.scenes.flat_place import FlatPlace

Plain: TypeAlias = Callable[[str], list[str]]
"""What a reader finds below a directory."""
Asking: TypeAlias = Callable[[fc.CommittedFiles], Any]
"""What a reader finds in these files."""
Files = dict[str, str]
"""What the one row of each file says, by the name of the file."""
OLD = {"day=1/old.parquet": "old 1", "day=1/same.parquet": "old same", "day=2/old.parquet": "old 2"}
NEW = {"day=1/same.parquet": "new same", "day=1/new.parquet": "new 1", "day=3/new.parquet": "new 3"}
JOBS: dict[str, dict[str, Any]] = {
    "append": {"mode": "append"},
    "error": {"mode": "error"},
    "ignore": {"mode": "ignore"},
    "overwrite": {"mode": "overwrite"},
    "overwrite_partitions": {"mode": "overwrite_partitions"},
    "overwrite, in place": {"mode": "overwrite", "names": "exact"},
}


class Readers:
    """Every reader, at each moment that it is asked.

    Args:
        place: What they read.
        job: Which of the jobs comes.
        plain: Those that know nothing of jobs.
        asking: Those that are given what is committed.
        refusals: How plain ones say that there is nothing to read, or not only what they read.
        aborts: Whether the job is aborted.

    Attributes:
        place: What they read.
        job: Which of the jobs comes.
        old: What is there before the job comes.
        refused: Who refused to read anything, and in which state the job was.
        states: In which states it was.
        read: Who has read something when they were last asked.
    """

    def __init__(
        self,
        place: LocalPlace | FlatPlace,
        job: str,
        plain: Mapping[str, Plain],
        asking: Mapping[str, Asking],
        *,
        refusals: Mapping[str, tuple[type[Exception], ...]] | None = None,
        aborts: bool = False,
    ) -> None:
        options = JOBS[job]
        self.place = place
        self.job = job
        self.old = {} if options["mode"] in {"error", "ignore"} else OLD
        if isinstance(place, LocalPlace):
            place.path.mkdir(exist_ok=True)
        place.put({name: _parquet(label) for name, label in self.old.items()})
        self.refused = set[tuple[str, str]]()
        self.states = set[str]()
        self.read = set[str]()
        self._plain, self._asking, self._refusals = plain, asking, refusals or {}
        self._old, self._new = set(self.old.values()), set(NEW.values())
        exact = options.get("names") == "exact"
        new = NEW if exact else {_unique(name): label for name, label in NEW.items()}
        self._in_place = {self.old[name] for name in self.old.keys() & new.keys()}
        after = model(_bytes(self.old), _bytes(new), str(options["mode"]))
        self._after = self._old if aborts else {data.decode() for data in after.values()}

    async def look(self) -> None:
        snapshot = self.place.snapshot()
        (job_id,) = job_ids(snapshot) or [""]
        state = state_of(snapshot, job_id) if job_id else "over"
        self.states.add(state)
        self.read.clear()
        for name, read in self._plain.items():
            try:
                rows = sorted(read(self.place.url))
            except self._refusals.get(name, ()):
                self.refused.add((name, state))
                continue
            self.read.add(name)
            assert self._may_list(state, rows), f"{name} sees {rows} of a job that is {state}"
        asking: Any = fc.committed_files
        found = await asking.__wrapped__(self.place.url)
        for name, ask in self._asking.items() if found else ():
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


def run(url: str, options: dict[str, Any], *, aborts: bool = False) -> None:
    job = fc.Job(url, **options).start()
    with job.task() as task:
        for name, label in NEW.items():
            with task.open(name) as file:
                file.write(_parquet(label))
    if aborts:
        job.abort()
    else:
        job.commit()
