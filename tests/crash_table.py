"""What is seen after a crash at any store call of a commit, and what recovery does: from runs.

``python -m tests.crash_table`` writes the tables of `docs/crash-table.md` anew; a test compares.
The job overwrites two files with two others, a task each; its driver dies after each call that
changes the store, and what it leaves is looked at, resumed, aborted and cleaned, each by itself.
"""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
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
    from collections.abc import Callable, Collection, Iterable, Iterator

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
    *("died after", "`jobs`", "who lists sees", "`committed_files()`"),
    *("`resume`", "`abort`", "`clean --delete`"),
)
READS = {"stat", "read", "read_range", "list_tree", "list_children", "pending", "stored_parts"}
OLD = {"old-1.txt": b"old 1", "old-2.txt": b"old 2"}
NEW = {"new@0.txt": b"new 0", "new@1.txt": b"new 1"}
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


class Job(NamedTuple):
    """What dies: a commit, or an abort."""

    run: Callable[[Place], None]
    expected: dict[str, bytes]


def commit(place: Place) -> None:
    """The reference job."""
    with _job(place) as job:
        _write(job)


def abort(place: Place) -> None:
    """The same, aborted when its tasks have committed."""
    with _job(place) as job:
        _write(job)
        job.abort()


def _job(place: Place) -> fc.Job:
    job = fc.Job(place.url, mode="overwrite")
    job._begun_here = False  # Who dies is not warned of what it leaves.
    return job


def _write(job: fc.Job) -> None:
    for number in range(len(NEW)):
        with job.task(number) as task, task.open("new.txt", "w") as file:
            file.write(f"new {number}")


JOBS = {"commit": Job(commit, NEW), "abort": Job(abort, OLD)}


@contextmanager
def laid_out(where: str) -> Iterator[Place]:
    """A destination with the old files and the marker of whoever wrote them."""
    place = MemoryPlace() if where == "memory" else FlatPlace(make_bucket(ALL_HABITS[where]))
    place.put({**OLD, "_SUCCESS": b""})
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
    with laid_out(where) as place:
        calls = _run(job, place, FaultPlan())
        assert visible(place.snapshot()) == job.expected
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
        with laid_out(where) as place:
            job_id = _die(job, place, fault)
            seen = _seen(place)
            assert cells[: len(seen)] in {(), seen}, f"another run, after {fault}"
            cells = (*(cells or seen), settle(place, job_id))
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
    of_an_abort = "The same job, aborted when both of its tasks have committed:\n"
    return "\n".join(
        [f"### {heading}\n", table("commit", where), of_an_abort, table("abort", where)]
    )


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


def _seen(place: Place) -> tuple[str, ...]:
    snapshot = place.snapshot()
    shown = visible(snapshot)
    assert shown.items() <= {*OLD.items(), *NEW.items()}, shown
    states = [job.state for job in fc.jobs(place.url)]
    answer = visible({name: snapshot[name] for name in fc.committed_files(place.url).names})
    old, new = _counts(shown)
    there = [f"{old} old"] * bool(old) + [f"{new} new"] * bool(new)
    there += ["`_SUCCESS`"] * ("_SUCCESS" in snapshot)
    return (
        f"`{states[0]}`" if states else "-",
        ", ".join(there),
        {True: "old", False: "new"}[answer == OLD] if answer in (OLD, NEW) else "torn",
    )


def _path(call: Call) -> str:
    """Without the ids of this run, and within the area of the job."""
    path = call.path.partition("/out/")[2]
    path = re.sub(rf"^_commit/{JOB_ID}/", "", path)
    path = re.sub(rf"-{JOB_ID}-(\d+)(-[0-9a-f]{{16}})?", r"-…-\1", path)
    return re.sub(rf"{JOB_ID}|\d{{8}}T\d{{6}}|[0-9a-f]{{16,}}", "…", path)


def _counts(shown: Collection[str]) -> tuple[int, int]:
    """How many old files are there, and how many new ones."""
    return len(OLD.keys() & shown), len(NEW.keys() & shown)


def _resume(place: Place, job_id: str) -> str:
    old, new = _counts(visible(place.snapshot()))
    try:
        fc.resume(place.url, job_id)
    except fc.CommitError as error:
        return _refusal(error)
    assert visible(place.snapshot()) == NEW
    done = [f"publishes {len(NEW) - new}"] * (new < len(NEW)) + [f"deletes {old}"] * bool(old)
    return ", ".join([*done, "ends it"])


def _abort(place: Place, job_id: str) -> str:
    try:
        fc.abort(place.url, job_id)
    except fc.CommitError as error:
        return _refusal(error)
    assert visible(place.snapshot()) == OLD
    return "removes it"


def _clean(place: Place, job_id: str) -> str:
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
