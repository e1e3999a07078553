"""Misuses that must not type-check: each marked line fails with that code, and no other line fails.

The order is that of what they protect: an ability that a store may lack, the proof that permits a
deletion, where a path comes from, and what is settled.
"""

import fsspec_commit as fc
from fsspec_commit import testing
from fsspec_commit.committers.v1 import V1Committer
from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.layout import AttemptLayout, DestinationLayout, JobLayout, StorePath
from fsspec_commit.names import target
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Claim, Decision, Published
from fsspec_commit.store import Entry, Store


def an_ability_may_be_absent(store: ConfirmedStore) -> None:
    assert store.directories is not None
    V1Committer(store, store.directories, store.files)  # E: arg-type


def the_wrong_ability(store: ConfirmedStore) -> None:
    assert store.files is not None
    V1Committer(store, store.files, store.files)  # E: arg-type


def a_narrowed_ability_fits(store: ConfirmedStore) -> V1Committer | None:
    if store.directories is None or store.files is None:
        return None
    return V1Committer(store, store.directories, store.files)


def an_ability_of_the_raw_store_is_not_confirmed(store: ConfirmedStore, raw: Store) -> None:
    assert raw.directories is not None
    assert store.files is not None
    V1Committer(store, raw.directories, store.files)  # E: arg-type


def a_raw_store_is_not_confirmed(raw: Store, confirmed: ConfirmedStore) -> None:
    assert confirmed.directories is not None
    assert confirmed.files is not None
    V1Committer(raw, confirmed.directories, confirmed.files)  # E: arg-type


def a_record_in_hand_does_not_stand(layout: JobLayout, decision: Decision) -> None:
    deletion.of_aborted(layout, decision)  # E: arg-type


def a_decision_is_no_proof_of_publishing(layout: JobLayout, decision: Standing[Decision]) -> None:
    deletion.of_published(layout, decision)  # E: arg-type


def publishing_is_no_proof_of_an_abort(layout: JobLayout, published: Standing[Published]) -> None:
    deletion.of_aborted(layout, published)  # E: arg-type


def a_claim_is_no_decision(layout: JobLayout, claim: Standing[Claim]) -> None:
    deletion.of_aborted(layout, claim)  # E: arg-type


async def no_deletion_without_a_permit(store: ConfirmedStore, path: StorePath, entry: Entry) -> None:
    await store.delete(path)  # E: call-arg
    await store.delete_if_same(entry)  # E: call-arg
    await store.delete_tree(path)  # E: call-arg


async def no_path_is_put_together_by_hand(store: ConfirmedStore) -> None:
    await store.stat("bucket/" + "key")  # E: arg-type
    await store.create("bucket/key", b"", within=None)  # E: arg-type


def no_target_is_unchecked(layout: DestinationLayout, attempt: AttemptLayout) -> None:
    layout.final("../x")  # E: arg-type
    layout.final(target("x"))
    attempt.working_file("../x")  # E: arg-type


def a_name_there_is_not() -> None:
    fc.wrtie_dataset()  # E: attr-defined
    testing.asert_committed("x")  # E: attr-defined


def a_destination_that_is_none() -> None:
    fc.Job(5)  # E: arg-type
    fc.jobs(b"x")  # E: arg-type
