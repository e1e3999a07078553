"""Which committer is safe: the table of the design, and no unsafe choice on any capabilities."""

from __future__ import annotations

import asyncio
import pickle
from itertools import product
from typing import Any, Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.removal import (
    ConditionalRemoval,
    NamedRemoval,
    Removal,
    TrashRemoval,
    _Retiring,
)
from fsspec_commit.effects.retirement import RetiringByRename, RetiringInOrder
from fsspec_commit.errors import UnsafeStoreError
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.layout import StorePath
from fsspec_commit.selection import (
    REQUESTS,
    Request,
    Selection,
    bind,
    check_names,
    choose,
    refused,
)
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import AtomicRename, Capabilities
from fsspec_commit_stores.memory import MemoryStore
from tests.flat.bucket import AWS, Bucket
from tests.flat.store import FlatStore

Fact = bool | None

DISK = Capabilities(
    atomic_rename=AtomicRename.DIRECTORY,
    consistent_listing=True,
    exclusive_create=True,
    exclusive_rename=True,
    multipart=False,
    paged_listing=False,
    token_survives_rename=True,
    whole_object_publish=False,
)
OBJECTS = Capabilities(
    atomic_rename=AtomicRename.NONE,
    consistent_listing=True,
    exclusive_create=True,
    exclusive_rename=False,
    multipart=True,
    paged_listing=True,
    upload_keyed_by="upload_id",
)


def like(base: Capabilities, **facts: object) -> Capabilities:
    return base.known("declared", **facts)


# Section 3 of the design, row by row.
TABLE = {
    "local, memory": (DISK, "v1"),
    "HDFS": (like(DISK, exclusive_create=None), "v1"),
    "ABFS, hierarchical namespace": (
        like(DISK, paged_listing=True, multipart=True, upload_keyed_by="path"),
        "manifest",
    ),
    "GCS, flat": (like(DISK, atomic_rename=AtomicRename.FILE, paged_listing=True), "manifest"),
    "GCS, HNS": (like(DISK, paged_listing=True), "manifest"),
    "S3 general purpose": (OBJECTS, "magic"),
    "S3 directory bucket": (like(OBJECTS, atomic_rename=AtomicRename.FILE), "manifest"),
    "Azure flat namespace": (like(OBJECTS, upload_keyed_by="path"), "magic"),
    "NFS, SMB, FUSE": (like(DISK, consistent_listing=None), None),
    "NFS, single_writer": (
        like(DISK, consistent_listing=None).known("assumed", consistent_listing=True),
        "v1",
    ),
    "S3-compatible endpoint, not probed": (
        Capabilities(paged_listing=True, multipart=True, upload_keyed_by="upload_id"),
        None,
    ),
    "S3-compatible endpoint, probed": (
        Capabilities(paged_listing=True, multipart=True, upload_keyed_by="upload_id").known(
            "probed", exclusive_create=True, consistent_listing=True
        ),
        "magic",
    ),
    "unknown filesystem": (Capabilities(), None),
}


@pytest.mark.parametrize("store", TABLE)
def test_the_table(store: str) -> None:
    facts, committer = TABLE[store]
    assert choose(facts).committer == committer


def safe_committers(facts: Capabilities) -> list[str]:
    """What the design allows, the best first, written down a second time."""
    one_decision = facts.exclusive_create is True or facts.exclusive_rename is True
    if not (one_decision and facts.consistent_listing is True):
        return []
    needs = {
        "v1": facts.atomic_rename == AtomicRename.DIRECTORY and facts.paged_listing is False,
        "manifest": facts.atomic_rename in (AtomicRename.FILE, AtomicRename.DIRECTORY),
        "magic": facts.multipart is True,
    }
    return [committer for committer, met in needs.items() if met]


FACTS: dict[str, tuple[object, ...]] = {
    "atomic_rename": (None, *AtomicRename),
    "exclusive_rename": (None, False, True),
    "consistent_listing": (None, False, True),
    "paged_listing": (None, False, True),
    "multipart": (None, False, True),
    "exclusive_create": (None, False, True),
}


def all_capabilities() -> list[Capabilities]:
    return [
        Capabilities().known("declared", **dict(zip(FACTS, values, strict=True)))
        for values in product(*FACTS.values())
    ]


ALL = all_capabilities()
OTHERS: dict[str, st.SearchStrategy[Any]] = {
    "upload_keyed_by": st.sampled_from([None, "upload_id", "path"]),
    **dict.fromkeys(
        (
            "uploads_listable",
            "replace_if_match",
            "delete_if_match",
            "whole_object_publish",
            "token_survives_rename",
            "unique_tokens",
        ),
        st.sampled_from([None, False, True]),
    ),
}


@pytest.mark.parametrize("request_", REQUESTS)
def test_no_choice_is_ever_unsafe(request_: Request) -> None:
    assert len(ALL) == 4 * 3**5
    for facts in ALL:
        safe = safe_committers(facts)
        chosen = choose(facts, request_).committer
        if request_ == "auto":
            assert chosen == (safe[0] if safe else None), facts
        else:
            assert chosen == (request_ if request_ in safe else None), facts


