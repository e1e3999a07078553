"""A commit that is called again, maybe by another driver: what it is told of the one before."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

import pytest
from fsspec.callbacks import Callback

import fsspec_commit as fc
from fsspec_commit.effects import pacing
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store.registry import wrapping
from fsspec_commit.sync import bridge
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.wrapped import WrappedStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store

T = TypeVar("T")

pytestmark = pytest.mark.guarantees("P7", "P8")


class Silent:
    """A store that, while it is silent, answers no call on some paths.

    It lets such a file be read once, before it is asked to create one. The first request for that
    is kept: it can be carried out later.
    """

    def __init__(self) -> None:
        self._silent: Callable[[str], bool] = lambda _: False
        self._late: list[Callable[[], Awaitable[object]]] = []
        self._unanswered: int | None = None
        self._was_read = False

    @contextmanager
    def about(
        self, part: str, *, whole: bool = False, refusing: int | None = None
    ) -> Iterator[None]:
        """Silent on paths that hold *part*, or with *whole* end in it.

        With *refusing*, only on so many creations there: later ones are refused.
        """
        self._silent = lambda path: path.endswith(part) if whole else part in path
        self._unanswered = refusing
        yield
        self._silent = lambda _: False

    def carry_out(self) -> None:
        """Carry out what was asked first, now."""

        async def late() -> None:
            await self._late[0]()

        bridge.run(late())

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if not self._silent(path):
            return await call()
        if verb == "read" and not (self._was_read or self._late):
            self._was_read = True
            return await call()
        if self._unanswered is not None:
            if verb != "create":
                return await call()
            if len(self._late) == self._unanswered:
                raise StoreError("credentials have expired", reply=Reply.REFUSED)
        if verb == "create":
            self._late.append(call)
        raise StoreError(f"no answer to {verb}", reply=Reply.UNKNOWN)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask soon again."""
    monkeypatch.setattr(pacing, "BACKOFF_S_MAX", 0.01)


@pytest.fixture
def silent() -> Silent:
    return Silent()


@pytest.fixture
def job(url: str, silent: Silent) -> fc.Job:
    """One whose files do not say whose they are, with its task committed."""
    with wrapping(lambda store: WrappedStore(store, silent.carry)):
        job = fc.Job(url, mode="append", names="exact", wait_s=0).start()
    job._begun_here = False
    attempt(job, "a.txt")
    return job


