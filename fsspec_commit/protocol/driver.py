"""One driver of one job: starts it, commits it or aborts it, and finishes what it has decided.

It runs on its caller's event loop, without threads and without a clock but the loop's: ``Job``
bridges to it, and a simulator runs it as it is.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, TypeAlias

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.parallel import Progress
from fsspec_commit.effects.stored_records import recall
from fsspec_commit.errors import (
    CommitError,
    CommitFailedError,
    CommitStateUnknownError,
    JobNotActiveError,
    PartialCommitError,
    failing_as,
)
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.commit import commit_job
from fsspec_commit.protocol.elsewhere import Elsewhere
from fsspec_commit.protocol.file_names import FileNames
from fsspec_commit.protocol.recovery import resume_job
from fsspec_commit.protocol.remembered import IsInVain, begun_on_facts
from fsspec_commit.protocol.result import CommitResult, Finished, result_of
from fsspec_commit.protocol.retire import Later, immediately
from fsspec_commit.protocol.start import create_job, has_nothing_to_do
from fsspec_commit.protocol.superseded import is_over, over_after_deciding, settled_by_another
from fsspec_commit.records.job import Decision
from fsspec_commit.store import Confirm

State: TypeAlias = Literal["new", "open", "deciding", "committed", "skipped", "aborted", "settled"]
"""The state of a driver; ``settled``: somebody else has ended the job, or decided it."""

STARTS_MAX = 8
"""How many job ids are tried before a job that cannot be created is given up."""


class NotThereYetError(RuntimeError, AttributeError):
    """A property is read before there is anything to return; to users a ``RuntimeError``.

    It is an ``AttributeError`` as well, so that ``inspect`` passes over such a property. Ray looks
    at every attribute of what cannot be pickled, to say why, and would otherwise report this error.
    """


def not_started() -> NotThereYetError:
    """The error for a job that is used before it has started."""
    return NotThereYetError('the job has not started: use "with Job(...)", or call start()')


class Driver:
    """Drives one job. Of several calls that start or settle it, each waits for the one before.

    Args:
        job: A job that was started elsewhere; without it the driver starts a new one.

    Attributes:
        state: The driver's state.
        job: The job, once it has an id.
        is_skipped: Whether there is nothing to do: data exists, or the job's key has committed.
        result: The result, once the job has committed or was skipped.
    """

    def __init__(self, job: BoundJob | None = None) -> None:
        self.state: State = "new" if job is None else "open"
        self.job = job
        self._begun_here = job is None
        self.is_skipped = False
        self.result: CommitResult | None = None
        # A lock of the loop: an interrupt cannot come between acquiring it and releasing it.
        self._settling = asyncio.Lock()
        # The decisions that it has tried to make and that stand, or still may; with their files.
        self._decisions: dict[str, FileNames] = {}
        # The files of the decision that has stood.
        self._stood: FileNames | None = None

    async def start(
        self,
        store: ConfirmedStore,
        with_new_id: Callable[[], BoundJob],
        confirms: Sequence[Confirm] = (),
    ) -> bool:
        """Check that the mode allows the job, and create ``job.json``: the job exists.

        If the creation under one id is not answered, the job begins under another one.

        Args:
            store: The store of the destination.
            with_new_id: Binds the job to an id of its own, another one at each call.
            confirms: Ask whether the facts that *with_new_id* goes by still hold.

        Returns:
            Whether this call has started the job; otherwise it was started, or aborted, before.

        Raises:
            DestinationExistsError: ``mode="error"``, and the destination holds data.
            FactsChangedError: The facts do not hold; the job was withdrawn: another may be started.
            CommitFailedError: It could not be created. The store is closed after any failure.
        """
        async with self._settling:
            if self.state != "new":
                await store.close()
                return False
            try:
                self.job = await begun_on_facts(partial(self._start, with_new_id), confirms)
            except Exception:
                self.job, self.is_skipped = None, False
                await store.close()
                raise
            except BaseException:
                if self.job is None:
                    await store.close()
                else:
                    self.state = "open"  # The request that creates it may be on its way.
                raise
            self.state = "open"
            return True

    async def _start(self, with_new_id: Callable[[], BoundJob], is_in_vain: IsInVain) -> BoundJob:
        unknown: str | None = None
        for failed in range(STARTS_MAX):
            self.job = job = with_new_id()
            self.is_skipped = self.is_skipped or await has_nothing_to_do(job)
            unknown = await create_job(job, failed=failed)
            if unknown is None:
                return job
            if is_in_vain():
                break
        message = f"cannot start a job at {job.record.destination!r}: {unknown}"
        raise CommitFailedError(message, stage="start")

    async def commit(
        self,
        messages: Sequence[object],
        *,
        wait_s: float,
        announce: Callable[[int], None] = lambda _: None,
        progress: Progress | None = None,
        others: bool = False,
        elsewhere: Elsewhere | None = None,
        later: Later = immediately,
    ) -> bool:
        """Make exactly the chosen attempts visible, or finish what an earlier call has decided.

        Args:
            messages: One message for every task; none with ``collect="store"``.
            wait_s: How long to wait for a conflicting job.
            announce: Called with the number of files to be published, as soon as that is decided.
            progress: Called as files are published.
            others: Some tasks ran elsewhere, so it is checked that no message is missing.
            elsewhere: Workers elsewhere that publish, and remove old files, once that is decided.
            later: Has what is left of the job's area removed, at once or when this has returned.

        Returns:
            Whether this call has committed the job; otherwise ``result`` is of an earlier call.

        Raises:
            CommitError: Its ``outcome`` says what was left.
            RuntimeError: The job is aborted, or has not begun.
        """
        async with self._settling:
            job = self.started()
            self.refuse_aborted()
            if self.result is not None:
                return False
            committing = self._commit(
                job,
                messages,
                wait_s=wait_s,
                announce=announce,
                progress=progress,
                others=others,
                elsewhere=elsewhere,
                later=later,
            )
            try:
                self.result = await result_of(job, committing)
            except CommitError as error:
                if isinstance(error, JobNotActiveError):
                    self.state = "settled"
                elif error.outcome == "not_committed":
                    self.state = "open"
                raise
            job.own_manifests.clear()
            self.state = self.result.state
            self.is_skipped = self.state == "skipped"
            return True

    async def abort(self) -> bool:
        """Decide that the job never happens, and remove what it left.

        Returns:
            Whether this call has aborted the job; otherwise an earlier one has, or there was
            nothing to do.

        Raises:
            JobNotActiveError: The job is committed, or somebody else has ended it.
        """
        async with self._settling:
            if self.state in {"new", "aborted", "skipped"}:
                self.state = "aborted"
                return False
            job = self.started()
            job_id = job.record.job_id
            if self.result is not None:
                message = f"job {job_id} is committed: it cannot be aborted; nothing was deleted"
                raise JobNotActiveError(message, job_id=job_id, outcome="committed", stage="abort")
            try:
                await abort_job(job, by=job.record.host)
            except JobNotActiveError:
                self.state = "settled"
                raise
            job.own_manifests.clear()
            self.state = "aborted"
            return True

    def started(self) -> BoundJob:
        """The job, once it has started.

        Raises:
            RuntimeError: The job has not started.
        """
        if self.job is None or self.state == "new":
            raise not_started()
        return self.job

    def refuse_aborted(self) -> None:
        """Refuse to commit an aborted job.

        Raises:
            RuntimeError: The job was aborted.
        """
        if self.state == "aborted":
            raise RuntimeError(f"job {self.started().record.job_id} is aborted: make a new Job")

    async def instead_of(self, error: CommitError) -> CommitError:
        """What to raise for *error*, a refusal to commit for which the store was not asked.

        It must say no more of the job than is known. An earlier call may have decided the job. So
        may another driver, or somebody has aborted it: no caller of this driver was told of that.
        """
        async with self._settling:
            if self.state in {"deciding", "settled"}:
                error.outcome = "unknown"
                error.add_note(
                    "an earlier commit() of the job has decided it, or may have, or found it "
                    "settled: see what it raised, and delete nothing"
                )
            elif self.result is not None:
                error.outcome = "committed"
            elif self.state == "open":
                settled = await settled_by_another(
                    self.started(), error, begun_here=self._begun_here
                )
                if settled is not None:
                    self.state = "settled"
                    return settled
            return error

    async def _commit(
        self,
        job: BoundJob,
        messages: Sequence[object],
        *,
        wait_s: float,
        announce: Callable[[int], None],
        progress: Progress | None,
        others: bool,
        elsewhere: Elsewhere | None,
        later: Later,
    ) -> Finished | None:
        """Commit, or finish; ``None`` when the job had nothing to do and was dropped."""
        if self.is_skipped:
            await abort_job(job, by="the job itself, which had nothing to do")
            return None
        tried: FileNames | None = None

        def deciding(nonce: str, names: FileNames) -> None:
            nonlocal tried
            self._decisions[nonce] = tried = names
            self.state = "deciding"

        try:
            tried = await self._decided(job)
            if tried is None:
                in_doubt = bool(self._decisions)
                try:
                    return await commit_job(
                        job,
                        messages,
                        wait_s=wait_s,
                        deciding=deciding,
                        announce=announce,
                        progress=progress,
                        others=others,
                        begun_here=self._begun_here,
                        elsewhere=elsewhere,
                        later=later,
                    )
                except JobNotActiveError:
                    # A decision of ours, whose outcome was unknown, may have come through late.
                    late = await self._decided(job)
                    if late is None:
                        raise
                    tried = late
                except CommitError as error:
                    self._leave_open(error, in_doubt=in_doubt)
                    raise
            return await self._resume(
                job, announce=announce, progress=progress, elsewhere=elsewhere
            )
        except CommitError as error:
            if isinstance(error, PartialCommitError) or error.stage == "finish":
                self._stood = tried
            raise

    @failing_as(CommitStateUnknownError, "decide")
    async def _decided(self, job: BoundJob) -> FileNames | None:
        """The files of this driver's decision that stands, or has stood, if there is one."""
        if self._stood is not None or not self._decisions:
            return self._stood
        decision = await recall(job.store, job.layout, job.layout.decision, Decision)
        return None if decision is None else self._decisions.get(decision.record.nonce)

    def _leave_open(self, error: CommitError, *, in_doubt: bool) -> None:
        """Let *error* say no more than is known: an earlier decision may still be carried out."""
        if error.outcome != "not_committed":
            return
        if in_doubt:
            error.outcome = "unknown"
            error.add_note(
                "an earlier commit() of the job was not told whether it has decided, and its "
                "request may still be carried out: call commit() again, or abort the job"
            )
        else:
            self._decisions.clear()

    async def _resume(
        self,
        job: BoundJob,
        *,
        announce: Callable[[int], None],
        progress: Progress | None,
        elsewhere: Elsewhere | None,
    ) -> Finished:
        try:
            return await resume_job(job, announce=announce, progress=progress, elsewhere=elsewhere)
        except JobNotActiveError as error:
            if self._stood is None or error.outcome == "not_committed":
                raise
            if await is_over(job):
                raise await over_after_deciding(job, self._stood) from error
            raise _out_of_sight(job) from error


def _out_of_sight(job: BoundJob) -> PartialCommitError:
    job_id = job.record.job_id
    message = (
        f"job {job_id} is decided, its job.json is not found, and nothing shows that it has been "
        "finished: the answer may not come from the store; delete nothing; when you know that it "
        f"does, finish it with job.commit() or: {job.settle_command('resume')}"
    )
    return PartialCommitError(message, job_id=job_id, stage="resume")
