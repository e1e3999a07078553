"""A probe tells whether a store does what its adapter declares, and what is known of the rest."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.selection import choose
from fsspec_commit.store import AtomicRename, Capabilities, OpenOptions, Store
from fsspec_commit.store.capabilities import differences
from fsspec_commit.testing import RecordingStore
from fsspec_commit_stores.local import LocalStore
from fsspec_commit_stores.memory import CAPABILITIES, MemoryStore
from tests.unit.store.liars import StaleTree
from tests.unit.store.probing import found, probed, root

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["memory", "local"])
def honest(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore(root())
    return asyncio.run(LocalStore.open(str(tmp_path / "out"), OpenOptions()))


def test_an_honest_store_passes(honest: Store) -> None:
    declared, observed = honest.capabilities, probed(honest)
    assert differences(declared, observed) == ()
    assert observed.facts() == declared.facts()
    assert choose(observed).committer == choose(declared).committer == "v1"


def test_what_was_seen_is_marked_and_the_rest_stays_declared(honest: Store) -> None:
    declared, observed = honest.capabilities, probed(honest)
    seen = {
        "atomic_rename",
        "consistent_listing",
        "delete_if_match",
        "exclusive_create",
        "exclusive_rename",
        "replace_if_match",
        "token_survives_rename",
        "whole_object_publish",
    }
    # Looking alike from one client is no proof of atomicity: a declared absence stands.
    shown = {name for name in seen if declared.facts()[name] is not False}
    assert {name for name, how in observed.evidence.items() if how == "probed"} == shown


def test_a_probe_takes_a_few_dozen_small_requests(honest: Store) -> None:
    recording = RecordingStore(honest)
    probed(recording)
    assert len(recording.calls) <= 45
    inside = f"{honest.root}/_commit/probe-"
    assert [call for call in recording.calls if not call.path.startswith(inside)] == []


def test_an_ability_that_is_declared_and_missing_is_found_out() -> None:
    store = MemoryStore(root())
    store.capabilities = CAPABILITIES.known("declared", multipart=True)
    store.files = store.directories = None
    assert found(store) == {"atomic_rename", "exclusive_rename", "multipart"}


def test_what_a_probe_can_show_replaces_what_was_unknown() -> None:
    store = MemoryStore(root())
    store.capabilities = Capabilities(paged_listing=True)
    observed = probed(store)
    assert differences(store.capabilities, observed) == ()
    # Atomicity cannot be seen, so the rename stays unknown, which counts as absent.
    assert observed == Capabilities(
        consistent_listing=True,
        delete_if_match=True,
        exclusive_create=True,
        exclusive_rename=True,
        multipart=False,
        paged_listing=True,
        replace_if_match=True,
        token_survives_rename=True,
        whole_object_publish=True,
        evidence=observed.evidence,
    )
    assert "atomic_rename" not in observed.evidence


def test_the_listing_of_a_mount_stays_unknown() -> None:
    store = MemoryStore(root())
    store.capabilities = CAPABILITIES.known("declared", consistent_listing=None)
    observed = probed(store)
    assert observed.consistent_listing is None
    assert choose(observed).committer is None


def test_what_is_assumed_stays_assumed_unless_it_is_refuted() -> None:
    store = MemoryStore(root())
    store.capabilities = CAPABILITIES.known("assumed", consistent_listing=True)
    assert probed(store).evidence["consistent_listing"] == "assumed"
    observed = probed(StaleTree(root(), store.capabilities))
    assert observed.consistent_listing is False
    assert observed.evidence["consistent_listing"] == "probed"


def test_a_declared_absence_stands() -> None:
    absent = Capabilities(
        atomic_rename=AtomicRename.NONE,
        consistent_listing=False,
        delete_if_match=False,
        exclusive_create=False,
        exclusive_rename=False,
        multipart=False,
        replace_if_match=False,
        token_survives_rename=False,
        whole_object_publish=False,
    )
    store = MemoryStore(root())
    store.capabilities = absent
    assert probed(store) == absent
