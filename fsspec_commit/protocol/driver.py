"""One driver's commits of a job: what it has decided itself, it finishes, however late it hears."""

from collections.abc import Callable, Sequence

from fsspec_commit.effects.parallel import Progress
from fsspec_commit.effects.standing import recall
from fsspec_commit.errors import (
    CommitError,
    CommitStateUnknownError,
    JobNotActiveError,
    PartialCommitError,
    failing_as,
)
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.commit import Finished, commit_job
from fsspec_commit.protocol.file_names import FileNames
from fsspec_commit.protocol.overtaken import is_over, over_after_deciding
from fsspec_commit.protocol.recovery import resume_job
from fsspec_commit.records.job import Decision


class Driver:
    """Commits one job, as often as it is asked to; one call at a time."""

    def __init__(self) -> None:
        # What it has tried to decide, as far as that stands or still may, and which files that are.
        self._decisions: dict[str, FileNames] = {}
        # The files of the one that has stood.
        self._stood: FileNames | None = None

    async def commit(
        self,
        job: BoundJob,
        messages: Sequence[object],
        *,
        wait_s: float,
        deciding: Callable[[], None],
        announce: Callable[[int], None],
        progress: Progress,
        others: bool = False,
    ) -> Finished | None:
        """Make exactly the chosen attempts visible, or finish what an earlier call has decided.

        Args:
            job: The job, bound; the same one in every call.
            messages: One message for every task; none with ``collect="store"``.
            wait_s: How long to wait for a conflicting job.
            deciding: Told just before the decision is taken.
            announce: Told how many files will be published.
            progress: Told as they are.
            others: Some messages are of tasks elsewhere, and some may be missing.

        Returns:
            ``None`` when the job had nothing to do and was dropped.
        """
        tried: FileNames | None = None

        def decide(nonce: str, names: FileNames) -> None:
            nonlocal tried
            self._decisions[nonce] = tried = names
            deciding()

        try:
            tried = await self._decided(job)
            if tried is None:
                in_doubt = bool(self._decisions)
                try:
                    return await commit_job(
                        job,
                        messages,
                        wait_s=wait_s,
                        deciding=decide,
                        announce=announce,
                        progress=progress,
                        others=others,
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
            return await self._resume(job, announce=announce, progress=progress)
        except CommitError as error:
            if isinstance(error, PartialCommitError) or error.stage == "finish":
                self._stood = tried
            raise

    @failing_as(CommitStateUnknownError, "decide")
    async def _decided(self, job: BoundJob) -> FileNames | None:
        """The files of the decision of this very driver that stands, or has stood; if one does."""
        if self._stood is not None or not self._decisions:
            return self._stood
        decision = await recall(job.store, job.layout, job.layout.decision, Decision)
        return None if decision is None else self._decisions.get(decision.record.nonce)

    def _leave_open(self, error: CommitError, *, in_doubt: bool) -> None:
        """Let *error* say no more than is known: a decision tried earlier may yet come through."""
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
        self, job: BoundJob, *, announce: Callable[[int], None], progress: Progress
    ) -> Finished:
        try:
            return await resume_job(job, announce=announce, progress=progress)
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
        "finished: it may be somebody else who answers for the store; delete nothing; when you "
        f"know, finish it with job.commit() or: {job.settle_command('resume')}"
    )
    return PartialCommitError(message, job_id=job_id, stage="resume")
