"""Which messages a commit takes: passed in, of its own tasks, remembered when it failed."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

import fsspec_commit as fc
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.committer_contract.given import request_refused, write


class MistakeError(Exception):
    """Raised by the code around the library."""


def worker(job: fc.Job, number: int, name: str) -> fc.TaskCommit:
    """A whole attempt, as another process makes it."""
    with fc.Task.from_spec(job.spec, number) as task:
        write(task, {name: name.encode()})
    assert task.message is not None
    return task.message


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    """One with an old file, and a job that is decided and whose driver died."""
    destination = tmp_path / "out"
    with fc.Job(destination, mode="append") as job, job.task() as task:
        write(task, {"day=1/old.txt": b"precious"})
    with (
        inject(Fault("rename", 1, "crash_before")),
        suppress(Crash),
        fc.Job(destination, mode="overwrite_partitions") as other,
        other.task() as task,
    ):
        write(task, {"day=1/other.txt": b"other"})
    return destination


def settle_other(destination: Path, job: fc.Job) -> None:
    """What the message of the error says."""
    [other] = [one.job_id for one in fc.jobs(destination) if one.job_id != job.job_id]
    fc.resume(destination, other)


def visible(destination: Path) -> list[str]:
    files = (path for path in destination.rglob("day=*/*") if path.is_file())
    return sorted(path.name.partition("-")[0] for path in files)


def as_list(messages: list[fc.TaskCommit]) -> Iterable[fc.TaskCommit]:
    return messages


def as_generator(messages: list[fc.TaskCommit]) -> Iterator[fc.TaskCommit]:
    yield from messages


def overwriting(destination: Path) -> fc.Job:
    return fc.Job(destination, mode="overwrite_partitions", partitions=["day=1"], wait_s=0.1)


@pytest.mark.guarantees("P1", "P3", "P9")
@pytest.mark.parametrize("given", [as_list, as_generator])
@pytest.mark.parametrize("explicit", [False, True])
def test_a_commit_that_is_called_again_commits_the_same(
    destination: Path,
    given: Callable[[list[fc.TaskCommit]], Iterable[fc.TaskCommit]],
    explicit: bool,
) -> None:
    """Also by leaving the block: never without the messages, which would clear the partition."""
    with overwriting(destination) as job:
        chosen, _ = worker(job, 0, "day=1/new.txt"), worker(job, 0, "day=1/late.txt")
        with pytest.raises(fc.ConcurrentJobError):
            job.commit(given([chosen]))
        settle_other(destination, job)
        if explicit:
            job.commit()
    assert job.result is not None
    assert job.result.file_count == 1
    assert visible(destination) == ["new"]


def test_a_caller_may_choose_anew(destination: Path) -> None:
    """Another list is another choice, an empty one, too; the last one is remembered."""
    with overwriting(destination) as job:
        first, second = worker(job, 0, "day=1/first.txt"), worker(job, 0, "day=1/second.txt")
        for messages in ([first], [], [second]):
            with pytest.raises(fc.ConcurrentJobError):
                job.commit(messages)
        settle_other(destination, job)
    assert visible(destination) == ["second"]


def test_tasks_of_the_driver_are_added_to_remembered_messages(destination: Path) -> None:
    with overwriting(destination) as job:
        with job.task(1) as task:
            write(task, {"day=1/own.txt": b"own"})
        with pytest.raises(fc.ConcurrentJobError):
            job.commit([worker(job, 0, "day=1/new.txt")])
        with job.task(2) as task:
            write(task, {"day=1/later.txt": b"later"})
        settle_other(destination, job)
    assert visible(destination) == ["later", "new", "own"]


def test_a_failed_task_of_the_driver_is_not_forgotten(destination: Path) -> None:
    """Nor is it when the messages passed in are used again."""
    with request_refused("missing_tasks"), overwriting(destination) as job:
        with pytest.raises(MistakeError), job.task(1):
            raise MistakeError
        for _ in range(2):
            with request_refused("missing_tasks"):
                job.commit([worker(job, 0, "day=1/new.txt")])
    assert "new" not in visible(destination)
    assert "old" in visible(destination)


def test_messages_that_did_not_come_are_not_left_out(destination: Path) -> None:
    """Where gathering them failed, leaving the block does not commit without them."""

    def gather() -> Iterator[fc.TaskCommit]:
        yield worker(job, 0, "day=1/new.txt")
        raise MistakeError

    with request_refused("messages_lost"), overwriting(destination) as job:
        settle_other(destination, job)
        with pytest.raises(MistakeError):
            job.commit(gather())
        with request_refused("messages_lost"):
            job.commit()
    assert visible(destination) == ["other"]
    with overwriting(destination) as job:
        with pytest.raises(MistakeError):
            job.commit(gather())
        job.commit([worker(job, 0, "day=1/again.txt")])
    assert visible(destination) == ["again"]


def test_a_refused_message_is_refused_again_when_the_block_is_left(destination: Path) -> None:
    with request_refused("not_a_message"), overwriting(destination) as job:
        settle_other(destination, job)
        with request_refused("not_a_message"):
            job.commit([None])  # type: ignore[list-item]
    assert visible(destination) == ["other"]


def test_a_message_that_no_task_sends_is_refused(tmp_path: Path) -> None:
    """It was unpickled from elsewhere, or made by hand; a huge number was an OverflowError."""
    with fc.Job(tmp_path / "out", mode="append") as job:
        right = worker(job, 0, "a.txt")
        for name in ("task_id", "attempt_id", "file_count", "bytes", "manifest", "digest"):
            for value in (1 << 64, -1, "\ud800", "x" * 100_000, None, 0.5, [], object()):
                wrong = msgspec.structs.replace(right, **{name: value})
                with request_refused("not_a_message"):
                    job.commit([wrong])
        assert job.commit([right]).file_count == 1


def test_one_message_is_no_list(destination: Path) -> None:
    with request_refused("messages_lost"), overwriting(destination) as job:
        settle_other(destination, job)
        with request_refused("not_a_message"):
            job.commit(worker(job, 0, "day=1/new.txt"))  # type: ignore[arg-type]
    assert visible(destination) == ["other"]


def test_a_job_that_collects_refuses_messages_to_the_end(tmp_path: Path) -> None:
    with (
        request_refused("unexpected_messages"),
        fc.Job(tmp_path / "out", tasks=1, collect="store") as job,
    ):
        message = worker(job, 0, "a.txt")
        with request_refused("unexpected_messages"):
            job.commit([message])
    assert not list((tmp_path / "out").glob("*.txt"))


@pytest.mark.parametrize("ending", ["abort", "commit", "fail"])
def test_an_aborted_attempt_does_not_hide_one_that_still_runs(tmp_path: Path, ending: str) -> None:
    """Two attempts of one task at once: the task is left out when nobody works at it any more."""
    job = fc.Job(tmp_path / "out", mode="append", names="exact", allow_empty=True).start()
    first, second = job.task(0), job.task(0)
    file = second.open("rows.txt", "w")
    file.write("rows")
    first.abort()
    with request_refused("missing_tasks"):
        job.commit()
    file.close()
    if ending == "commit":
        second.commit()
    elif ending == "abort":
        second.abort()
    else:
        with pytest.raises(MistakeError), second:
            raise MistakeError
        with request_refused("missing_tasks"):
            job.commit()
        second.abort()
    job.commit()
    assert [path.name for path in (tmp_path / "out").glob("*.txt")] == (
        ["rows.txt"] if ending == "commit" else []
    )


def test_an_attempt_that_still_runs_may_be_overtaken(tmp_path: Path) -> None:
    """The one that has committed counts, and the other is late."""
    job = fc.Job(tmp_path / "out", mode="append", names="exact").start()
    first, second = job.task(0), job.task(0)
    write(first, {"first.txt": b"1"})
    write(second, {"second.txt": b"2"})
    second.commit()
    job.commit()
    with pytest.raises(fc.CommitError):
        first.commit()
    first.abort()
    assert [path.name for path in (tmp_path / "out").glob("*.txt")] == ["second.txt"]
