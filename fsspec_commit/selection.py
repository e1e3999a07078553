"""The choice of a committer, with its reasons, from capabilities: the only branch on them.

:func:`choose` is pure; :func:`bind` hands the chosen committer the abilities its constructor
names. The rule, in this order: no exclusive create and no exclusive rename -> refuse; listing not
known to be consistent -> refuse (claims are found by listing); directory rename and unpaged
listing -> ``v1``; file rename -> ``manifest``; multipart -> ``magic``; else refuse.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, TypeAlias, TypeVar

from fsspec_commit.committers import Committer
from fsspec_commit.committers.magic import MagicCommitter
from fsspec_commit.committers.manifest import ManifestCommitter
from fsspec_commit.committers.v1 import V1Committer
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.leftover_uploads import LeftoverUploads
from fsspec_commit.effects.removal import (
    ConditionalRemoval,
    NamedRemoval,
    Removal,
    TrashRemoval,
)
from fsspec_commit.effects.retirement import Retirement, RetiringByRename, RetiringInOrder
from fsspec_commit.errors import UnsafeStoreError
from fsspec_commit.records.job import CommitterName, JobRecord, Names
from fsspec_commit.store import AtomicRename, Capabilities

A = TypeVar("A")
Request: TypeAlias = CommitterName | Literal["auto"]
_NOT_EXCLUSIVE = (
    "the store has no exclusive create and no exclusive rename, so two drivers of one job could "
    "both believe that they committed it; nothing this library does can mend that"
)
_NOBODY_REPLACES = "delete_by_name=True if nobody replaces these files meanwhile"
_NOBODY_WRITES = "single_writer=True if nobody else writes here"
NO_REMARKS: Mapping[str, str] = MappingProxyType({})
REQUESTS: tuple[Request, ...] = ("auto", "v1", "manifest", "magic")


@dataclass(frozen=True)
class Selection:
    """Which committer, and why; picklable.

    Attributes:
        committer: The committer; ``None`` if none is safe here.
        reasons: One sentence each, the decisive one last.
        capabilities: The facts from which it was chosen.
    """

    committer: CommitterName | None
    reasons: tuple[str, ...]
    capabilities: Capabilities = field(repr=False)


@dataclass(frozen=True, slots=True)
class Bound:
    """A committer and a removal, bound to one store.

    Attributes:
        committer: Makes files visible.
        removal: Removes old files, and areas.
        attempts_in_names: Whether unique names carry the attempt's id as well, because two attempts
            of a task would otherwise share a pending upload.
        walks: Whether a tree is listed directory by directory, not by pages in the order of names.
    """

    committer: Committer
    removal: Removal
    attempts_in_names: bool = False
    walks: bool = False


def choose(
    capabilities: Capabilities,
    request: Request = "auto",
    *,
    remarks: Mapping[str, str] = NO_REMARKS,
) -> Selection:
    """Choose a committer that is safe on *capabilities*; none, if *request* names another.

    Args:
        capabilities: What is known of the store.
        request: The committer that is asked for.
        remarks: Why a fact counts as missing, by its name: what a probe has found out.
    """
    refusal = _refusal(capabilities, remarks)
    if refusal is not None:
        return Selection(None, refusal, capabilities)
    safe = _safe(capabilities)
    if not safe:
        missing = (
            "the store renames neither files nor directories atomically and has no multipart "
            "uploads that another process can complete: there is no step that could publish a file"
        )
        return Selection(None, (missing,), capabilities)
    reasons = tuple(f"{name}: {why}" for name, why in safe.items())
    if request == "auto":
        return Selection(next(iter(safe)), reasons[:1], capabilities)
    if request not in safe:
        best = next(iter(safe))
        why = f"{request!r} is not safe here: {_lacking(request, capabilities)}; use {best!r}"
        return Selection(None, (*reasons, why), capabilities)
    return Selection(request, (f"{request}: {safe[request]}", "asked for"), capabilities)


def chosen_before(record: JobRecord) -> Selection:
    """The selection that ``job.json`` records."""
    return Selection(record.committer, ("named by job.json",), record.capabilities)


def refused(selection: Selection, destination: str) -> UnsafeStoreError:
    """The error for a selection without a committer."""
    message = f"cannot commit to {destination!r}: {selection.reasons[-1]}"
    return UnsafeStoreError(message, stage="select")


def check_names(selection: Selection, names: Names) -> None:
    """Refuse exact names where two attempts to write one would destroy each other.

    Raises:
        UnsafeStoreError: Pending uploads are keyed by path, and no rename publishes.
    """
    if (
        names == "exact"
        and selection.committer == "magic"
        and selection.capabilities.upload_keyed_by != "upload_id"
    ):
        message = (
            'names="exact" is refused here: uploads are keyed by path, so two attempts that '
            'write one name destroy each other; use names="unique"'
        )
        raise UnsafeStoreError(message, stage="select")


def bind(
    committer: CommitterName,
    store: ConfirmedStore,
    facts: Capabilities,
    *,
    delete_by_name: bool = False,
) -> Bound:
    """Construct a committer with the abilities that it needs.

    Args:
        committer: The chosen committer.
        store: The store it works on.
        facts: The capabilities from which it was chosen.
        delete_by_name: The caller's promise that nobody else replaces old files while the job
            deletes them.

    Raises:
        UnsafeStoreError: The store lacks an ability.
    """
    match committer:
        case "v1":
            bound = _bind_v1(store, facts)
        case "manifest":
            bound = _bind_manifest(store, facts, delete_by_name=delete_by_name)
        case "magic":
            bound = _bind_magic(store, facts, delete_by_name=delete_by_name)
    return replace(bound, walks=facts.paged_listing is not True)


def leftover_uploads(store: ConfirmedStore, facts: Capabilities) -> LeftoverUploads | None:
    """Finds pending uploads that no job will complete; ``None`` if there are none to be dropped."""
    if store.uploads is None or _uploads_go_by_themselves(facts):
        return None
    listable = facts.uploads_listable is True
    return LeftoverUploads(store, store.uploads, listable=listable)


def retiring(store: ConfirmedStore, facts: Capabilities) -> Retirement:
    """How an area is removed: in one step where the store can, else in an order."""
    # Where listings are paged, a directory rename may be as well: Gen2 answers with a continuation.
    # If half an area were gone, decision but not job.json, a late driver could decide again.
    if facts.atomic_rename is AtomicRename.DIRECTORY and facts.paged_listing is False:
        return RetiringByRename(store, _present(store.directories))
    return _retiring_in_order(store, facts)


def _retiring_in_order(store: ConfirmedStore, facts: Capabilities) -> RetiringInOrder:
    leftovers = leftover_uploads(store, facts)
    adopts = store.uploads is not None and store.uploads.adopts
    return RetiringInOrder(store, leftovers, adopts=adopts)


def _bind_v1(store: ConfirmedStore, facts: Capabilities) -> Bound:
    directories, files = _present(store.directories), _present(store.files)
    retirement = RetiringByRename(store, directories)
    removal: Removal = (
        ConditionalRemoval(store, retirement, replaces_if_match=True)
        if _deletes_by_token(facts)
        else TrashRemoval(store, files, retirement)
    )
    return Bound(V1Committer(store, directories, files), removal)


def _bind_manifest(store: ConfirmedStore, facts: Capabilities, *, delete_by_name: bool) -> Bound:
    files = _present(store.files)
    retirement = retiring(store, facts)
    removal: Removal
    if _deletes_by_token(facts):
        removal = ConditionalRemoval(store, retirement, replaces_if_match=True)
    elif facts.token_survives_rename is True and facts.unique_tokens is not False:
        removal = TrashRemoval(store, files, retirement)
    else:
        remedy = (
            f'leave out committer="manifest", or say {_NOBODY_REPLACES}'
            if "v1" in _safe(facts)
            else f"say {_NOBODY_REPLACES}, or {_NOBODY_WRITES}"
        )
        removal = _by_names(store, retirement, facts, delete_by_name=delete_by_name, remedy=remedy)
    return Bound(ManifestCommitter(store, files), removal)


def _bind_magic(store: ConfirmedStore, facts: Capabilities, *, delete_by_name: bool) -> Bound:
    uploads = _present(store.uploads)
    retirement = _retiring_in_order(store, facts)
    replaces = facts.replace_if_match is True
    return Bound(
        MagicCommitter(
            store,
            uploads,
            records_all=facts.uploads_listable is not True and not _uploads_go_by_themselves(facts),
        ),
        ConditionalRemoval(
            store,
            retirement,
            replaces_if_match=replaces,
            drops_uploads=facts.upload_keyed_by == "path",
        )
        if _deletes_by_token(facts)
        else _by_names(
            store,
            retirement,
            facts,
            delete_by_name=delete_by_name,
            remedy=(
                f"turn on versioning for the bucket, or say {_NOBODY_REPLACES}, or {_NOBODY_WRITES}"
            ),
        ),
        attempts_in_names=facts.upload_keyed_by != "upload_id",
    )


def _by_names(
    store: ConfirmedStore,
    retirement: Retirement,
    facts: Capabilities,
    *,
    delete_by_name: bool,
    remedy: str,
) -> NamedRemoval:
    return NamedRemoval(
        store,
        retirement,
        replaces_if_match=facts.replace_if_match is True,
        deletes_if_match=facts.delete_if_match is True,
        by_name=delete_by_name,
        remedy=remedy,
    )


def _uploads_go_by_themselves(facts: Capabilities) -> bool:
    """Whether pending uploads are uncommitted blocks, which no verb lists or drops.

    Azure drops them a week after the last one, so there is no need to record them.
    """
    return facts.upload_keyed_by == "path" and facts.uploads_listable is False


def _deletes_by_token(facts: Capabilities) -> bool:
    return facts.delete_if_match is True and facts.unique_tokens is True


def _refusal(facts: Capabilities, remarks: Mapping[str, str]) -> tuple[str, ...] | None:
    if not facts.exclusive_create and not facts.exclusive_rename:
        return (remarks.get("exclusive_create", _NOT_EXCLUSIVE),)
    if not facts.consistent_listing:
        known = "is not consistent" if facts.consistent_listing is False else "may be stale"
        why = (
            f"its listing {known}, and jobs that run at the same time find each other by listing; "
            "if only one job at a time ever writes here, say single_writer=True"
        )
        return (remarks.get("consistent_listing", why),)
    return None


def _safe(facts: Capabilities) -> dict[CommitterName, str]:
    """Every committer that is safe, the best first, each with the reason."""
    safe: dict[CommitterName, str] = {}
    renames = facts.atomic_rename
    if renames is AtomicRename.DIRECTORY and facts.paged_listing is False:
        safe["v1"] = "one atomic rename moves a directory, and a listing is one cheap call"
    if renames in {AtomicRename.FILE, AtomicRename.DIRECTORY}:
        safe["manifest"] = "one atomic rename moves a file"
    if facts.multipart:
        safe["magic"] = "an upload can be completed later by another process"
    return safe


def _lacking(request: Request, facts: Capabilities) -> str:
    if request == "magic":
        return "the store has no multipart uploads that another process can complete"
    if request == "manifest":
        return "the store has no atomic rename of files"
    if facts.paged_listing is not False:
        return "a listing is paged, so a job commit must not depend on directories"
    return "the store has no atomic rename of directories"


def _present(ability: A | None) -> A:
    if ability is None:
        message = "the adapter declares an ability that it does not implement"
        raise UnsafeStoreError(message, kind="no_ability", stage="select")
    return ability
