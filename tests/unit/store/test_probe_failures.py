"""A probe that fails concludes nothing, and leaves nothing."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import pytest

from fsspec_commit.effects.confirm import ask
from fsspec_commit.effects.pacing import Pace
from fsspec_commit.errors import StoreError
from fsspec_commit.layout import DestinationLayout
from fsspec_commit.store.probe import Observed, probe
from fsspec_commit.testing import Fault, FaultyStore, RecordingStore
from fsspec_commit_stores.memory import CAPABILITIES, MemoryStore
from tests.unit.store.liars import OneWriteAtATime, Unwritable
from tests.unit.store.probing import IDS, leftovers, probed, root

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Ask, Capabilities, Store

T = TypeVar("T")

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
        observed: Observed | None = None
        with suppress(StoreError):
            observed = asyncio.run(probe(faulty, scratch, IDS))
        if observed is not None:
            # Only cleaning up is tried again; a refused request has no reply to lose.
            assert verb == "delete_tree" or (kind, verb) in LOST_REFUSALS
            assert observed.capabilities.facts() == CAPABILITIES.facts()
            assert observed.remarks == {}
        assert faulty.plan.fired
        assert asyncio.run(leftovers(store, scratch)) == []


@pytest.mark.parametrize("kind", ["error", "throttled", "error_but_applied"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_patient_probe_gets_over_what_fails_and_finds_the_same(kind: str, times: int) -> None:
    """What an attempt that was given up may have done is not taken for the next one's."""
    plain = RecordingStore(MemoryStore(root()))
    probed(plain)
    verbs = [call.verb for call in plain.calls]
    for number, verb in enumerate(verbs):
        store = MemoryStore(root())
        first = verbs[: number + 1].count(verb)
        plan = [Fault(verb, first + more, kind) for more in range(times)]  # type: ignore[arg-type]  # one of its kinds
        faulty = FaultyStore(store, plan)
        scratch = DestinationLayout(store.root).probe(IDS.nonce())
        observed = asyncio.run(patiently(faulty, scratch))
        assert observed.facts() == CAPABILITIES.facts()
        assert faulty.plan.fired
        assert asyncio.run(leftovers(store, scratch)) == []


async def patiently(store: Store, scratch: StorePath) -> Capabilities:
    observed = await probe(store, scratch, IDS, ask=patient(), resend=patient())
    assert observed.remarks == {}
    return observed.capabilities


def patient() -> Ask:
    pace = Pace(IDS)

    async def asking(question: Callable[[], Awaitable[T]], /) -> T:
        return await ask(question, pace)

    return asking


def test_a_name_that_may_be_written_once_in_a_while_is_waited_for() -> None:
    """Each attempt under new names would fail at the same place, for ever."""
    store = OneWriteAtATime(root(), interval_s=0.05)
    scratch = DestinationLayout(store.root).probe(IDS.nonce())
    observed = asyncio.run(patiently(store, scratch))
    assert observed.facts() == CAPABILITIES.facts()
    assert asyncio.run(leftovers(store, scratch)) == []
    with pytest.raises(StoreError, match="was written just now"):
        asyncio.run(probe(store, scratch, IDS, ask=patient()))


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