class Told(Callback):  # type: ignore[misc]  # fsspec has no types
    """Notes how many files it was told of, each time."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def set_size(self, size: int) -> None:
        self.sizes.append(size)


def attempt(job: fc.Job, name: str) -> fc.TaskCommit:
    task = job.task()
    with task.open(name, "w") as file:
        file.write("a")
    return task.commit()


def fails(job: fc.Job, error: type[fc.CommitError], outcome: str) -> None:
    with pytest.raises(error) as caught:
        job.commit()
    assert caught.value.outcome == outcome


def test_a_decision_that_may_still_come_is_not_called_off(job: fc.Job, silent: Silent) -> None:
    """Whatever later commits fail for, the request of the first can be carried out after them."""
    with silent.about("/decision"):
        fails(job, fc.CommitStateUnknownError, "unknown")
        fails(job, fc.CommitStateUnknownError, "unknown")  # It could not even be asked.
    with silent.about("/claim-"):
        fails(job, fc.CommitFailedError, "unknown")
    silent.carry_out()
    assert [one.state for one in fc.jobs(job.destination)] == ["decided"]
    assert job.commit().file_count == 1


def test_a_callback_is_told_once_the_job_is_decided(job: fc.Job, silent: Silent) -> None:
    """It was told before, so whoever heard it could not know that the job will be committed."""
    messages = job._tasks.messages(job._started(), None, object())
    told = Told()
    with wrapping(lambda store: WrappedStore(store, silent.carry)):
        driver = fc.Job.from_spec(job.spec, callback=told)
    with silent.about("/decision"), pytest.raises(fc.CommitStateUnknownError):
        driver.commit(messages)
    assert told.sizes == []
    silent.carry_out()
    assert driver.commit().file_count == 1
    assert told.sizes == [1]


def test_a_callback_is_told_nothing_of_a_job_that_lost(job: fc.Job) -> None:
    told = Told()
    messages = job._tasks.messages(job._started(), None, object())
    driver = fc.Job.from_spec(job.spec, callback=told)
    fc.abort(job.destination, job.job_id)
    with pytest.raises(fc.JobNotActiveError):
        driver.commit(messages)
    assert told.sizes == []


def test_a_callback_is_told_by_whoever_resumes(job: fc.Job, silent: Silent) -> None:
    """Of a driver that died after its decision, and was told of it as well."""
    with silent.about("/published"):
        fails(job, fc.PartialCommitError, "partial")
    told = Told()
    assert fc.resume(job.destination, job.job_id, callback=told).file_count == 1
    assert told.sizes == [1]


def test_a_refusal_does_not_call_off_what_was_asked_before(job: fc.Job, silent: Silent) -> None:
    """It was told "not committed", to be run again, and then its first request was carried out."""
    with silent.about("/decision", refusing=1):
        fails(job, fc.CommitStateUnknownError, "unknown")
    silent.carry_out()
    assert [one.state for one in fc.jobs(job.destination)] == ["decided"]
    assert job.commit().file_count == 1


def test_whoever_cannot_settle_a_job_does_not_call_it_off(job: fc.Job, silent: Silent) -> None:
    """Its driver lives, and may commit it at any time: it is not to be run again."""
    with pytest.raises(fc.RequestError) as undecided:
        fc.resume(job.destination, job.job_id)
    assert (undecided.value.kind, undecided.value.outcome) == ("not_decided", "unknown")
    for abort in (job.abort, lambda: fc.abort(job.destination, job.job_id)):
        with (
            wrapping(lambda store: WrappedStore(store, silent.carry)),
            silent.about("/decision", refusing=0),
            pytest.raises(fc.CommitStateUnknownError),
        ):
            abort()
    assert job.commit().file_count == 1


def test_whoever_cannot_reach_a_job_does_not_call_it_off(job: fc.Job) -> None:
    """As where the kind of an account is asked for when it is opened: the job may be decided."""

    def unreachable(_: Store) -> Store:
        raise StoreError("the account cannot be reached", reply=Reply.NOT_DONE)

    def remove(where: str, job_id: str) -> None:
        fc.clean(where, damaged=[job_id])

    for settle in (fc.resume, fc.abort, remove, lambda *_: fc.Job.from_spec(job.spec)):
        with wrapping(unreachable), pytest.raises(fc.CommitStateUnknownError, match="account"):
            settle(job.destination, job.job_id)


def test_whoever_lacks_a_package_is_told_which(job: fc.Job) -> None:
    """Of an ImportError it was said that nobody foresaw it, and not what to install."""

    def missing(_: Store) -> Store:
        raise ImportError("pip install 'fsspec-commit[s3]'")

    for settle in (fc.resume, fc.abort, lambda *_: fc.Job.from_spec(job.spec)):
        with wrapping(missing), pytest.raises(ImportError, match="pip install"):
            settle(job.destination, job.job_id)


@pytest.mark.parametrize("part", ["/decision", "/published"])
def test_messages_that_are_none_do_not_call_it_off(job: fc.Job, silent: Silent, part: str) -> None:
    """They were refused as of a job that is not committed, to be run again."""
    with silent.about(part), pytest.raises(fc.CommitError):
        job.commit()
    for messages in ("no list", None):
        with pytest.raises(fc.RequestError) as caught:
            job.commit(messages)  # type: ignore[arg-type]
        assert caught.value.outcome == "unknown"
    assert job.commit([]).file_count == 1


def test_messages_that_are_none_leave_an_open_job_open(job: fc.Job) -> None:
    with pytest.raises(fc.RequestError) as caught:
        job.commit("no list")  # type: ignore[arg-type]
    assert caught.value.outcome == "not_committed"
    assert job.commit([]).file_count == 1


def test_one_that_could_not_be_started_has_not_started(url: str) -> None:
    """It was told that nobody knows how it ended."""
    with fc.Job(url, mode="append") as before:
        attempt(before, "a.txt")
    job = fc.Job(url)
    with pytest.raises(fc.DestinationExistsError):
        job.start()
    for use in (job.commit, job.task, lambda: job.job_id, lambda: job.spec):
        with pytest.raises(RuntimeError, match="has not started"):
            use()
    job.abort()


def test_one_that_was_called_off_is_aborted(job: fc.Job, silent: Silent) -> None:
    with silent.about("/decision"):
        fails(job, fc.CommitStateUnknownError, "unknown")
    fc.abort(job.destination, job.job_id)
    with pytest.raises(fc.JobNotActiveError):
        job.commit()
    assert fc.jobs(job.destination) == []


def test_without_a_decision_a_failure_is_one(job: fc.Job, silent: Silent) -> None:
    for _ in range(2):
        with silent.about("/claim-"):
            fails(job, fc.CommitFailedError, "not_committed")
    assert job.commit().file_count == 1


def test_whoever_has_decided_knows_that_a_resumer_committed(job: fc.Job, silent: Silent) -> None:
    """Also where no file carries the job's id."""
    with silent.about("/published"):
        fails(job, fc.PartialCommitError, "partial")
    assert fc.resume(job.destination, job.job_id).file_count == 1
    fails(job, fc.JobNotActiveError, "committed")
    fails(job, fc.JobNotActiveError, "committed")


