"""How an area is emptied once its ``job.json`` is gone: what keeps it harmless goes last.

An area without ``job.json`` is void. But one with a committed decision, with manifests, and without
``published`` looks like that of a job whose files were lost, which only a person can settle. So
``published`` goes when all else has gone. A job that was aborted has none: there the decision goes
last, since as long as it stands no late driver can create another one. What shows which uploads are
to be aborted stays until they are. Everything else needs no order. The rules are checked by the
model in ``tests/specs/emptying.py``.

The contents are listed first, perhaps while ``job.json`` is being deleted. What is written after
that is late, means nothing, and is left to `clean`.
"""

from collections.abc import Coroutine
from typing import Any, TypeAlias

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.deletion import Permit
from fsspec_commit.effects.parallel import both
from fsspec_commit.layout import JobLayout, StorePath

Contents: TypeAlias = frozenset[StorePath] | None
"""What is known to be in an area; ``None`` if it is more than is deleted at once."""


async def contents_of(store: ConfirmedStore, layout: JobLayout, *, is_published: bool) -> Contents:
    """Every file in an area, where the store deletes many at once.

    Elsewhere nothing is listed, which may be denied: only whether ``published`` is there matters.

    Args:
        store: Where it is.
        layout: The job.
        is_published: Whether the caller knows that ``published`` stands.
    """
    if not store.deleted_at_once_max:
        return frozenset({layout.published} if is_published else ())
    found = await store.paths_of_few(layout.area, files_max=store.deleted_at_once_max)
    return None if found is None else frozenset(found)


async def empty(
    store: ConfirmedStore,
    layout: JobLayout,
    permit: Permit,
    contents: Contents,
    *,
    beside: Coroutine[Any, Any, None],
) -> None:
    """Delete an area without ``job.json``.

    Args:
        store: Where it is.
        layout: The job.
        permit: A permit for the area.
        contents: What is known to be in it.
        beside: Drops uploads meanwhile, by the records in the area, and by the list of the attempts
            that are published: these records and this list stay until it has ended.
    """
    if (
        contents is None
        or not store.deleted_at_once_max
        # Somebody else may have put a key there that no permit names.
        or not all(map(permit.covers, contents))
    ):
        await both(beside, _begin_by_tree(store, layout, permit, contents))
        await store.delete_tree(layout.area, permit)
        return
    last = {path for path in contents if _shows_uploads(layout, path)}
    last.add(layout.published if layout.published in contents else layout.decision)
    first = contents - last - {layout.spec}
    await both(beside, store.delete_listed(sorted(first), permit, within=layout.area))
    await store.delete_listed(sorted(contents & last), permit, within=layout.area)


def _shows_uploads(layout: JobLayout, path: StorePath) -> bool:
    return layout.is_upload_record(path) or layout.is_chosen_list(path)


async def empty_by_tree(
    store: ConfirmedStore, layout: JobLayout, permit: Permit, contents: Contents
) -> None:
    """Delete an area without ``job.json``, with whatever else is in it, once no upload is left."""
    await _begin_by_tree(store, layout, permit, contents)
    await store.delete_tree(layout.area, permit)


async def _begin_by_tree(
    store: ConfirmedStore, layout: JobLayout, permit: Permit, contents: Contents
) -> None:
    """Delete the manifests and the decision first: the store picks the order of the rest."""
    deleting = store.delete_tree(layout.manifests, permit)
    if contents is not None and layout.published in contents:
        await both(deleting, store.delete(layout.decision, permit))
    else:
        await deleting
        await store.delete(layout.decision, permit)
