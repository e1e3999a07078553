"""Removal of an area without ``job.json``, whose job is over, or is just about to begin.

Where there are no directories, ``job.json`` itself makes the area, so the job is over. What is left
there is deleted in the order of :mod:`fsspec_commit.effects.emptying`.

Where there are directories, an area exists a moment before its ``job.json``, which is the first
thing in it. So an empty area is removed on condition that it is empty, and stays if ``job.json``
comes first. An area with anything else in it is that of a job that is over, if ``job.json`` is
missing even after the listing, whose pages may be of several moments. It is removed whole where
areas are removed by one rename, and in the order above elsewhere.

An adapter may have no such removal. There an area is first renamed to a unique name, and inspected
there: if ``job.json`` came in before the rename, the area is put back. On disks and HDFS, every
`clean` of the first versions does the same; so there a driver that starts a job looks for
``job.json`` after creating it, and takes another id if it is not there.
"""

from collections.abc import Sequence

from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.emptying import Contents, empty_by_tree
from fsspec_commit.effects.retirement import Retirement
from fsspec_commit.layout import JobLayout, StorePath


async def delete_void_area(
    store: ConfirmedStore, layout: JobLayout, retirement: Retirement
) -> bool:
    """Delete the area of *layout*, unless a job is just beginning there.

    Args:
        store: Where it is.
        layout: The job.
        retirement: How areas go there.

    Returns:
        Whether the area is gone; if not, its job is alive.
    """
    permit = deletion.of_void_area(layout)
    if store.directories is None:
        await empty_by_tree(store, layout, permit, None)
        return True
    found: Contents = None
    if store.removes_empty:
        found = frozenset(child.path for child in await store.list_area(layout.area))
        if layout.spec in found:
            return False
    if await store.stat(layout.spec) is not None:
        return False
    if store.removes_empty and not found:
        return await store.delete_empty(layout.area, permit)
    if retirement.is_in_one_step or not store.removes_empty:
        return await delete_taken_area(store, layout, layout.area)
    await empty_by_tree(store, layout, permit, found)
    return True


async def delete_emptied(
    store: ConfirmedStore, layout: JobLayout, below: Sequence[StorePath] = ()
) -> None:
    """Try to delete the area of *layout*, if nothing is in it; it does no harm if it stays.

    For a caller that has written there, and removed what it wrote, since the job is over: where
    writing a file makes the directories that it lacks (Gen2), that write has made the area anew.
    Elsewhere there is nothing to do.

    Args:
        store: Where it is.
        layout: The job.
        below: The directories in the area that the caller may have made, the deepest first.
    """
    if store.makes_directories_anew:
        for directory in (*below, layout.area):
            await store.delete_empty_or_leave(directory, deletion.of_void_area(layout))


def may_be_taken(store: ConfirmedStore, *, walks: bool) -> bool:
    """Whether a `clean` may rename the area of a job that just begins, so its driver must look.

    Args:
        store: Where it is.
        walks: Whether listings are not paged there, as on disks and HDFS.
    """
    return store.directories is not None and (walks or not store.removes_empty)


async def delete_taken_area(store: ConfirmedStore, layout: JobLayout, path: StorePath) -> bool:
    """Delete the area of *layout* that is at *path*, where a process that died may have put it.

    An area with ``job.json`` is put back: it was not void.
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
    """Whether ``job.json`` is in an area; asked twice, since an answer may not be the store's."""
    spec = layout.spec_in(taken)
    if await store.stat(spec) is not None:
        return True
    return spec in {child.path for child in await store.list_area(taken)}
