"""Jobs that somebody else settles between two requests: no driver acts on outdated knowledge."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Store
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.committer_contract.crashes import gives_up_files
from fsspec_commit.testing.committer_contract.given import TASKS, Given, Place, write
from fsspec_commit.testing.faults import Crash, Fault, Kind, inject
from fsspec_commit.testing.wrapped import WrappedStore

T = TypeVar("T")


class _Before:
    """Before the first call of *verb* on a path with this *ending*, somebody else acts.

    The process that is made to wait for that may then die: its call is made, and none after it.
    """

    def __init__(self, verb: str, ending: str, act: Callable[[], object], *, dies: bool) -> None:
        self._call = verb, ending
        self._act: Callable[[], object] | None = act
        self._dies = dies
        self._dead = False

    def __call__(self, store: Store) -> Store:
        return WrappedStore(store, self._carry)

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if self._dead:
            raise Crash(verb)
        if verb != self._call[0] or not path.endswith(self._call[1]) or self._act is None:
            return await call()
        act, self._act = self._act, None
        await asyncio.to_thread(act)
        self._dead = self._dies
        answer = await call()
        if self._dies:
            raise Crash(verb)
        return answer


@contextmanager
def before(
    verb: str, ending: str, act: Callable[[], object], *, dies: bool = False
) -> Iterator[None]:
    """Stores that are opened inside wait before that call until *act* has returned."""
    with wrapping(_Before(verb, ending, act, dies=dies)):
        yield


@pytest.mark.guarantees("P5", "P6", "P7")
class SupersededContract(Given):
    """Where nothing refuses a record in an area that is gone, one that comes too late stands there.

    What the record says is false: it was written when the job had been settled otherwise.
    """

    def _ready(self, place: Place) -> tuple[fc.Job, list[fc.TaskCommit]]:
        job = place.job(mode="append").start()
        return job, [place.attempt(job.spec, n, files) for n, files in enumerate(TASKS)]

    def _committed_with_an_aborters_decision(
        self, place: Place, job: fc.Job, messages: list[fc.TaskCommit]
    ) -> None:
        """A twin commits while an aborter stands still; the latter decides too late, and dies."""
        twin = place.driver(job.spec)
        committing = before("create", "/decision", lambda: twin.commit(messages), dies=True)
        with committing, suppress(Crash, fc.JobNotActiveError):
            fc.abort(place.url, job.job_id, **place.how)

    def _aborted_with_a_drivers_decision(
        self, place: Place, job: fc.Job, messages: list[fc.TaskCommit]
    ) -> None:
        """An operator aborts while a driver stands still; the latter decides too late, and dies."""

        def abort() -> None:
            fc.abort(place.url, job.job_id, **place.how)

        with before("create", "/decision", abort, dies=True):
            twin = place.driver(job.spec)
        with suppress(Crash, fc.JobNotActiveError):
            twin.commit(messages)

    @pytest.mark.parametrize("ending", ["commit", "abort"])
    def test_an_aborted_decision_that_came_too_late(self, place: Place, ending: str) -> None:
        """A committed job is not called aborted, nor does `abort` of it return."""
        job, messages = self._ready(place)
        self._committed_with_an_aborters_decision(place, job, messages)
        with pytest.raises(fc.JobNotActiveError) as caught:
            job.commit(messages) if ending == "commit" else job.abort()
        assert caught.value.outcome != "not_committed", caught.value
        with pytest.raises(fc.JobNotActiveError) as elsewhere:
            fc.abort(place.url, job.job_id, **place.how)
        assert elsewhere.value.outcome != "not_committed"
        place.clean()
        place.assert_committed(*TASKS)

    def test_it_came_while_a_driver_stood_still(self, place: Place) -> None:
        """The driver finds its create refused, by a decision that means nothing."""
        job, messages = self._ready(place)

        def settle() -> None:
            self._committed_with_an_aborters_decision(place, job, messages)

        with before("create", "/decision", settle):
            driver = place.driver(job.spec)
        with pytest.raises(fc.JobNotActiveError) as caught:
            driver.commit(messages)
        assert caught.value.outcome != "not_committed", caught.value
        place.clean()
        place.assert_committed(*TASKS)

    def test_a_committed_decision_that_came_too_late(self, place: Place) -> None:
        """An aborted job is not called committed by anybody who finds that decision."""
        job, messages = self._ready(place)
        self._aborted_with_a_drivers_decision(place, job, messages)
        with pytest.raises(fc.JobNotActiveError) as caught:
            job.commit(messages)
        assert caught.value.outcome != "committed", caught.value
        with pytest.raises(fc.CommitError):
            fc.resume(place.url, job.job_id, **place.how)
        place.clean()
        place.assert_untouched()

    def test_it_came_while_a_resumer_stood_still(self, place: Place) -> None:
        """The resumer has found the job alive, and then its decision: nothing is published."""
        job, messages = self._ready(place)

        def settle() -> None:
            self._aborted_with_a_drivers_decision(place, job, messages)

        with before("read", "/decision", settle), pytest.raises(fc.CommitError) as caught:
            fc.resume(place.url, job.job_id, **place.how)
        assert caught.value.outcome != "committed", caught.value
        place.clean()
        place.assert_untouched()

    def test_a_twin_commits_before_an_abort(self, place: Place) -> None:
        """`abort` says that it came too late, and how the job ended; nothing is removed (P6)."""
        job, messages = self._ready(place)
        place.driver(job.spec).commit(messages)
        with pytest.raises(fc.JobNotActiveError) as caught:
            job.abort()
        assert caught.value.outcome == "committed", caught.value
        place.assert_committed(*TASKS)

    def test_a_twin_commits_before_a_commit(self, place: Place) -> None:
        """It is the same commit, or the driver is told that it came too late; nothing is left."""
        job, messages = self._ready(place)
        place.driver(job.spec).commit(messages)
        with suppress(fc.JobNotActiveError):
            job.commit(messages)
        place.assert_committed(*TASKS)

    @gives_up_files
    @pytest.mark.parametrize("kind", ["applied_late", "hang", "error_but_applied"])
    @pytest.mark.parametrize("ending", ["commit", "abort"])
    def test_a_start_that_came_too_late_revives_nothing(
        self, place: Place, kind: Kind, ending: str
    ) -> None:
        """What is over stays over: a job whose start was not answered never began (P5, P6)."""
        place.selection()  # so that nothing is probed in between
        with inject(Fault("create", 1, kind), late_by=10_000) as fired:
            job = place.job(mode="append").start()
            for files in TASKS:
                with job.task() as task:
                    write(task, files)
            job.commit() if ending == "commit" else job.abort()
        assert fired
        assert job.job_id not in [info.job_id for info in fc.jobs(place.url, **place.how)]
        with pytest.raises(fc.JobNotActiveError):
            fc.abort(place.url, job.job_id, **place.how)
        place.clean()
        if ending == "commit":
            place.assert_committed(*TASKS)
        else:
            place.assert_untouched()

    def test_a_start_that_is_not_answered_is_put_off(self, place: Place) -> None:
        """Several times in a row: another id is taken each time, and the job begins."""
        place.selection()
        with inject(*(Fault("create", nth, "hang") for nth in range(1, 6))) as fired:
            place.commit(mode="append")
        assert len(fired) == 5  # noqa: PLR2004  # all of them
        place.assert_committed(*TASKS)
