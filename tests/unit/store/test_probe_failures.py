"""A probe that fails concludes nothing, and leaves nothing."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import StoreError
from fsspec_commit.layout import DestinationLayout
from fsspec_commit.store.probe import probe
from fsspec_commit.testing import Fault, FaultyStore, RecordingStore
from fsspec_commit_stores.memory import CAPABILITIES, MemoryStore
from tests.unit.store.liars import Unwritable
from tests.unit.store.probing import IDS, leftovers, probed, root

if TYPE_CHECKING:
    from fsspec_commit.store import Capabilities

LOST_REFUSALS = {
    ("error_but_applied", verb)
    for verb in ("create", "put", "delete", "rename", "rename_directory")
}


@pytest.mark.parametrize("kind", ["error", "throttled", "error_but_applied", "hang"])
def test_a_probe_leaves_nothing_and_concludes_nothing_when_a_request_fails(kind: str) -> None:
    plain = RecordingStore(MemoryStore(root()))
    probed(plain)
    verbs = [call.verb for call in plain.calls]
    assert verbs[-1] == "delete_tree"
    for number, verb in enumerate(verbs):
        store = MemoryStore(root())
        nth = verbs[: number + 1].count(verb)
        faulty = FaultyStore(store, [Fault(verb, nth, kind)])  # type: ignore[arg-type]
        scratch = DestinationLayout(store.root).probe(IDS.nonce())
        observed: Capabilities | None = None
        with suppress(StoreError):
            observed = asyncio.run(probe(faulty, scratch, IDS))
        if observed is not None:
            # Only cleaning up is tried again; a refused request has no reply to lose.
            assert verb == "delete_tree" or (kind, verb) in LOST_REFUSALS
            assert observed.facts() == CAPABILITIES.facts()
        assert faulty.plan.fired
        assert asyncio.run(leftovers(store, scratch)) == []


def test_a_probe_leaves_nothing_when_it_is_cancelled() -> None:
    async def run() -> None:
        store = MemoryStore(root())
        scratch = DestinationLayout(store.root).probe(IDS.nonce())
        faulty = FaultyStore(store, [Fault("rename", 1, "hang")])
        running = asyncio.ensure_future(probe(faulty, scratch, IDS))
        while not faulty.plan.fired:  # noqa: ASYNC110  # nobody sets an event inside the store
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await leftovers(store, scratch) == []

    asyncio.run(run())


def test_where_nothing_can_be_written_nothing_is_concluded() -> None:
    with pytest.raises(StoreError):
        probed(Unwritable(root()))
