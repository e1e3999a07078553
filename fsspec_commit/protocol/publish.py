"""Step 5: the new files in their places, and the word that they are."""

from collections.abc import Sequence

from fsspec_commit.effects.parallel import Progress
from fsspec_commit.effects.stored_records import establish
from fsspec_commit.errors import PartialCommitError
from fsspec_commit.names import SUCCESS, Target
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.job_records import standing_published
from fsspec_commit.protocol.manifests import NewFiles
from fsspec_commit.protocol.replaced import ReplacedFiles
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Decision, Published


class Placing:
    """How many files of a job are in place, while they are put there.

    Attributes:
        is_under_way: Whether they are being put there.
    """

    def __init__(self, job: BoundJob, total: int, progress: Progress | None) -> None:
        self._job = job
        self._total = total
        self._progress = progress
        self._done = 0
        self.is_under_way = False

    def count(self, files: int) -> None:
        """So many more are in place."""
        self._done += files
        if self._progress is not None:
            self._progress(files)

    def failed(self, error: PartialCommitError) -> PartialCommitError:
        """What *error* says of the files that it came between."""
        job = self._job
        message = (
            f"{self._done} of {self._total} files are in place and the rest will follow; delete "
            f"nothing; finish with job.commit() or: {job.settle_command('resume')} ({error})"
        )
        return PartialCommitError(
            message,
            done=self._done,
            remaining=self._total - self._done,
            job_id=job.record.job_id,
            path=error.path,
            stage="publish",
        )


async def publish_files(
    job: BoundJob,
    new: NewFiles,
    replaced: ReplacedFiles,
    *,
    resuming: bool,
    lost: list[Target] | None,
    placing: Placing,
) -> None:
    """Put every new file in its place (P1).

    Args:
        job: The job, bound.
        new: The files.
        replaced: The old ones that some of them may take the place of.
        resuming: Others may have published some.
        lost: Takes the names of files whose sources are gone for good; ``None``: there are none.
        placing: Counts those that are in place.
    """
    placing.is_under_way = True
    await job.committer.publish(
        new.manifests,
        new.partitions.lowest(),
        replaced,
        resuming=resuming,
        lost=None if lost is None else lost.append,
        progress=placing.count,
    )
    placing.is_under_way = False


async def say_published(
    job: BoundJob, decision: Standing[Decision], lost: int
) -> Standing[Published]:
    """Say that every file is in place; a resumer's word stands as well as ours.

    Raises:
        PartialCommitError: Nothing can be said any more: the area is not there.
    """
    job_id = job.record.job_id
    record = Published(
        nonce=job.store.ids.nonce(),
        job_id=job_id,
        decision=decision.record.nonce,
        lost=lost,
    )
    path = job.layout.published
    published = await establish(job.store, path, record, within=job.layout.area)
    published = published or await standing_published(job.store, job.layout, decision)
    if published is None:
        message = f"every file is in place, and the work area of job {job_id} is not there"
        raise PartialCommitError(message, job_id=job_id, remaining=0, stage="publish")
    return published


def losses(published: Published, lost: Sequence[str]) -> list[str]:
    """What is said of files that were left out; where another has left them out, how many."""
    if published.lost and not lost:
        others = f"lost: {published.lost} of the files were left out by who resumed the job before"
        return [f"{others}; no old file is deleted, and no {SUCCESS} written"]
    left_out = "is gone, or no longer what its task wrote, and was left out"
    return [f"lost: {name!r} {left_out}" for name in lost]
