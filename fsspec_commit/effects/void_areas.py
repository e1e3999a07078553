"""How an area without ``job.json`` goes: its job is over, or is it just beginning?

Where there are directories, an area is there a moment before its ``job.json``. So it is renamed
away first, to a name of our own, and looked into there: what came in before the rename is there,
and is put back. Whoever starts a job looks for ``job.json`` after its creation, and takes another
id if it is not where it was to be. Elsewhere ``job.json`` is what makes the area.
"""

from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.layout import JobLayout, StorePath


async def delete_void_area(store: ConfirmedStore, layout: JobLayout) -> bool:
    """Delete the area of *layout*, unless a job begins there at this moment.

    Returns:
        Whether it is gone. What is not is a living job's.
    """
    if store.directories is None:
        await store.delete_tree(layout.area, deletion.of_void_area(layout))
        return True
    if await store.stat(layout.spec) is not None:
        return False
    return await delete_taken_area(store, layout, layout.area)


async def delete_taken_area(store: ConfirmedStore, layout: JobLayout, path: StorePath) -> bool:
    """Delete the area of *layout* that is at *path*, where somebody who died had renamed it to.

    One with ``job.json`` is put back: it was not void, or was to be looked into before it went.
    """
    if store.directories is None:
        return False
    areas = layout.destination.areas
    taken = layout.taken(store.ids.nonce())
    if not await store.directories.rename(path, taken, within=areas):
        return True
    if not await _is_begun(store, layout, taken):
        await store.delete_tree(taken, deletion.of_taken(layout, taken))
        return True
    await store.directories.rename(taken, layout.area, within=areas)
    return False


async def _is_begun(store: ConfirmedStore, layout: JobLayout, taken: StorePath) -> bool:
    """Whether ``job.json`` is in an area; asked twice, lest it was not the store that answered."""
    spec = layout.spec_in(taken)
    if await store.stat(spec) is not None:
        return True
    return spec in {child.path for child in await store.list_area(taken)}
