"""One slice of a decided job, done by a process that is not its driver.

The process may be late: the driver may have given it up, and the job may be over. So it does what a
resumer does, for a part of the files: it reads the decision, and ``job.json`` after it; a file is
published by consuming its source, and once only; an old file is deleted by a permit that rests on
``published``, as it stands on the store, and on ``job.json``, which is read again and again.
"""

from typing import TYPE_CHECKING

from fsspec_commit.errors import CommitError, JobNotActiveError, PartialCommitError, failing_as
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.chosen import ChosenTasks
from fsspec_commit.protocol.deleting import delete_files
from fsspec_commit.protocol.job_records import standing_decision, standing_published
from fsspec_commit.protocol.manifests import ChosenManifests, check_new_files
from fsspec_commit.protocol.replaced import ReplacedFiles, lines_of, recall_replaced
from fsspec_commit.protocol.streamed_list import ShortList
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Decision
from fsspec_commit.records.slices import DeleteSlice, PublishSlice, Slice, SliceAnswer

if TYPE_CHECKING:
    from fsspec_commit.names import Target


async def run_slice(job: BoundJob, piece: Slice) -> SliceAnswer:
    """Do what *piece* says, and return what has become of it; safe to repeat, by anyone.

    A failure of the store is returned as well, not raised. Then nothing is known of the slice
    except that doing it again does what is left.
    """
    try:
        if isinstance(piece, PublishSlice):
            return await _publish(job, piece)
        return await _delete(job, piece)
    except CommitError as error:
        return SliceAnswer(number=piece.number, failure=str(error) or type(error).__name__)


@failing_as(PartialCommitError, "publish")
async def _publish(job: BoundJob, piece: PublishSlice) -> SliceAnswer:
    decision = await _decision(job, piece)
    chosen = ChosenTasks(job, len(piece.chosen), piece.chosen)
    new = await check_new_files(job, ChosenManifests(job, chosen))
    replaced = ReplacedFiles(job, decision.record)
    if piece.in_place and len(new.reusable):
        replaced = await recall_replaced(job, decision, new.reusable, ShortList())
    lost: list[Target] = []
    files = await job.committer.publish(
        new.manifests,
        replaced,
        resuming=piece.resuming,
        lost=lost.append if piece.accept_loss else None,
        progress=None,
    )
    return SliceAnswer(number=piece.number, files=files, lost=tuple(lost))


@failing_as(PartialCommitError, "replace")
async def _delete(job: BoundJob, piece: DeleteSlice) -> SliceAnswer:
    decision = await _decision(job, piece)
    published = await standing_published(job.store, job.layout, decision)
    if published is None or published.record.lost:
        message = f"the new files of job {job.record.job_id} are not all in place"
        raise PartialCommitError(message, job_id=job.record.job_id, stage="replace")
    replaced = ReplacedFiles(job, decision.record)
    deleted = await delete_files(job, published, lines_of(replaced, [piece.lines]))
    return SliceAnswer(number=piece.number, deleted=deleted)


async def _decision(job: BoundJob, piece: Slice) -> Standing[Decision]:
    """The decision that the slice belongs to, if it is the one that stands.

    Raises:
        JobNotActiveError: None stands, or another one: the job may be over.
    """
    decision = await standing_decision(job.store, job.layout)
    if decision is None or decision.record.nonce != piece.decision:
        message = f"what was decided of job {job.record.job_id} is not what this slice is of"
        raise JobNotActiveError(
            message, job_id=job.record.job_id, outcome="unknown", stage="publish"
        )
    return decision
