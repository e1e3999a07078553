"""Two names that some disks take for one: refused before the decision, and only on such disks.

Most disks of macOS do not tell `A` from `a`, and directories on other systems can be set to do the
same. Whether this destination does is not declared but observed: its own work area is looked up in
capitals. A job asks only if it has names that matter, and never where there are no directories.
"""

from collections.abc import Callable

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.errors import RequestError
from fsspec_commit.layout import DestinationLayout
from fsspec_commit.names import folded
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.file_names import names_alike, repeated_names
from fsspec_commit.protocol.manifests import NewFiles


async def refuse_two_spellings(job: BoundJob, new: NewFiles) -> None:
    """Refuse two of the job's own names that the store takes for one.

    Directories are compared, and files whose names are kept exactly; other names differ in more
    than case. On such a store, ``new.folded`` then holds the folded reusable names.

    Raises:
        RequestError: There are two such names, and one file would replace the other.
    """
    alike = _directories_alike(new)
    if job.store.directories is None or not (alike or len(new.reusable)):
        return
    if not await _folds(job.store, job.layout.destination):
        return
    if alike is not None:
        raise spelled_twice(job, *alike)
    new.folded.extend(folded(name) for name in new.names if new.reusable.holds(name))
    repeated = new.folded.freeze()
    if repeated:
        once = repeated_names(map(folded, new.names), repeated)[0]
        one, other, *_ = sorted(name for name in new.names if folded(name) == once)
        raise spelled_twice(job, one, other)
    for directory in new.partitions.with_those_above() if len(new.folded) else ():
        if new.folded.holds(once := folded(directory)):
            file = next(name for name in new.names if folded(name) == once)
            raise spelled_twice(job, *sorted((file, directory)))


async def spelling_on(store: ConfirmedStore, to: DestinationLayout) -> Callable[[str], str]:
    """A key that is equal for two names if the store takes them for one: mostly the name itself.

    A directory keeps the name that it was given first, so a listing may show a file by another name
    than that which its job has written down.
    """
    return folded if store.directories is not None and await _folds(store, to) else str


async def _folds(store: ConfirmedStore, to: DestinationLayout) -> bool:
    return await store.stat(to.areas_in_capitals) is not None


def spelled_twice(job: BoundJob, one: str, other: str) -> RequestError:
    """The refusal of two names of which only one can stand."""
    message = (
        f"cannot write to {job.record.destination!r}: it takes {one!r} and {other!r} for one name, "
        "so one would take the place of the other; rename one of them"
    )
    return RequestError(
        message, kind="names_alike", job_id=job.record.job_id, path=other, stage="check"
    )


def _directories_alike(new: NewFiles) -> tuple[str, str] | None:
    alike = names_alike(new.partitions.with_those_above, folded)
    for one, *others in alike.values():
        if others:
            return min(one, others[0]), max(one, others[0])
    return None
