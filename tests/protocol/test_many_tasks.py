"""Jobs of more tasks than a decision holds: the chosen attempts stand in a list beside it."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import fsspec
import pytest

import fsspec_commit as fc
from fsspec_commit.names import Partition
from fsspec_commit.protocol.claim import claim_of
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.faults import FaultPlan, FaultyStore, Kind
from tests.flat.bucket import ALL_HABITS, make_bucket, remove_bucket
from tests.protocol.faults import ALL, attempt, calls_of, recover
from tests.scenes.flat_place import FlatPlace
from tests.scenes.scene import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Iterator

INLINE = "fsspec_commit.protocol.chosen.INLINE_BYTES_MAX"
HELD = "fsspec_commit.protocol.chosen._HELD_MAX"
WRITTEN = "fsspec_commit.protocol.streamed_list._HELD_BYTES_MAX"
READ = "fsspec_commit.protocol.streamed_list._CHUNK_BYTES"


@pytest.fixture
def _beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every list were too long for the decision, and for memory."""
    monkeypatch.setattr(INLINE, 0)
    monkeypatch.setattr(HELD, 1)


@pytest.fixture
def files() -> Iterator[Files]:
    found = Files()
    yield found
    found.remove()


class Files:
    """A destination in memory, as plain fsspec sees it."""

    def __init__(self) -> None:
        self._top = f"/many-{uuid4().hex}"
        self.url = f"memory:/{self._top}/out"
        self.plain = fsspec.filesystem("memory")

    def named(self, beginning: str) -> list[str]:
        """What stands in the areas of jobs under a name of that beginning."""
        found: list[str] = self.plain.find(f"{self._top}/out/_commit")
        return [path for path in found if path.rpartition("/")[2].startswith(beginning)]

    def visible(self) -> list[str]:
        found: list[str] = self.plain.find(f"{self._top}/out")
        names = [path.rpartition("/")[2] for path in found if "/_commit/" not in path]
        return sorted(name for name in names if name != "_SUCCESS")

    def remove(self) -> None:
        with suppress(FileNotFoundError):
            self.plain.rm(self._top, recursive=True)


def started(files: Files, count: int, **options: Any) -> tuple[fc.Job, list[fc.TaskCommit]]:
    job = fc.Job(files.url, names="exact", mode="append", **options).start()
    job._begun_here = False
    messages = []
    for task_id in range(count):
        with fc.Task.from_spec(job.spec, task_id) as task, task.open(f"{task_id}.txt") as file:
            file.write(b"x")
        assert task.message is not None
        messages.append(task.message)
    return job, messages


SWEPT = ("overwrite", "collected")
FAULTS: tuple[Kind, ...] = ("crash_before", "crash_after", "error_but_applied", "applied_late")


