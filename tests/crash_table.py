"""What is seen after a crash at any store call of a commit, and what recovery does: from runs.

``python -m tests.crash_table`` writes the tables of `docs/crash-table.md` anew; a test compares.
The job writes two files beside two old ones, or in their place, a task each; its driver dies after
each call that changes the store, and what it leaves is looked at, resumed, aborted and cleaned,
each by itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault
from fsspec_commit.testing.faults import FaultPlan, FaultyStore
from fsspec_commit.testing.recording import Call, RecordingStore
from tests.flat.bucket import ALL_HABITS, make_bucket, remove_bucket
from tests.protocol.invariants import JOB_ID, visible
from tests.scenes.flat_place import FlatPlace
from tests.scenes.memory_place import MemoryPlace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.protocol.faults import Place

PAGE = Path(__file__).resolve().parents[1] / "docs/crash-table.md"
HEAD = "<!-- Written by `python -m tests.crash_table`; a test compares it with what happens. -->\n"
COMMITTERS = {
    "v1": ("memory", "`v1`: disks, HDFS"),
    "manifest": ("gcs", "`manifest`: GCS, as it behaves"),
    "magic": ("versioned", "`magic`: S3 with versions, as it behaves"),
}
"""The committers: where each is tried, and how that is headed."""
COLUMNS = (
    *("died after", "`jobs`", "a listing shows", "`committed_files()`"),
    *("`resume`", "`abort`", "`clean --delete`"),
)
READS = {"stat", "read", "read_range", "list_tree", "list_children", "pending", "stored_parts"}
IN_WORDS = {
    "abort": "abort the upload",
    "complete": "complete the upload",
    "delete_tree": "delete all of",
    "finish": "close",
    "make_directory": "make",
    "put": "write",
    "put_part": "upload a part",
    "rename": "rename to",
    "rename_directory": "rename to",
    "start": "begin the upload",
}
"""Calls whose names are not the words for them."""


class Moment(NamedTuple):
    """A call of the job, in words, and what is found when its driver has died after it."""

    call: str
    path: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Job:
    """What dies.

    Attributes:
        mode: Its mode.
        aborts: Whether it is aborted, when its tasks have committed.
        directory: Where its files are.
        kept: What stands there before, and is none of its business.
    """

    mode: fc.Mode
    aborts: bool = False
    directory: str = ""
    kept: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def old(self) -> dict[str, bytes]:
        """The files that stand there before: it replaces them, or adds to them."""
        return {f"{self.directory}old-{number}.txt": b"old %d" % number for number in (1, 2)}

    @property
    def new(self) -> dict[str, bytes]:
        """What its tasks write, under the names that these files get."""
        return {f"{self.directory}new@{number}.txt": b"new %d" % number for number in range(2)}

    @property
    def before(self) -> dict[str, bytes]:
        """What is there before, and after an abort."""
        return {**self.kept, **self.old}

    @property
    def after(self) -> dict[str, bytes]:
        """What is there when it is committed."""
        return {**self.kept, **(self.old if self.mode == "append" else {}), **self.new}

    def run(self, place: Place) -> None:
        """All of it."""
        job = fc.Job(place.url, mode=self.mode)
        job._begun_here = False  # Who dies is not warned of what it leaves.
        with job:
            for number in range(len(self.new)):
                with job.task(number) as task, task.open(f"{self.directory}new.txt", "w") as file:
                    file.write(f"new {number}")
            if self.aborts:
                job.abort()

    def counts(self, shown: Collection[str]) -> tuple[int, int]:
        """How many old files are there, and how many new ones."""
        return len(self.old.keys() & shown), len(self.new.keys() & shown)


JOBS = {
    "commit": Job("overwrite"),
    "abort": Job("overwrite", aborts=True),
    "append": Job("append"),
    "partitions": Job("overwrite_partitions", directory="p=1/", kept={"p=2/kept.txt": b"kept"}),
}
IN_THE_PAGE = {
    "commit": "",
    "abort": "The same job, aborted when both of its tasks have committed:\n\n",
    "append": "A job that adds two files to two others, with `append`:\n\n",
    "partitions": "A job that replaces two files of one partition, with `overwrite_partitions`; a "
    "file of another partition stands there all the time, and is not counted:\n\n",
}
"""How the table of each is introduced."""


@contextmanager
def laid_out(job: Job, where: str) -> Iterator[Place]:
    """A destination with the old files and the marker of whoever wrote them."""
    place = MemoryPlace() if where == "memory" else FlatPlace(make_bucket(ALL_HABITS[where]))
    place.put({**job.before, "_SUCCESS": b""})
    try:
        # As if there were so many tasks that their messages do not fit into the decision.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("fsspec_commit.protocol.chosen.INLINE_BYTES_MAX", 0)
            yield place
    finally:
        if isinstance(place, FlatPlace):
            remove_bucket(place.bucket)
        else:
            place.remove()


def calls_of(job: Job, where: str) -> list[Call]:
    """Every store call of the job, in its order."""
    with laid_out(job, where) as place:
        calls = _run(job, place, FaultPlan())
        assert visible(place.snapshot()) == (job.before if job.aborts else job.after)
    return calls


def moments(name: str, where: str, *, reads: bool = False) -> Iterator[Moment]:
    """What is found after a crash at each call from the job's first record on.

    Args:
        name: The job, of `JOBS`.
        where: Where it is run.
        reads: Whether calls that only read are among them.
    """
    job = JOBS[name]
    calls = calls_of(job, where)
    begun = [call.verb for call in calls].index("create")
    for number, call in enumerate(calls[begun:], begun + 1):
        if reads or call.verb not in READS:
            nth = [one.verb for one in calls[:number]].count(call.verb)
            fault = Fault(call.verb, nth, "crash_after")
            yield Moment(IN_WORDS.get(call.verb, call.verb), _path(call), found(job, where, fault))


def found(job: Job, where: str, fault: Fault) -> tuple[str, ...]:
    """The cells of a row: what is seen, and what each way to settle it does."""
    cells: tuple[str, ...] = ()
    for settle in (_resume, _abort, _clean):
        with laid_out(job, where) as place:
            job_id = _die(job, place, fault)
            seen = _seen(job, place)
            assert cells[: len(seen)] in {(), seen}, f"another run, after {fault}"
            cells = (*(cells or seen), settle(job, place, job_id))
    return cells


def table(name: str, where: str) -> str:
    """One table: calls after which the same is found stand in one row."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    for cells, same in groupby(moments(name, where), key=lambda moment: moment.cells):
        lines.append(f"| {' | '.join(('; '.join(_calls(same)), *cells))} |")
    return "\n".join(lines) + "\n"


