"""Step 5: publish the new files, and record that they are in place."""

from collections.abc import Sequence

from fsspec_commit.committers import FileLostError
from fsspec_commit.effects.parallel import Progress
from fsspec_commit.effects.stored_records import establish
from fsspec_commit.errors import PartialCommitError, failing_as
from fsspec_commit.names import SUCCESS, Target
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.elsewhere import Elsewhere
from fsspec_commit.protocol.job_records import standing_published
from fsspec_commit.protocol.manifests import NewFiles
from fsspec_commit.protocol.replaced import ReplacedFiles
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Decision, Published


class Placing:
    """Counts the files of a job that are in place, while they are published.

    Attributes:
        is_under_way: Whether files are being published.
    """

    def __init__(self, job: BoundJob, total: int, progress: Progress | None) -> None:
        self._job = job
        self._total = total
        self._progress = progress
        self._done = 0
        self.is_under_way = False

    def count(self, files: int) -> None:
        """Count more files in place."""
        self._done += files
        if self._progress is not None:
            self._progress(files)

    def failed(self, error: PartialCommitError) -> PartialCommitError:
        """The error to raise for *error*, which came while files were being published."""
        job = self._job
        done, command = f"{self._done} of {self._total} files", job.settle_command("resume")
        if isinstance(error, FileLostError):
            message = (
                f"{done} are in place, and one cannot follow; delete nothing; if it is put back, "
                f"finish with job.commit() or: {command}; if nobody can, publish the others with: "
                f"{command} --accept-loss ({error})"
            )
        else:
            message = (
                f"{done} are in place and the rest will follow; delete nothing; finish with "
                f"job.commit() or: {command} ({error})"
            )
        return PartialCommitError(
            message,
            done=self._done,
            remaining=self._total - self._done,
            job_id=job.record.job_id,
            path=error.path,
            stage="publish",
        )


async def make_directories(job: BoundJob, new: NewFiles, placing: Placing) -> None:
    """Make the new files' directories in advance, where that pays; no file becomes visible.

    Raises:
        PartialCommitError: One was not made, or it is not known whether it was.
    """
    try:
        await _make_directories(job, new)
    except PartialCommitError as error:
        raise placing.failed(error) from error.__cause__ or error


@failing_as(PartialCommitError, "publish")
async def _make_directories(job: BoundJob, new: NewFiles) -> None:
    await job.committer.make_directories(new.partitions.lowest())


async def publish_files(
    job: BoundJob,
    new: NewFiles,
    replaced: ReplacedFiles,
    *,
    resuming: bool,
    lost: list[Target] | None,
    placing: Placing,
    elsewhere: Elsewhere | None = None,
) -> None:
    """Put every new file in its place (P1).

    Args:
        job: The job, bound.
        new: The new files.
        replaced: The old files, some of which may be replaced in place.
        resuming: Whether an earlier driver may have published some.
        lost: Collects the files whose sources are gone for good; ``None`` to raise then.
        placing: Counts the files in place.
        elsewhere: Workers elsewhere that publish some of them; the rest is published here.
    """
    placing.is_under_way = True
    manifests = new.manifests
    if elsewhere is not None and elsewhere.is_worth_it(new.count):
        manifests = await elsewhere.publish(
            manifests, new.count, replaced, resuming=resuming, lost=lost, progress=placing.count
        )
        resuming = True
    if manifests.chosen.count:
        await job.committer.publish(
            manifests,
            replaced,
            resuming=resuming,
            lost=None if lost is None else lost.append,
            progress=placing.count,
        )
    placing.is_under_way = False


async def say_published(
    job: BoundJob, decision: Standing[Decision], lost: int
) -> Standing[Published]:
    """Record that every file is in place, unless a resumer has done so.

    Raises:
        PartialCommitError: The record cannot be created: the area is gone.
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
    """The warning about files left out: their names, or how many if another driver did so."""
    if published.lost and not lost:
        others = f"lost: {published.lost} of the files were left out by who resumed the job before"
        return [f"{others}; no old file is deleted, and no {SUCCESS} written"]
    left_out = "is gone, or no longer what its task wrote, and was left out"
    return [f"lost: {name!r} {left_out}" for name in lost]
