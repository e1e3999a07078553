"""A job that processes, threads or anything with a ``map`` publish, beside its driver."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.pool import ThreadPool
from typing import TYPE_CHECKING, Any

import pytest
from fsspec.callbacks import Callback
from fsspec.implementations.memory import MemoryFileSystem

import fsspec_commit as fc
from fsspec_commit.errors import PartialCommitError
from fsspec_commit.location import Location
from fsspec_commit.protocol import commit
from fsspec_commit.records.slices import DeleteSlice, PublishSlice, answer_of, slice_of
from fsspec_commit.sync.spreading import elsewhere_by
from tests.protocol.invariants import job_ids, raw_visible, snapshot_of
from tests.scenes.remotes import on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.scenes.remotes import Remote

TASKS = 4
FILES = [f"day={day}/{number}.txt" for day in range(2) for number in range(3)]


@pytest.fixture(autouse=True)
def _slices_of_few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsspec_commit.sync.spreading.FILES_MIN", 2)


@pytest.fixture(scope="module")
def spawned() -> Iterator[ProcessPoolExecutor]:
    with Noting(2, mp_context=get_context("spawn")) as executor:
        yield executor


@pytest.fixture
def processes(spawned: ProcessPoolExecutor) -> ProcessPoolExecutor:
    """Two processes, which have noted nothing yet."""
    noted(spawned)
    return spawned


class Noting(ProcessPoolExecutor):
    """Notes what it is given."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        noted = self.__dict__.setdefault("noted", [])
        noted.append(slice_of(args[0]))
        return super().submit(fn, *args, **kwargs)


def noted(processes: ProcessPoolExecutor) -> list[PublishSlice | DeleteSlice]:
    """What it was given since it was asked last."""
    slices: list[PublishSlice | DeleteSlice] = processes.__dict__.pop("noted", [])
    return slices


class InTurn:
    """A publisher that calls here and now, but for those calls that it spoils."""

    def __init__(self, spoil: Callable[[int, str], str | None] = lambda _, answer: answer) -> None:
        self.slices: list[PublishSlice | DeleteSlice] = []
        self.spoil = spoil

    def map(self, function: Callable[[str], str], texts: Sequence[str], /) -> Iterator[str]:
        for number, text in enumerate(texts):
            self.slices.append(slice_of(text))
            answer = self.spoil(number, function(text))
            if answer is not None:
                yield answer


def write(destination: object, **options: Any) -> fc.CommitResult:
    with fc.Job(destination, **options) as job:  # type: ignore[arg-type]  # a path or a URL
        for task_id in range(TASKS):
            with job.task(task_id) as task:
                for name in FILES:
                    with task.open(name, "w") as file:
                        file.write(f"{job.mode} {task_id} {name}")
    return job.result


def expected(mode: str) -> list[str]:
    return sorted(f"{mode} {task_id} {name}" for task_id in range(TASKS) for name in FILES)


def contents(destination: Path) -> list[str]:
    return sorted(data.decode() for data in raw_visible(snapshot_of(destination)).values() if data)


def test_p1_p9_processes_publish_and_delete(tmp_path: Path, processes: ProcessPoolExecutor) -> None:
    callback = Callback()
    write(tmp_path / "out", mode="append", publisher=processes, callback=callback)
    published = noted(processes)
    assert [type(one) for one in published] == [PublishSlice] * TASKS
    # Nobody else can have published a file: none is looked at again.
    assert not any(one.resuming for one in published if isinstance(one, PublishSlice))
    assert contents(tmp_path / "out") == expected("append")
    assert (callback.size, callback.value) == (TASKS * len(FILES),) * 2
    result = write(tmp_path / "out", mode="overwrite", publisher=processes)
    assert result.replaced_count == TASKS * len(FILES)
    assert {type(one) for one in noted(processes)} == {PublishSlice, DeleteSlice}
    assert contents(tmp_path / "out") == expected("overwrite")
    assert job_ids(snapshot_of(tmp_path / "out")) == []


