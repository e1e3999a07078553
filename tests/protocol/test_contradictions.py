"""Two answers that contradict each other: asked again, and in the end not taken for the truth."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from fsspec_commit.errors import (
    CommitStateUnknownError,
    ConcurrentJobError,
    PartialCommitError,
    RecordError,
    Reply,
    StoreError,
)
from fsspec_commit.ids import Nonce
from fsspec_commit.protocol.job_records import (
    read_record,
    standing_decision,
    standing_published,
)
from fsspec_commit.protocol.job_state import read_state
from fsspec_commit.protocol.recovery import jobs
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Published
from fsspec_commit.store import Unusable
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.flat.store import FlatStore
from tests.protocol.cleaning import NONCE, dead, destination, put, url
from tests.protocol.in_virtual_time import (
    Clock,
    Fails,
    Hides,
    Stop,
    Then,
    opened,
    started,
    straight,
    wrote,
)
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from fsspec_commit.effects.confirmed.store import ConfirmedStore
    from fsspec_commit.layout import JobLayout, StorePath
    from fsspec_commit.protocol.driver import Driver
    from tests.protocol.in_virtual_time import Call, Hook

LOOKS = 4


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


async def asked(bucket: Bucket, hook: Hook = straight) -> ConfirmedStore:
    return (await opened(url(bucket), Clock(), hook)).store


async def decided(bucket: Bucket) -> Driver:
    driver = await started(url(bucket), Clock(), Fails("create", "/published"))
    with pytest.raises(PartialCommitError):
        await driver.commit([await wrote(driver, "a.txt")], wait_s=0)
    return driver


@pytest.mark.guarantees("P8")
@pytest.mark.parametrize("by", ["read", "list_children"])
def test_a_record_that_only_one_answer_shows_is_looked_for_again(bucket: Bucket, by: str) -> None:
    async def main() -> None:
        [layout] = await dead(bucket, Clock())
        what = read_state if by == "list_children" else read_record
        for often in (LOOKS - 1, LOOKS):
            store = await asked(bucket, Hides(by, job_json=often))
            if often < LOOKS:
                assert await what(store, layout) is not None
                continue
            with pytest.raises(CommitStateUnknownError, match="check what is between") as caught:
                await what(store, layout)
            why = {
                "read": "is listed and cannot be found",
                "list_children": "stands and is not listed",
            }
            assert why[by] in str(caught.value)
            assert (caught.value.path, caught.value.job_id) == (layout.spec, layout.job_id)

    run(main())


def test_a_directory_beside_a_record_of_its_name_does_not_damage_it(bucket: Bucket) -> None:
    """As an object store may have both; alone it does."""

    async def main() -> None:
        driver = await decided(bucket)
        layout = driver.started().layout
        put(bucket, f"{layout.decision}/x")
        store = await asked(bucket, Hides("read", decision=1))
        assert await standing_decision(store, layout) is not None
        bucket.objects.pop(layout.decision)
        with pytest.raises(RecordError, match="damaged: it is a directory"):
            await standing_decision(await asked(bucket), layout)

    run(main())


@pytest.mark.guarantees("P9")
def test_a_publication_of_another_decision_is_damage(bucket: Bucket) -> None:
    async def main() -> None:
        driver = await decided(bucket)
        layout, store = driver.started().layout, await asked(bucket)
        decision = await standing_decision(store, layout)
        assert decision is not None
        assert await standing_published(store, layout, decision) is None
        record = Published(nonce=NONCE, job_id=layout.job_id, decision=Nonce("1" * 32))
        put(bucket, layout.published, record.encode())
        with pytest.raises(RecordError, match="is damaged: ") as caught:
            await standing_published(store, layout, decision)
        assert (caught.value.path, caught.value.job_id) == (layout.published, layout.job_id)
        assert (await read_state(store, layout)).state == "damaged"
        true = Published(nonce=NONCE, job_id=layout.job_id, decision=decision.record.nonce)
        bucket.objects.pop(layout.published)
        put(bucket, layout.published, true.encode())
        assert await standing_published(store, layout, decision) == Standing(true)

    run(main())


async def shown(bucket: Bucket, hook: Hook) -> list[str]:
    to = await opened(url(bucket), Clock(), hook)
    return [info.state async for info in jobs(to.store, to.check)]


@pytest.mark.guarantees("P8")
def test_a_job_that_ends_while_it_is_looked_at_is_over(bucket: Bucket) -> None:
    """Its decision was listed, and its ``job.json`` as well."""

    async def main() -> None:
        driver = await decided(bucket)
        layout = driver.started().layout
        assert await shown(bucket, straight) == ["decided"]

        async def end() -> None:
            bucket.objects.pop(layout.spec)

        assert await shown(bucket, Then("read", "/decision", end)) == []
        state = await read_state(await asked(bucket), layout)
        assert (state.state, state.decision, state.claims) == ("void", None, ())

    run(main())


@pytest.mark.guarantees("P11")
def test_what_stands_in_the_place_of_an_area_is_named_by_whom_it_stops(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = FlatStore.list_children
    odd: list[JobLayout] = []

    async def with_links(store: FlatStore, path: StorePath) -> AsyncIterator[object]:
        async for child in listing(store, path):
            yield child
        for layout in odd if path.endswith("/_commit") else ():
            yield Unusable(layout.area, StoreError("it is a link", reply=Reply.REFUSED))

    monkeypatch.setattr(FlatStore, "list_children", with_links)

    async def main() -> None:
        driver = await started(url(bucket), Clock())
        message = await wrote(driver, "a.txt")
        odd.append(destination(bucket).job("20261101T000000-0123456789abcdef"))
        with pytest.raises(ConcurrentJobError, match=r"is damaged \(it is a link\)") as caught:
            await driver.commit([message], wait_s=0)
        assert caught.value.other_job_id == odd[0].job_id
        assert await shown(bucket, straight) == ["damaged", "open"]

    run(main())


@pytest.mark.guarantees("P8")
@pytest.mark.parametrize("mark", ["/done/", "/epoch-"])
def test_where_no_mark_can_be_left_the_job_is_not_called_finished(mark: str) -> None:
    """Somebody has removed the directory of all areas, and this job's with it."""

    async def main() -> None:
        driver: Driver

        async def remove() -> None:
            job = driver.started()
            await job.store._store.delete_tree(job.layout.destination.areas)

        hook = Then("create", mark, remove)
        to = f"memory://{uuid4().hex}/out"
        driver = await started(to, Clock(), hook, idempotency_key="k")
        message = await wrote(driver, "a.txt")
        with pytest.raises(
            PartialCommitError, match=r"the work areas of .* are not there"
        ) as caught:
            await driver.commit([message], wait_s=0)
        assert (caught.value.stage, caught.value.remaining) == ("retire", 0)
        assert caught.value.job_id == driver.started().record.job_id

    run(main())


@pytest.mark.guarantees("P11")
def test_a_claim_that_is_withdrawn_while_it_is_read_is_none(bucket: Bucket) -> None:
    async def main() -> None:
        stop = Stop("create", "/decision")
        driver = await started(url(bucket), Clock(), stop)
        committing = asyncio.create_task(driver.commit([await wrote(driver, "a.txt")], wait_s=0))
        await stop.reached.wait()
        layout = driver.started().layout
        state = await read_state(await asked(bucket), layout)
        assert (state.state, len(state.claims), len(state.signs_of_life)) == ("committing", 1, 1)
        assert state.has_manifests

        async def withdrawn(verb: str, path: StorePath, call: Call) -> Any:
            return None if verb == "read" and "/claim-" in path else await call()

        assert (await read_state(await asked(bucket, withdrawn), layout)).state == "open"
        stop.passed.set()
        await committing

    run(main())