@given(st.sampled_from(ALL), st.fixed_dictionaries(OTHERS), st.sampled_from(REQUESTS))
def test_no_other_fact_makes_an_unsafe_choice_safe(
    facts: Capabilities, others: dict[str, Any], request_: Request
) -> None:
    with_others = facts.known("probed", **others)
    assert choose(with_others, request_).committer == choose(facts, request_).committer


@given(st.sampled_from(ALL), st.sampled_from(sorted(FACTS)), st.sampled_from(REQUESTS))
def test_knowing_less_never_makes_more_safe(
    facts: Capabilities, forgotten: str, request_: Request
) -> None:
    less = facts.known("declared", **{forgotten: None})
    if choose(less, request_).committer is not None and request_ != "auto":
        assert choose(facts, request_).committer is not None or facts.facts()[forgotten] is False
    assert set(safe_committers(less)) <= set(safe_committers(facts)) or (
        facts.facts()[forgotten] in (False, AtomicRename.NONE)
    )


@pytest.mark.parametrize("request_", REQUESTS)
def test_every_selection_has_its_reasons(request_: Request) -> None:
    for facts in ALL:
        selection = choose(facts, request_)
        assert selection.reasons
        assert all(reason == reason.strip() and reason for reason in selection.reasons)
        assert selection.capabilities is facts
        assert pickle.loads(pickle.dumps(selection)) == selection


@pytest.mark.parametrize(
    ("facts", "request_", "named"),
    [
        (like(DISK, exclusive_create=False, exclusive_rename=False), "auto", "exclusive create"),
        (like(DISK, exclusive_create=None, exclusive_rename=None), "auto", "exclusive rename"),
        (like(DISK, consistent_listing=False), "auto", "listing is not consistent"),
        (like(DISK, consistent_listing=None), "auto", "listing may be stale"),
        (like(DISK, consistent_listing=None), "auto", "single_writer=True"),
        (like(DISK, atomic_rename=AtomicRename.NONE), "auto", "renames neither files nor"),
        (like(DISK, atomic_rename=None), "auto", "multipart"),
        (DISK, "magic", "multipart uploads"),
        (DISK, "magic", "use 'v1'"),
        (OBJECTS, "v1", "listing is paged"),
        (OBJECTS, "manifest", "atomic rename of files"),
        (OBJECTS, "manifest", "use 'magic'"),
        (like(OBJECTS, paged_listing=False), "v1", "atomic rename of directories"),
        (like(DISK, paged_listing=None), "v1", "listing is paged"),
    ],
)
def test_a_refusal_names_what_is_missing(
    facts: Capabilities, request_: Request, named: str
) -> None:
    selection = choose(facts, request_)
    assert selection.committer is None
    assert named in selection.reasons[-1]
    error = refused(selection, "s3://b/t")
    assert isinstance(error, UnsafeStoreError)
    assert error.outcome == "not_committed"
    assert error.kind == "unsafe_store"
    assert str(error) == f"cannot commit to 's3://b/t': {selection.reasons[-1]}"


def test_a_choice_says_why() -> None:
    assert choose(DISK).reasons == (
        "v1: one atomic rename moves a directory, and a listing is one cheap call",
    )
    assert choose(DISK, "manifest").reasons == (
        "manifest: one atomic rename moves a file",
        "asked for",
    )
    assert choose(OBJECTS).reasons == (
        "magic: an upload can be completed later by another process",
    )


@pytest.mark.parametrize(
    ("committer", "keyed_by", "names", "safe"),
    [
        ("magic", "path", "exact", False),
        ("magic", None, "exact", False),
        ("magic", "path", "unique", True),
        ("magic", "upload_id", "exact", True),
        ("manifest", "path", "exact", True),
        ("v1", None, "exact", True),
    ],
)
def test_exact_names_are_refused_where_attempts_would_share_an_upload(
    committer: Literal["v1", "manifest", "magic"],
    keyed_by: Literal["upload_id", "path"] | None,
    names: Literal["unique", "exact"],
    safe: bool,
) -> None:
    selection = Selection(committer, ("",), Capabilities(upload_keyed_by=keyed_by))
    if safe:
        check_names(selection, names)
        return
    with pytest.raises(UnsafeStoreError, match="keyed by path"):
        check_names(selection, names)


def test_every_committer_can_be_asked_for() -> None:
    assert set(REQUESTS) == {"auto", "v1", "manifest", "magic"}
    assert get_args(Request)