def part(committer: str) -> str:
    """What the page says of one committer."""
    where, heading = COMMITTERS[committer]
    tables = [said + table(name, where) for name, said in IN_THE_PAGE.items()]
    return "\n".join([f"### {heading}\n", *tables])


def page() -> str:
    """All tables."""
    return "\n".join([HEAD, *map(part, COMMITTERS)])


def _run(job: Job, place: Place, plan: FaultPlan) -> list[Call]:
    calls: list[Call] = []
    with wrapping(lambda store: FaultyStore(RecordingStore(store, calls), plan)), suppress(Crash):
        job.run(place)
    return calls


def _die(job: Job, place: Place, fault: Fault) -> str:
    plan = FaultPlan([fault])
    calls = _run(job, place, plan)
    assert plan.fired == [fault]
    ids = (re.search(rf"/_commit/({JOB_ID})/", call.path) for call in calls)
    return next(match[1] for match in ids if match)


def _seen(job: Job, place: Place) -> tuple[str, ...]:
    snapshot = place.snapshot()
    shown = visible(snapshot)
    assert job.kept.items() <= shown.items() <= {**job.before, **job.new}.items(), shown
    states = [job.state for job in fc.jobs(place.url)]
    answer = visible({name: snapshot[name] for name in fc.committed_files(place.url).names})
    old, new = job.counts(shown)
    there = [f"{old} old"] * bool(old) + [f"{new} new"] * bool(new)
    there += ["`_SUCCESS`"] * ("_SUCCESS" in snapshot)
    told = "old and new" if job.mode == "append" else "new"
    return (
        f"`{states[0]}`" if states else "-",
        ", ".join(there),
        "old" if answer == job.before else told if answer == job.after else "torn",
    )


def _path(call: Call) -> str:
    """Without the ids of this run, and within the area of the job."""
    path = call.path.partition("/out/")[2]
    path = re.sub(rf"^_commit/{JOB_ID}/", "", path)
    path = re.sub(rf"-{JOB_ID}-(\d+)(-[0-9a-f]{{16}})?", r"-…-\1", path)
    return re.sub(rf"{JOB_ID}|\d{{8}}T\d{{6}}|[0-9a-f]{{16,}}", "…", path)


def _resume(job: Job, place: Place, job_id: str) -> str:
    old, new = job.counts(visible(place.snapshot()))
    try:
        fc.resume(place.url, job_id)
    except fc.CommitError as error:
        return _refusal(error)
    assert visible(place.snapshot()) == job.after
    done = [f"publishes {len(job.new) - new}"] * (new < len(job.new))
    done += [f"deletes {old}"] * (bool(old) and job.mode != "append")
    return ", ".join([*done, "ends it"])


def _abort(job: Job, place: Place, job_id: str) -> str:
    try:
        fc.abort(place.url, job_id)
    except fc.CommitError as error:
        return _refusal(error)
    assert visible(place.snapshot()) == job.before
    return "removes it"


def _clean(_: Job, place: Place, job_id: str) -> str:
    before = visible(place.snapshot())
    report = fc.clean(place.url, older_than=timedelta(0), dry_run=False)
    assert visible(place.snapshot()) == before
    if report.aborted:
        return "aborts it"
    if any(job_id in shown for shown in report.shown):
        return "shows it"
    return "removes what is left" if report.deleted else "finds nothing"


def _refusal(error: fc.CommitError) -> str:
    if isinstance(error, fc.RequestError):
        return f"refused: `{error.kind}`"
    return f"`{type(error).__name__}`, {error.outcome}"


def _calls(moments: Iterable[Moment]) -> Iterator[str]:
    """Those of a row, each path once where several calls follow each other there."""
    for path, same in groupby(moments, key=lambda moment: moment.path):
        yield f"{', '.join(dict.fromkeys(moment.call for moment in same))} `{path}`"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
