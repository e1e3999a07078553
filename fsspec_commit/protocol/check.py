"""Step 1: check that the messages name complete output of this job, with valid names."""

from collections.abc import Sequence

from fsspec_commit.errors import RequestError
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.chosen import ChosenTasks, by_batches, list_chosen
from fsspec_commit.protocol.committed_tasks import empty_job, forgotten_messages
from fsspec_commit.protocol.manifests import ChosenManifests, NewFiles, check_new_files
from fsspec_commit.protocol.messages import check_messages, collect_messages

_LOOKED_FOR_MAX = 10_000


async def check_output(job: BoundJob, messages: Sequence[object]) -> NewFiles:
    """The new files of a job, according to its messages (P1, P2, P10).

    Manifests that tasks of this process have created are not read.

    Raises:
        RequestError: A message is missing, repeated or another job's; two files have one name, or
            there is no file, and neither ``allow_empty`` nor ``partitions`` is set.
        RecordError: A manifest is not what its message says.
    """
    chosen = await _chosen(job, messages)
    new = await check_new_files(job, ChosenManifests(job, chosen, job.own_manifests.copy()))
    if not (new.count or job.record.allow_empty or job.record.partitions):
        raise empty_job(job, await forgotten_messages(job, messages))
    return new


async def _chosen(job: BoundJob, messages: Sequence[object]) -> ChosenTasks:
    if job.record.is_collected and job.record.tasks is not None:
        return await list_chosen(job, collect_messages(job, job.record.tasks))
    try:
        return await list_chosen(job, by_batches(check_messages(job, messages)))
    except RequestError as error:
        asked_for = max(len(messages), job.record.tasks or 0)
        if error.kind == "missing_tasks" and asked_for <= _LOOKED_FOR_MAX:
            forgotten = await forgotten_messages(job, messages)
            error.add_note(forgotten or "none of these tasks has committed")
        raise


async def left_out(job: BoundJob, messages: Sequence[object]) -> tuple[str, ...]:
    """The warning that some committed tasks are left out of the job, maybe on purpose."""
    if job.record.tasks is not None or len(messages) > _LOOKED_FOR_MAX:
        return ()  # No task is missing; or holding the names of so many would cost too much.
    forgotten = await forgotten_messages(job, messages)
    return () if forgotten is None else (f"left out: {forgotten}",)