@pytest.mark.guarantees("P11")
def test_a_look_that_fails_leaves_no_claim(job: fc.Job, silent: Silent) -> None:
    """The job is open again, and in nobody's way."""
    with silent.about("/out/_commit", whole=True):
        fails(job, fc.CommitFailedError, "not_committed")
    assert [one.state for one in fc.jobs(job.destination)] == ["open"]
    assert job.commit().file_count == 1


@pytest.mark.parametrize("asked", ["unanswered", "decision", "job.json"])
def test_files_of_another_driver_are_never_taken_for_anothers(
    tmp_path: Path, silent: Silent, asked: str
) -> None:
    """What stands there may be this very job's, where its decision cannot be read."""
    with wrapping(lambda store: WrappedStore(store, silent.carry)):
        job = fc.Job(tmp_path, mode="error", names="exact").start()
    job._begun_here = False
    messages = [attempt(job, name) for name in ("a.txt", "b.txt")]
    with inject(Fault("rename", 2, "crash_before")), suppress(Crash):
        fc.Job.from_spec(job.spec).commit(messages)
    assert (tmp_path / "a.txt").exists()
    if asked != "unanswered":
        (tmp_path / "_commit" / job.job_id / asked).write_text("damaged")
    with silent.about("/decision" if asked == "unanswered" else "nothing"):
        fails(job, fc.JobNotActiveError, "unknown")


@pytest.mark.parametrize("settle", [fc.resume, fc.abort])
@pytest.mark.parametrize("asked", ["/decision", "/job.json"])
def test_nobody_calls_off_a_job_whose_decision_is_not_shown(
    url: str, silent: Silent, settle: Callable[[str, str], object], asked: str
) -> None:
    """It is decided, and one of its files may be visible."""
    job = fc.Job(url, mode="append").start()
    job._begun_here = False
    messages = [attempt(job, name) for name in ("a.txt", "b.txt")]
    with wrapping(lambda store: WrappedStore(store, silent.carry)):
        again = fc.Job.from_spec(job.spec)
        with silent.about("/published"), pytest.raises(fc.PartialCommitError):
            again.commit(messages)
        with silent.about(asked):
            with pytest.raises(fc.CommitStateUnknownError) as caught:
                settle(url, job.job_id)
            assert caught.value.outcome == "unknown"
            with pytest.raises(fc.CommitError) as told:
                again.commit(messages)
            assert told.value.outcome in {"unknown", "partial"}