@pytest.mark.parametrize("unique", [None, False, True])
@pytest.mark.parametrize("conditional", [None, False, True])
@pytest.mark.parametrize("replaces", [None, False, True])
@pytest.mark.parametrize("keyed_by", [None, "upload_id", "path"])
def test_what_magic_may_remove_follows_from_what_is_known(
    unique: Fact, conditional: Fact, replaces: Fact, keyed_by: Literal["upload_id", "path"] | None
) -> None:
    facts = like(
        OBJECTS,
        unique_tokens=unique,
        delete_if_match=conditional,
        replace_if_match=replaces,
        upload_keyed_by=keyed_by,
    )

    async def run() -> None:
        bucket = Bucket("b", AWS)
        store = FlatStore(StorePath("b/out"), bucket, facts)
        settled = ConfirmedStore(store, ids=SYSTEM_IDS, statistics=Statistics())
        bound = bind("magic", settled, facts)
        uuid = "part-6a0d9b8e-5c0f-4a55-9f0e-0123456789ab.parquet"
        assert bound.committer.name == "magic"
        assert bound.removal.may_take("old.txt", in_place=False) is (conditional is True)
        assert bound.removal.may_take(uuid, in_place=False) is True
        assert bound.removal.late_takes(uuid) is None
        unsafe = None if unique and conditional else "equal" if conditional else "any"
        assert bound.removal.late_takes("old.txt") == unsafe
        promised = bind("magic", settled, facts, delete_by_name=True)
        assert promised.removal.may_take("old.txt", in_place=False)
        assert promised.removal.late_takes("old.txt") == unsafe
        # Where tokens come back every empty marker has that of every other.
        may_remove_marker = promised.removal.may_take("_SUCCESS", in_place=False)
        assert may_remove_marker is (unsafe is None and keyed_by != "path")
        assert bound.removal.may_take("old.txt", in_place=True) is bool(replaces)
        assert bound.attempts_in_names is (keyed_by != "upload_id")

    asyncio.run(run())


@pytest.mark.parametrize("unique", [None, False, True])
@pytest.mark.parametrize("conditional", [None, False, True])
def test_a_disk_removes_by_token_only_where_tokens_are_unique(
    unique: Fact, conditional: Fact
) -> None:
    facts = like(DISK, unique_tokens=unique, delete_if_match=conditional)

    async def run() -> None:
        store = MemoryStore(StorePath("/out"))
        bound = bind("v1", ConfirmedStore(store, ids=SYSTEM_IDS, statistics=Statistics()), facts)
        by_token = isinstance(bound.removal, ConditionalRemoval)
        assert by_token is bool(unique and conditional)
        assert bound.removal.may_take("old.txt", in_place=False)
        assert bound.removal.may_take("old.txt", in_place=True)
        assert not bound.attempts_in_names

    asyncio.run(run())


def how(removal: Removal) -> tuple[type[Removal], type[object]]:
    """How old files go, and areas."""
    assert isinstance(removal, _Retiring)
    return type(removal), type(removal._retirement)


@pytest.mark.parametrize("unique", [None, False, True])
@pytest.mark.parametrize("conditional", [None, False, True])
@pytest.mark.parametrize("kept", [None, False, True])
@pytest.mark.parametrize("renames", [AtomicRename.FILE, AtomicRename.DIRECTORY])
@pytest.mark.parametrize("paged", [None, False, True])
def test_what_manifest_may_remove_follows_from_what_is_known(
    unique: Fact, conditional: Fact, kept: Fact, renames: AtomicRename, paged: Fact
) -> None:
    facts = like(
        DISK,
        atomic_rename=renames,
        paged_listing=paged,
        unique_tokens=unique,
        delete_if_match=conditional,
        token_survives_rename=kept,
    )

    async def run() -> None:
        store = MemoryStore(StorePath("/out"))
        bound = bind(
            "manifest", ConfirmedStore(store, ids=SYSTEM_IDS, statistics=Statistics()), facts
        )
        by_token = unique is True and conditional is True
        by_name = not by_token and (kept is not True or unique is False)
        removes = NamedRemoval if by_name else TrashRemoval
        whole = renames is AtomicRename.DIRECTORY and paged is False
        retires = RetiringByRename if whole else RetiringInOrder
        assert how(bound.removal) == (ConditionalRemoval if by_token else removes, retires)
        may_take = not by_name or conditional is True
        assert bound.removal.may_take("old.txt", in_place=False) is may_take
        assert (bound.removal.late_takes("old.txt") is None) is not by_name
        assert bound.committer.name == "manifest"
        assert not bound.attempts_in_names

    asyncio.run(run())


def test_a_committer_without_its_ability_is_not_bound() -> None:
    async def run(committer: Literal["v1", "magic", "manifest"]) -> None:
        store = (
            MemoryStore(StorePath("/out"))
            if committer == "magic"
            else FlatStore(StorePath("b/out"), Bucket("b", AWS), OBJECTS)
        )
        bind(committer, ConfirmedStore(store, ids=SYSTEM_IDS, statistics=Statistics()), OBJECTS)

    committers: tuple[Literal["v1", "magic", "manifest"], ...] = ("v1", "magic", "manifest")
    for committer in committers:
        with pytest.raises(UnsafeStoreError) as caught:
            asyncio.run(run(committer))
        assert caught.value.kind == "no_ability"
