"""Where users trip, and what they are told.

First the table of the API's specification, word for word; then one of many more mistakes, of whose
messages a few words are pinned.

The specification shortens job ids for the eye; messages carry the whole one, so that the command
in them can be pasted. Here ``9c1e`` stands for the job's id and ``s3://b/t`` for the destination.
"""

from __future__ import annotations

import io
import pickle
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import fsspec
import pytest

import fsspec_commit as fc
from fsspec_commit.testing import Crash, Fault, assert_committed, inject
from tests.integration.mistakes_at_work import MISTAKES

if TYPE_CHECKING:
    from tests.integration.mistakes import Mistake


@pytest.fixture(params=["memory", "local"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"memory://mistakes-{uuid4().hex}" if request.param == "memory" else str(tmp_path / "t")


def told(job: fc.Job, text: str) -> str:
    """A text of the specification, with this job in it."""
    return text.replace("9c1e", job.job_id).replace("s3://b/t", job.destination)


def write(task: fc.Task, name: str, data: bytes = b"x") -> None:
    with task.open(name) as file:
        file.write(data)


def test_1_a_plain_path_goes_to_the_working_directory(url: str) -> None:
    with pytest.raises(fc.RequestError) as caught, fc.Job(url) as job, job.task():
        pass
    assert str(caught.value) == told(
        job,
        "cannot commit job 9c1e to 's3://b/t': no file was written through its tasks; open files "
        "with task.open() or pass filesystem=task.filesystem, a plain path goes to the working "
        "directory (allow_empty=True if this is meant)",
    )
    assert caught.value.kind == "empty_job"


class Test2EveryTaskWritesOneName:
    def test_names_are_unique_by_default(self, url: str) -> None:
        for _ in range(2):
            with fc.Job(url, mode="append") as job:
                for task_id in (3, 7):
                    with job.task(task_id) as task:
                        write(task, "part.parquet")
        assert_committed(url, file_count=4)

    def test_two_tasks_with_one_exact_name(self, url: str) -> None:
        job = fc.Job(url, names="exact").start()
        for task_id in (3, 7):
            with job.task(task_id) as task:
                write(task, "part.parquet")
        with pytest.raises(fc.RequestError) as caught:
            job.commit()
        job.abort()
        message = "tasks 3 and 7 both wrote 'part.parquet'; use names=\"unique\""
        assert str(caught.value) == message
        assert caught.value.kind == "duplicate_file"

    def test_an_append_with_an_exact_name(self, url: str) -> None:
        with fc.Job(url, names="exact") as job, job.task() as task:
            write(task, "part.parquet")
        with (
            pytest.raises(fc.DestinationExistsError) as caught,
            fc.Job(url, mode="append", names="exact") as job,
            job.task() as task,
        ):
            write(task, "part.parquet")
        assert str(caught.value) == told(
            job,
            "'part.parquet' exists in 's3://b/t' and mode=\"append\" never replaces a file; use "
            'names="unique" or mode="overwrite"',
        )

    def test_an_append_with_a_hidden_name(self, url: str) -> None:
        """Hidden names are never made unique: it is no use to say so."""
        with fc.Job(url) as job, job.task() as task:
            write(task, "_metadata")
        with (
            pytest.raises(fc.DestinationExistsError) as caught,
            fc.Job(url, mode="append") as job,
            job.task() as task,
        ):
            write(task, "_metadata")
        assert str(caught.value) == told(
            job,
            "'_metadata' exists in 's3://b/t' and mode=\"append\" never replaces a file; use "
            'another name (hidden ones stay as given) or mode="overwrite"',
        )

    def test_two_tasks_with_one_hidden_name(self, url: str) -> None:
        job = fc.Job(url).start()
        for task_id in (3, 7):
            with job.task(task_id) as task:
                write(task, "_metadata")
        with pytest.raises(fc.RequestError, match="use another name") as caught:
            job.commit()
        job.abort()
        assert caught.value.kind == "duplicate_file"

    def test_an_append_where_a_directory_stands(self, tmp_path: Path) -> None:
        """No mode replaces a directory by a file."""
        (tmp_path / "part.parquet").mkdir()
        with (
            pytest.raises(fc.DestinationExistsError) as caught,
            fc.Job(tmp_path, mode="append", names="exact") as job,
            job.task() as task,
        ):
            write(task, "part.parquet")
        assert "as a directory" in str(caught.value)
        assert "overwrite" not in str(caught.value)


def test_3_what_belongs_to_a_process_is_sent_to_another(url: str) -> None:
    with fc.Job(url, allow_empty=True) as job:
        task = job.task()
        for what, thing in (
            ("a task", task),
            ("a job", job),
            ("the filesystem of a task", task.filesystem),
        ):
            with pytest.raises(TypeError) as caught:
                pickle.dumps(thing)
            assert str(caught.value) == (
                f"{what} cannot be pickled: its files would never reach the driver; send "
                "job.spec, call Task.from_spec(spec, task_id) there and return task.message"
            )
        assert pickle.loads(pickle.dumps(job.spec)).job_id == job.job_id
        task.abort()


def test_4_messages_are_forgotten(url: str) -> None:
    job = fc.Job(url, tasks=100).start()
    messages: list[fc.TaskCommit] = []
    for task_id in set(range(100)) - {17, 63}:
        with fc.Task.from_spec(job.spec, task_id) as task:
            write(task, "a")
        assert task.message is not None
        messages.append(task.message)
    with pytest.raises(fc.RequestError) as caught:
        job.commit(messages)
    assert str(caught.value) == told(
        job,
        "cannot commit job 9c1e: 2 of 100 tasks have no message: 17, 63; pass every TaskCommit to "
        "job.commit(messages), or retry them",
    )
    assert caught.value.kind == "missing_tasks"
    for task_id in (17, 63):
        with job.task(task_id) as task:
            write(task, "a")
    assert job.commit(messages).file_count == 100


def test_5_a_tasks_exception_is_caught(url: str) -> None:
    job = fc.Job(url).start()
    with job.task(0) as task:
        write(task, "a")
    with pytest.raises(ValueError, match="boom"), job.task(3):
        raise ValueError("boom")
    with pytest.raises(fc.RequestError) as caught:
        job.commit()
    job.abort()
    assert str(caught.value) == (
        "task 3 failed with ValueError('boom') and was not retried; use job.task(3) to retry, or "
        "call task.abort() to leave it out on purpose"
    )
    assert caught.value.kind == "missing_tasks"


def test_6_a_file_is_left_open(url: str) -> None:
    opened: list[object] = []
    with pytest.raises(fc.RequestError) as caught, fc.Job(url) as job, job.task(3) as task:
        opened.append(task.open("a.csv"))
    assert str(caught.value) == (
        "task 3 has an open file 'a.csv'; close it before the task ends, or write it inside "
        '"with task.open(...)"'
    )
    assert caught.value.kind == "file_open"


def test_7_a_file_is_appended_to_read_or_renamed(url: str) -> None:
    text = (
        "files of a task are write-once, on every store; write a local file, and it is uploaded: "
        "with task.local_file('a') as path"
    )
    with fc.Job(url) as job, job.task() as task:
        write(task, "a")
        filesystem = task.filesystem
        attempts: list[Any] = [
            lambda: task.open("a", "ab"),  # type: ignore[arg-type]  # the mistake
            lambda: task.open("a", "r+"),  # type: ignore[arg-type]
            lambda: task.open("a", "rb"),  # type: ignore[arg-type]
            lambda: filesystem.open("a", "rb"),
            lambda: filesystem.cat_file("a"),
            lambda: filesystem.mv("a", "b"),
            lambda: filesystem.cp_file("a", "b"),
        ]
        for attempt in attempts:
            with pytest.raises(io.UnsupportedOperation) as caught:
                attempt()
            assert text in str(caught.value)
    assert_committed(url, file_count=1)


def test_8_one_partition_is_meant_and_all_would_go(url: str) -> None:
    with (
        pytest.raises(fc.RequestError) as caught,
        fc.Job(url, mode="overwrite_partitions") as job,
        job.task() as task,
    ):
        write(task, "x.parquet")
    assert str(caught.value) == told(
        job,
        "cannot write 'x.parquet' to 's3://b/t' itself: mode=\"overwrite_partitions\" replaces "
        "whole directories, and for a file in none it would clear everything there; give "
        "partition_by=, or write it into a partition's directory, such as 'day=2026-11-20', or use "
        'mode="overwrite" if all of it is to be replaced',
    )
    assert caught.value.kind == "file_outside_partition"


def test_9_commit_is_forgotten(url: str, caplog: pytest.LogCaptureFixture) -> None:
    job = fc.Job(url).start()
    with job.task() as task:
        write(task, "a")
    expected = told(
        job,
        "job 9c1e to 's3://b/t' was neither committed nor aborted; use \"with Job(...)\", or "
        "settle it with: fsspec-commit abort s3://b/t 9c1e",
    )
    destination, job_id = job.destination, job.job_id
    del task
    with pytest.warns(ResourceWarning) as caught:
        del job
    assert [str(warning.message) for warning in caught] == [expected]
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        expected
    ]
    assert [info.state for info in fc.jobs(destination)] == ["open"]
    fc.abort(destination, job_id)
    assert fc.jobs(destination) == []


def test_10_a_partial_commit_is_cleaned_up_after(url: str) -> None:
    """Ten tasks wrote 100 files each, and the store goes down for good after 812 of them."""
    down = [Fault("rename", nth, "error") for nth in range(813, 10_000)]
    with inject(*down):
        job = fc.Job(url).start()
        for _ in range(10):
            with job.task() as task:
                for number in range(100):
                    write(task, f"{number}.txt")
        with pytest.raises(fc.PartialCommitError) as caught:
            job.commit()
    assert str(caught.value).startswith(
        told(
            job,
            "812 of 1000 files are in place and the rest will follow; delete nothing; finish with "
            "job.commit() or: fsspec-commit resume s3://b/t 9c1e",
        )
    )
    assert (caught.value.done, caught.value.remaining) == (812, 188)
    assert caught.value.outcome == "partial"
    assert fc.resume(job.destination, job.job_id).file_count == 1000
    assert_committed(url, file_count=1000)
    with pytest.raises(fc.JobNotActiveError):
        job.commit()


@pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")
def test_a_decided_job_whose_file_somebody_deletes(tmp_path: Path) -> None:
    """It was told to resume, and that the rest would follow, each time that it was resumed."""
    with inject(Fault("rename", 1, "crash_before")), suppress(Crash):
        job = fc.Job(tmp_path / "t", mode="append").start()
        with job.task() as task:
            write(task, "a.txt")
        job.commit()
    [left] = fc.jobs(tmp_path / "t")
    assert left.state == "decided"
    [source] = (tmp_path / "t/_commit").rglob("a-*.pending")
    source.unlink()
    with pytest.raises(fc.PartialCommitError) as caught:
        fc.resume(tmp_path / "t", left.job_id)
    resume = f"fsspec-commit resume {tmp_path / 't'} {left.job_id}"
    assert str(caught.value).startswith(
        "0 of 1 files are in place, and one cannot follow; delete nothing; if it is put back, "
        f"finish with job.commit() or: {resume}; if nobody can, publish the others with: "
        f"{resume} --accept-loss ("
    )
    assert f"not at {str(source)!r} either as its task wrote it" in str(caught.value)
    assert fc.resume(tmp_path / "t", left.job_id, accept_loss=True).warnings


def test_a_worker_that_works_elsewhere() -> None:
    """In memory of its own, or on its machine's disk: it was told that the job had ended."""
    job = fc.Job(f"memory://mistakes-{uuid4().hex}").start()
    with fc.Task.from_spec(job.spec, 0) as task:
        write(task, "a")
    memory = fsspec.filesystem("memory")
    memory.rm([path for path in memory.find(job.destination) if "/manifests/" in path])
    with pytest.raises(fc.RecordError, match="elsewhere, as to the worker's own memory or disk"):
        job.commit([task.message])
    spec = job.spec
    job.abort()
    with pytest.raises(fc.JobNotActiveError, match=r"not seen from here: .* must be one place"):
        write(fc.Task.from_spec(spec, 1), "a")


@pytest.mark.parametrize("text", ["", "{}"])
def test_a_text_that_is_neither_a_spec_nor_a_message(text: str) -> None:
    """It spoke of a "JobRecord record", which nobody but this library knows."""
    with pytest.raises(fc.RecordError, match=r"no spec of a job, as JobSpec\.to_json\(\) gives"):
        fc.JobSpec.from_json(text)
    with pytest.raises(fc.RecordError, match=r"no message of a task, as to_json\(\) gives one"):
        fc.TaskCommit.from_json(text)


def test_all_jobs_for_the_id_of_one(url: str) -> None:
    job = fc.Job(url).start()
    ids: Any = fc.jobs(url)
    with pytest.raises(fc.RequestError) as caught:
        fc.resume(url, ids)
    shown, _, how = str(caught.value).partition("… is not a job id: ")
    assert shown == repr(ids)[:80]
    assert how == "pass the .job_id of one of them at a time"
    job.abort()


@pytest.mark.parametrize("path", ["spec.json", "/jobs/spec.json", "s3://bucket/a b/spec.txt"])
def test_a_path_for_the_text_in_it(path: str) -> None:
    """It spoke of malformed JSON."""
    for kind, noun in ((fc.JobSpec, "spec"), (fc.TaskCommit, "message")):
        with pytest.raises(fc.RecordError) as caught:
            kind.from_json(path)
        told = f"this looks like a path: give the text of the file that holds the {noun}"
        assert str(caught.value) == told


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_told(mistake: Mistake, tmp_path: Path) -> None:
    """What, where, why and what now, in one line, and by us: not by whatever stumbles first."""
    out = str(tmp_path / "out") if mistake.on_disk else f"memory://mistakes-{uuid4().hex}"
    with pytest.raises(mistake.error) as caught:
        mistake.make(out)
    error = caught.value
    assert isinstance(error, mistake.error)
    told = str(error)
    assert [words for words in mistake.says if words not in told] == [], told
    assert told.isprintable()
    assert " object at 0x" not in told
    assert getattr(error, "kind", None) == mistake.kind
    assert getattr(error, "outcome", "not_committed") == "not_committed"
    last = Path(caught.traceback[-1].path)
    assert {"fsspec_commit", "fsspec_commit_stores"} & set(last.parts), f"raised by {last}"
    if not mistake.on_disk:
        assert fc.jobs(out) == []
        assert fsspec.filesystem("memory").find(out) == []


@pytest.mark.parametrize(
    "wrong",
    [{"mode": "w", "encoding": "utf-99"}, {"compression": "none"}, {"mode": "w", "newline": "x"}],
    ids=str,
)
def test_a_file_that_is_not_opened_leaves_its_name_as_it_was(
    wrong: dict[str, Any], url: str
) -> None:
    """What the name held was gone, and the task could not commit."""
    with fc.Job(url) as job, job.task() as task:
        write(task, "a")
        with pytest.raises(fc.RequestError):
            task.open("a", **wrong)
    assert_committed(url, file_count=1)