@pytest.mark.usefixtures("_beside")
@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("habits", ["versioned", "gen2"])
@pytest.mark.parametrize("name", SWEPT)
def test_one_fault_at_any_call_of_a_bucket(
    name: str, habits: str, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsspec_commit.effects.pacing.BACKOFF_S", 0.0001)
    scene = ALL[name][0]

    def place() -> FlatPlace:
        there = FlatPlace(make_bucket(ALL_HABITS[habits]))
        there.put({**scene.old, **HIDDEN, "_SUCCESS": b""})
        return there

    whole = place()
    calls = calls_of(scene, whole)
    remove_bucket(whole.bucket)
    for verb, nth in calls:
        if (verb, nth) == ("create", 1):
            continue  # ``job.json``, which another sweep looks at: it comes before any list
        there = place()
        plan = FaultPlan([Fault(verb, nth, kind)])
        told = attempt(scene, there, partial(FaultyStore, faults=plan))
        try:
            recover(scene, there, told)
        except (AssertionError, fc.CommitError) as error:
            error.add_note(f"after {kind} at {verb} number {nth}; the driver was told {told!r}")
            raise
        remove_bucket(there.bucket)


def one_commit(files: Files, tasks: int) -> tuple[dict[str, Any], list[str]]:
    """The decision of a job whose driver dies after it, and the lists that stand beside it."""
    job, messages = started(files, tasks, tasks=tasks)
    with inject(Fault("rename", nth=1, kind="crash_before")), suppress(Crash):
        fc.Job.from_spec(job.spec).commit(messages)
    [path] = files.named("decision")
    decision: dict[str, Any] = json.loads(files.plain.cat_file(path))
    return decision, files.named("chosen-")


def test_few_tasks_stand_in_the_decision(files: Files) -> None:
    decision, lists = one_commit(files, 3)
    assert [one["task_id"] for one in decision["chosen"]] == [0, 1, 2]
    assert decision["chosen_list"] is None
    assert lists == []


def test_many_tasks_stand_beside_it(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(INLINE, 1000)
    decision, lists = one_commit(files, 9)
    assert decision["chosen"] == []
    assert decision["chosen_list"]["count"] == 9
    assert [path.rpartition("-")[2] for path in lists] == [decision["chosen_list"]["nonce"]]
    lines = files.plain.cat_file(lists[0]).splitlines()
    assert [json.loads(line)["task_id"] for line in lines] == list(range(9))
    [shown] = fc.jobs(files.url)
    assert (shown.state, shown.tasks_committed) == ("decided", 9)
    assert fc.resume(files.url, shown.job_id).file_count == 9
    assert len(files.visible()) == 9
    assert files.named("") == files.named("epoch-")


@pytest.mark.usefixtures("_beside")
def test_a_list_is_written_and_read_bit_by_bit(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WRITTEN, 700)
    monkeypatch.setattr(READ, 500)
    job, messages = started(files, 9, tasks=9)
    plan = FaultPlan()
    with wrapping(lambda store: FaultyStore(store, plan)):
        driver = fc.Job.from_spec(job.spec)
        assert driver.commit(messages).file_count == 9
    verbs = list(plan.verbs)
    assert verbs.count("write") >= 3
    assert verbs.count("read_range") >= 2 * 5
    assert files.visible() == [f"{n}.txt" for n in range(9)]


@pytest.mark.usefixtures("_beside")
@pytest.mark.parametrize("damage", ["gone", "cut", "longer", "other", "swapped", "no line"])
def test_a_list_that_is_not_the_decided_one_publishes_nothing(files: Files, damage: str) -> None:
    _, [path] = one_commit(files, 3)
    good: bytes = files.plain.cat_file(path)
    one, two, three = good.splitlines(keepends=True)
    changed = {
        "cut": one + two,
        "longer": good + three,
        "other": good.replace(b'"task_id":2', b'"task_id":3'),
        "swapped": two + one + three,
        "no line": one + two + b"{}\n",
    }
    files.plain.rm_file(path)
    if damage != "gone":
        files.plain.pipe_file(path, changed[damage])
    [shown] = fc.jobs(files.url)
    for _ in range(2):
        with pytest.raises(fc.PartialCommitError, match="chosen-"):
            fc.resume(files.url, shown.job_id)
        assert files.visible() == []
    with pytest.raises(fc.JobNotActiveError):
        fc.abort(files.url, shown.job_id)
    files.plain.pipe_file(path, good)
    assert fc.resume(files.url, shown.job_id).file_count == 3
    assert files.visible() == ["0.txt", "1.txt", "2.txt"]


@pytest.mark.usefixtures("_beside")
def test_a_decision_that_says_it_twice_is_not_acted_on(files: Files) -> None:
    decision, _ = one_commit(files, 2)
    [path] = files.named("decision")
    [list_path] = files.named("chosen-")
    decision["chosen"] = [json.loads(line) for line in files.plain.cat_file(list_path).splitlines()]
    files.plain.rm_file(path)
    files.plain.pipe_file(path, json.dumps(decision, separators=(",", ":")).encode())
    [shown] = fc.jobs(files.url)
    with pytest.raises(fc.PartialCommitError):
        fc.resume(files.url, shown.job_id)
    assert files.visible() == []


@pytest.mark.usefixtures("_beside")
@pytest.mark.parametrize("order", ["ascending", "descending", "twice"])
def test_the_order_of_messages_does_not_matter(files: Files, order: str) -> None:
    job, messages = started(files, 5, tasks=5)
    told = {"ascending": messages, "descending": messages[::-1], "twice": messages * 2}[order]
    assert list(job.commit(told).files) == [f"{n}.txt" for n in range(5)]


@pytest.mark.usefixtures("_beside")
def test_a_list_without_a_decision_goes_with_the_job(files: Files) -> None:
    """The driver died, or met another job: nothing names the list, and the next one is another."""
    job, messages = started(files, 3, tasks=3)
    with inject(Fault("create", nth=2, kind="crash_before")), suppress(Crash):
        fc.Job.from_spec(job.spec).commit(messages)
    assert len(files.named("chosen-")) == 1
    assert files.named("decision") == []
    assert fc.Job.from_spec(job.spec).commit(messages).file_count == 3
    assert files.named("chosen-") == []


def test_two_attempts_of_a_task_are_told_apart_in_any_order(files: Files) -> None:
    job, messages = started(files, 3)
    with fc.Task.from_spec(job.spec, 1) as task, task.open("again.txt") as file:
        file.write(b"x")
    assert task.message is not None
    for told in ([*messages, task.message], [task.message, *messages]):
        with pytest.raises(fc.RequestError, match="two attempts of task 1") as caught:
            job.commit(told)
        assert caught.value.kind == "duplicate_task"
    job.abort()


@pytest.mark.parametrize("collect", ["messages", "store"])
def test_what_is_missing_is_said_in_little_memory(
    files: Files, collect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsspec_commit.protocol.messages._LOOKED_FOR_MAX", 100)
    job, _ = started(files, 3, tasks=20_000_000, collect=collect)
    tracemalloc.start()
    try:
        with pytest.raises(fc.RequestError) as caught:
            job.commit()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    said = {
        "messages": "20000000 of 20000000 tasks have no message: 0 to 19999999; pass",
        "store": "at least 1021 of 20000000 tasks have no message: 3 to 1023, …; wait",
    }
    assert said[collect] in str(caught.value)
    assert peak < 4_000_000
    job.abort()


@pytest.mark.parametrize("looked_for", [69, 70])
def test_of_many_tasks_nobody_looks_which_have_committed(
    files: Files, looked_for: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To hold the names of millions takes a gigabyte, for a sentence."""
    monkeypatch.setattr("fsspec_commit.protocol.check._LOOKED_FOR_MAX", looked_for)
    job, messages = started(files, 60, tasks=70)
    with pytest.raises(fc.RequestError) as caught:
        job.commit(messages[:10])
    notes = getattr(caught.value, "__notes__", [])
    assert any("50 tasks committed" in note for note in notes) == (looked_for == 70)
    job.abort()


def test_the_first_missing_tasks_are_named(files: Files) -> None:
    job, messages = started(files, 60, tasks=70)
    told = [message for message in messages if message.task_id % 2 or message.task_id > 50]
    with pytest.raises(fc.RequestError) as caught:
        job.commit(told)
    runs = ", ".join(str(n) for n in range(0, 40, 2))
    assert f"36 of 70 tasks have no message: {runs}, …; pass" in str(caught.value)
    job.abort()


@pytest.mark.usefixtures("_beside")
def test_one_whose_message_is_anothers_is_damaged(files: Files) -> None:
    job, _ = started(files, 2, tasks=2, collect="store")
    one, other = (path for path in files.plain.find(files.url) if "/chosen/" in path)
    data = files.plain.cat_file(one)
    files.plain.rm_file(other)
    files.plain.pipe_file(other, data)
    with pytest.raises(fc.CommitError, match="damaged") as caught:
        job.commit()
    assert caught.value.outcome == "not_committed"
    job.abort()


def test_jobs_that_are_cleaned_leave_no_list(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(INLINE, 0)
    job, messages = started(files, 3)
    with inject(Fault("create", nth=2, kind="crash_before")), suppress(Crash):
        fc.Job.from_spec(job.spec).commit(messages)
    fc.clean(files.url, older_than=timedelta(0), dry_run=False)
    assert files.named("chosen-") == []
    assert files.visible() == []


def test_partitions_that_make_a_claim_too_long_claim_the_whole(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, _ = started(files, 0)
    written = {Partition(f"day={n}") for n in range(50)}

    def claimed() -> tuple[str, ...] | None:
        return claim_of(job.spec.record, written, "0" * 32, reusable_names=True).partitions

    assert claimed() == tuple(sorted(written))
    monkeypatch.setattr("fsspec_commit.records.job.Claim.limit_bytes", 400)
    assert claimed() is None
    job.abort()


def test_more_partitions_than_a_record_holds_are_refused_at_the_start(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsspec_commit.records.job.JobRecord.limit_bytes", 2000)
    job = fc.Job(
        files.url, mode="overwrite_partitions", partitions=[f"day={n}" for n in range(200)]
    )
    with pytest.raises(fc.RequestError, match="200 partitions") as caught:
        job.start()
    assert caught.value.kind == "too_many_partitions"
    assert files.named("") == []
