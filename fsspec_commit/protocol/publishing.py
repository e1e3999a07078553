"""Step 5: the new files in their places, and the word that they are."""

from fsspec_commit.effects.parallel import Progress
from fsspec_commit.effects.standing import establish
from fsspec_commit.errors import CommitStateUnknownError, PartialCommitError, StoreError
from fsspec_commit.names import Target
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.job_records import standing_published
from fsspec_commit.protocol.manifests import NewFiles
from fsspec_commit.protocol.replaced import ReplacedFiles
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Decision, Published


async def publish_files(
    job: BoundJob,
    new: NewFiles,
    replaced: ReplacedFiles,
    *,
    again: bool,
    lost: list[Target] | None,
    progress: Progress | None,
) -> None:
    """Put every new file in its place (P1).

    Args:
        job: The job, bound.
        new: The files.
        replaced: The old ones that some of them may take the place of.
        again: Others may have published some.
        lost: Takes the names of files whose sources are gone for good; ``None``: there are none.
        progress: Told as files are published.

    Raises:
        PartialCommitError: Some are in place, and the rest will follow.
    """
    done = 0

    def count(files: int) -> None:
        nonlocal done
        done += files
        if progress is not None:
            progress(files)

    try:
        await job.committer.publish(
            new.manifests,
            new.partitions,
            replaced,
            again=again,
            lost=None if lost is None else lost.append,
            progress=count,
        )
    except (StoreError, CommitStateUnknownError, PartialCommitError) as error:
        message = (
            f"{done} of {new.count} files are in place and the rest will follow; delete nothing; "
            f"finish with job.commit() or: {job.settle_command('resume')} ({error})"
        )
        raise PartialCommitError(
            message,
            done=done,
            remaining=new.count - done,
            job_id=job.record.job_id,
            path=error.path,
            stage="publish",
        ) from error


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
