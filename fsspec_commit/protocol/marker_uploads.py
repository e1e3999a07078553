"""Pending uploads of ``_SUCCESS`` that no job can complete any more.

All jobs upload their markers under one name, so only a record says whose an upload is. The upload
of a driver that died before it wrote the record, or was never told the id of the upload, has none.
Whoever has listed such an upload then looks for undecided jobs: if there is none, nobody can decide
to publish it. A decided job recorded its own before it decided; so records are read last.
"""

from collections.abc import Sequence

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.leftover_uploads import LeftoverUploads
from fsspec_commit.errors import RecordError
from fsspec_commit.layout import DestinationLayout
from fsspec_commit.protocol.job_state import JobState, jobs_among, read_state, unusable_among
from fsspec_commit.records.pending_set import marker_upload
from fsspec_commit.store import PendingUpload

_CAN_DECIDE = {"open", "committing", "damaged"}


async def abandoned_markers(
    store: ConfirmedStore,
    leftovers: LeftoverUploads,
    destination: DestinationLayout,
    listed: Sequence[PendingUpload],
) -> list[PendingUpload]:
    """Those of the *listed* uploads of the marker that hold no byte and that no job will complete.

    If a job may still decide, or there is a job at a destination above, whose files may have any
    hidden name, it returns none. The uploads must have been listed before this is called.
    """
    if not listed or await _may_be_of_another(store, destination):
        return []
    areas = await store.list_area(destination.areas)
    states = unusable_among(areas, destination)
    states += [await read_state(store, layout) for layout in jobs_among(areas, destination)]
    if any(one.state in _CAN_DECIDE for one in states):
        return []
    named = {upload_id for one in states if (upload_id := _named_by(one)) is not None}
    unnamed = [one for one in listed if one.upload_id not in named]
    return await leftovers.unrecorded(destination, unnamed)


async def _may_be_of_another(store: ConfirmedStore, destination: DestinationLayout) -> bool:
    """Whether there is a job at a destination above; if in doubt, yes."""
    for other in destination.others_above(destination.success):
        areas = await store.list_children_if_allowed(other.areas)
        if areas is None or jobs_among(areas, other):
            return True
    return False


def _named_by(job: JobState) -> str | None:
    """The id of the upload that the job's decision names as its marker; ``None`` without one."""
    if job.decision is None or job.decision.record.success is None:
        return None
    try:
        return marker_upload(job.layout.destination, job.decision.record.success).upload_id
    except RecordError:
        return None  # It is a file: another committer has prepared it.