def test_p9_files_are_replaced_in_place_by_others(
    tmp_path: Path, processes: ProcessPoolExecutor
) -> None:
    def job(mode: fc.Mode, publisher: fc.Publisher | None) -> fc.CommitResult:
        with fc.Job(tmp_path, mode=mode, names="exact", publisher=publisher) as job:
            for number, name in enumerate(FILES):
                with job.task() as task, task.open(name, "w") as file:
                    file.write(f"{mode} {number}")
        return job.result

    job("append", None)
    assert len(job("overwrite", processes).in_place) == len(FILES)
    assert all(one.in_place for one in noted(processes) if isinstance(one, PublishSlice))
    assert contents(tmp_path) == [f"overwrite {number}" for number in range(len(FILES))]


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ThreadPool])
def test_p1_anything_with_a_map_publishes(tmp_path: Path, pool: Any) -> None:
    with pool(2) as publisher:
        write(tmp_path, mode="append", publisher=publisher)
    assert contents(tmp_path) == expected("append")


def test_p8_what_dies_is_done_by_the_driver(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Dying(ProcessPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            return super().submit(os._exit, 1)

    with Dying(1, mp_context=get_context("spawn")) as publisher:
        result = write(tmp_path, mode="append", publisher=publisher)
    assert result.file_count == len(contents(tmp_path)) == TASKS * len(FILES)
    (said,) = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert "4 of 4 slices were lost elsewhere, and are done here: BrokenProcessPool" in said


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda n, answer: answer if n else None, "1 of 4 slices were lost"),
        (lambda n, answer: answer if n else "{}", "no answer of a slice"),
        (
            lambda n, answer: answer.replace('"files":6', '"files":5'),
            "slice 2 was answered with 5 files instead of 6, and is done here",
        ),
        (
            lambda n, answer: f'{{"number":{n},"files":6,"failure":"no disk"}}',
            "slice 2 was not done elsewhere, and is done here: no disk",
        ),
    ],
    ids=["lost", "garbage", "wrong", "failed"],
)
def test_p1_only_what_is_answered_for_is_done(
    tmp_path: Path, spoil: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    publisher, callback = InTurn(spoil), Callback()
    write(tmp_path, mode="append", publisher=publisher, callback=callback)
    assert len(publisher.slices) == TASKS
    # It does not say that it runs nothing twice, so files are looked at.
    assert all(isinstance(one, PublishSlice) and one.resuming for one in publisher.slices)
    assert contents(tmp_path) == expected("append")
    assert callback.value == TASKS * len(FILES)
    messages = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert any(said in one for one in messages), messages


@pytest.mark.parametrize("end", [asyncio.CancelledError(), GeneratorExit(), KeyboardInterrupt()])
@pytest.mark.parametrize("from_future", [False, True], ids=["map", "future"])
def test_p8_whatever_a_publisher_raises_the_driver_publishes(
    tmp_path: Path, end: BaseException, caplog: pytest.LogCaptureFixture, *, from_future: bool
) -> None:
    """It is not taken for an interrupt of the driver itself."""

    class Raising(Executor if from_future else object):  # type: ignore[misc]  # one of two
        def map(self, *_: Any, **__: Any) -> Iterator[str]:
            raise end

        def submit(self, *_: Any, **__: Any) -> Future[str]:
            future = Future[str]()
            future.set_exception(end)
            return future

    write(tmp_path, mode="append", publisher=Raising())
    assert contents(tmp_path) == expected("append")
    assert "4 of 4 slices were lost elsewhere, and are done here" in caplog.text


def test_p1_what_nobody_foresees_is_told_without_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not raised: executors of clusters log what is, and show it on their pages."""

    async def unforeseen(*_: object) -> None:
        raise ValueError("hush")

    monkeypatch.setattr("fsspec_commit.sync.spreading.run_slice", unforeseen)
    with caplog.at_level(logging.DEBUG):
        write(tmp_path, mode="append", publisher=InTurn())
    assert caplog.text.count("done here: ValueError at test_publisher.py:") == TASKS
    assert "hush" not in caplog.text
    assert contents(tmp_path) == expected("append")


def test_p8_a_width_that_is_no_number_is_not_believed(tmp_path: Path) -> None:
    publisher = InTurn()
    publisher.width = "many"  # type: ignore[attr-defined]  # a mistake
    write(tmp_path, mode="append", publisher=publisher)
    assert contents(tmp_path) == expected("append")
    assert len(publisher.slices) == TASKS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process can be forked here")
def test_p1_files_in_memory_are_published_by_their_own_process() -> None:
    """A forked process has a copy of them, and would publish that."""
    place = MemoryFileSystem()
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as publisher:
        write("memory://of-its-own-process", mode="append", publisher=publisher)
    data = [one for one in place.find("/of-its-own-process") if one.endswith(".txt")]
    place.rm("/of-its-own-process", recursive=True)
    assert len(data) == TASKS * len(FILES)


def decided(destination: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of a job that is decided, and of which no file is published."""

    async def broken(*_: object, **how: object) -> None:
        raise PartialCommitError("the network is down")

    with monkeypatch.context() as patch:
        patch.setattr(commit, "publish_files", broken)
        with pytest.raises(PartialCommitError):
            write(destination, mode="append")
    return job_ids(snapshot_of(destination))[0]


def test_p8_a_resumer_spreads_what_is_left(
    tmp_path: Path, processes: ProcessPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = decided(tmp_path, monkeypatch)
    result = fc.resume(tmp_path, job_id, publisher=processes)
    assert result.file_count == TASKS * len(FILES)
    assert all(isinstance(one, PublishSlice) and one.resuming for one in noted(processes))
    assert contents(tmp_path) == expected("append")


def test_p8_losses_elsewhere_are_told(
    tmp_path: Path, processes: ProcessPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = decided(tmp_path, monkeypatch)
    gone = next((tmp_path / "_commit").glob("*/committed/2/*/day=1/1*"))
    gone.unlink()
    with pytest.raises(PartialCommitError, match=r"2\d of 24 files are in place"):
        fc.resume(tmp_path, job_id, publisher=processes)
    result = fc.resume(tmp_path, job_id, publisher=processes, accept_loss=True)
    (warning,) = [one for one in result.warnings if one.startswith("lost: 'day=1/1")]
    assert "was left out" in warning
    assert len(contents(tmp_path)) == TASKS * len(FILES) - 1


def test_p6_a_slice_of_a_job_that_is_over_changes_nothing(tmp_path: Path) -> None:
    late: list[Callable[[], str]] = []

    class Late(InTurn):
        def map(self, function: Callable[[str], str], texts: Sequence[str], /) -> Iterator[str]:
            late.extend(lambda text=text: function(text) for text in texts)  # type: ignore[misc]
            return super().map(function, texts)

    write(tmp_path, mode="append")
    write(tmp_path, mode="overwrite", publisher=Late())
    write(tmp_path, mode="append")
    before = raw_visible(snapshot_of(tmp_path))
    assert len(late) > TASKS
    for run in late:
        assert "was finished or aborted by somebody else" in answer_of(run()).failure
    assert raw_visible(snapshot_of(tmp_path)) == before
    assert job_ids(snapshot_of(tmp_path)) == []


def test_p9_nothing_is_deleted_before_the_new_files_are_said_to_be_there(tmp_path: Path) -> None:
    """Whatever a slice is told: it reads that itself."""
    answers: list[str] = []

    class Early(InTurn):
        def map(self, function: Callable[[str], str], texts: Sequence[str], /) -> Iterator[str]:
            first = slice_of(texts[0])
            if isinstance(first, PublishSlice):
                lines = '{"start":0,"length":9,"count":1,"digest":"' + "0" * 64 + '"}'
                early = '{"type":"delete","number":0,"count":1,"decision":"%s","lines":%s}'
                answers.append(answer_of(function(early % (first.decision, lines))).failure)
                wrong = texts[0].replace(first.decision, "0" * 32)
                answers.append(answer_of(function(wrong)).failure)
                assert len(raw_visible(snapshot_of(tmp_path))) == TASKS * len(FILES), (
                    "nothing has changed"
                )
            else:
                other = texts[0].replace(first.lines.digest, "0" * 64)
                answers.append(answer_of(function(other)).failure)
            return super().map(function, texts)

    write(tmp_path, mode="append", success="none")
    write(tmp_path, mode="overwrite", success="none", publisher=Early())
    assert ["not all in place" in answers[0], "is not what this slice is of" in answers[1]] == [
        True,
        True,
    ]
    assert "not the list that was decided on" in answers[2]
    assert contents(tmp_path) == expected("overwrite")


def test_what_is_flushed_file_by_file_is_published_by_the_driver(tmp_path: Path) -> None:
    publisher = InTurn()
    write(tmp_path, mode="append", durability="full", publisher=publisher)
    assert publisher.slices == []
    assert contents(tmp_path) == expected("append")


def test_few_files_are_published_by_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsspec_commit.sync.spreading.FILES_MIN", 13)
    publisher = InTurn()
    write(tmp_path, mode="append", publisher=publisher)
    assert publisher.slices == []


def test_processes_are_sent_no_secret_unless_it_is_shared(
    tmp_path: Path, processes: ProcessPoolExecutor
) -> None:
    with fc.Job(tmp_path, mode="append", allow_empty=True) as job:
        record = job.spec.record
    location = Location("s3://bucket/out", {"endpoint_url": "http://x", "secret": "hush"})

    def sent(**options: Any) -> bytes:
        how: Any = options
        elsewhere = elsewhere_by(how, record, location)
        assert elsewhere is not None
        return pickle.dumps(elsewhere.spread._work)  # type: ignore[attr-defined]  # what is pickled

    assert b"http://x" in sent(publisher=processes)
    assert b"hush" not in sent(publisher=processes)
    assert b"hush" in sent(publisher=processes, share_secrets=True)
    for endpoint in ("http://me:hush@x", "http://x?sig=hush"):
        client = {"endpoint_url": endpoint, "region_name": "here"}
        location = Location("s3://bucket/out", {"endpoint_url": endpoint, "client_kwargs": client})
        assert b"hush" not in sent(publisher=processes)
        assert b"here" in sent(publisher=processes)
    assert b"hush" not in repr(elsewhere_by({"publisher": processes}, record, location)).encode()


@pytest.mark.parametrize("wrong", [4, "spark", {"password": "hush"}, ThreadPoolExecutor])
def test_what_cannot_publish_is_refused(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(fc.RequestError, match=r"has no map\(function, texts\)") as raised:
        fc.Job(tmp_path, publisher=wrong)
    assert raised.value.kind == "invalid_option"
    assert "hush" not in str(raised.value)
    with pytest.raises(fc.RequestError, match="has no map"):
        fc.resume(tmp_path, "20261120T140355-9c1e5d0a7b2f4e68", publisher=wrong)


@on("ministack", "strict-gcs", "gen2", by_night=("versitygw", "seaweedfs", "azurite", "hdfs"))
def test_p1_p9_processes_publish_on_stores(remote: Remote, processes: ProcessPoolExecutor) -> None:
    place = remote.place()
    options = {"publisher": processes, "share_secrets": True, **place.how}
    for mode in ("append", "overwrite"):
        result = write(place.url, mode=mode, **options)
        assert result.committer == remote.committer
        assert len(noted(processes)) >= TASKS
        data = sorted(one.decode() for one in place.data().values() if one)
        assert data == expected(mode)
    assert place.pending() == []
