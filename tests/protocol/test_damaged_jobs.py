"""Damaged jobs: which are, who may remove them, what stands then; and how all jobs are shown."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import (
    CommitError,
    CommitStateUnknownError,
    ConcurrentJobError,
    JobNotActiveError,
    Reply,
    RequestError,
    StoreError,
)
from fsspec_commit.protocol import committed_tasks
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.committed_tasks import CommittedTasks
from fsspec_commit.protocol.recovery import JobInfo, jobs
from fsspec_commit.records.job import Claim, Decision
from fsspec_commit.store import Unusable
from fsspec_commit.testing import Crash
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import DEAD, NONCE, cleaned, dead, put, size_of, url
from tests.protocol.in_virtual_time import (
    Clock,
    Fails,
    Stop,
    Then,
    opened,
    started,
    straight,
    wrote,
)
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.layout import JobLayout, StorePath
    from tests.protocol.in_virtual_time import Call, Hook


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


async def torn(bucket: Bucket, clock: Clock) -> JobLayout:
    [layout] = await dead(bucket, clock)
    put(bucket, layout.spec, b"torn")
    return layout


async def refused(
    bucket: Bucket, clock: Clock, job_id: str, hook: Hook = straight, **how: Any
) -> CommitError:
    before = bucket.keys("")
    with pytest.raises(CommitError) as caught:
        await cleaned(bucket, clock, hook, age_s=1_000, damaged=[job_id], **how)
    assert {*before} <= {*bucket.keys("")}
    assert caught.value.stage == "clean"
    return caught.value


async def shown(bucket: Bucket, hook: Hook = straight) -> list[JobInfo]:
    to = await opened(url(bucket), Clock(), hook)
    return [info async for info in jobs(to.store, to.check)]


@pytest.mark.guarantees("P7")
def test_only_a_damaged_job_that_is_there_is_removed(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        [sound] = await dead(bucket, clock)
        error: Any = await refused(bucket, clock, sound.job_id)
        assert isinstance(error, RequestError)
        assert (error.kind, error.outcome) == ("not_damaged", "unknown")
        error = await refused(bucket, clock, DEAD)
        assert isinstance(error, JobNotActiveError)
        assert (error.outcome, error.job_id) == ("unknown", DEAD)
        assert f"no job {DEAD} is there" in str(error)
        found = bucket.get(sound.spec)
        assert found is not None
        bucket.objects.pop(sound.spec)
        put(bucket, sound.spec, found.data.replace(b'"version":1', b'"version":2', 1))
        for accept_loss in (False, True):
            error = await refused(bucket, clock, sound.job_id, accept_loss=accept_loss)
            assert isinstance(error, RequestError)
            assert (error.kind, error.outcome) == ("newer_version", "unknown")
            assert "is not damaged: " in str(error)
        silent = Fails("list_children", "", StoreError("no answer"))
        error = await refused(bucket, clock, sound.job_id, silent)
        assert isinstance(error, CommitStateUnknownError)

    run(main())


@pytest.mark.guarantees("P7")
@pytest.mark.parametrize("state", ["undecided", "aborted", "aborted meanwhile"])
def test_one_that_cannot_have_committed_is_removed(bucket: Bucket, state: str) -> None:
    async def main() -> None:
        clock = Clock()
        layout = await torn(bucket, clock)
        record = Decision(nonce=NONCE, job_id=layout.job_id, state="aborted", by="another")

        async def abort() -> None:
            put(bucket, layout.decision, record.encode())

        if state == "aborted":
            await abort()
        meanwhile = state == "aborted meanwhile"
        hook = Then("create", "/decision", abort) if meanwhile else straight
        size_bytes = size_of(bucket, layout)
        report = await cleaned(bucket, clock, hook, age_s=1_000, damaged=[layout.job_id])
        assert (report.deleted, report.bytes) == ((layout.job_id,), size_bytes)
        assert size_of(bucket, layout) == 0

    run(main())


@pytest.mark.guarantees("P7", "P8")
def test_one_whose_driver_decides_just_before_it_is_fenced_stays(bucket: Bucket) -> None:
    """Its record was damaged, and is put back; who removes it would have to be told so."""

    async def main() -> None:
        clock, stop = Clock(), Stop("create", "/decision")
        driver = await started(url(bucket), clock, stop)
        layout = driver.started().layout
        message = await wrote(driver, "a.txt")
        committing = asyncio.create_task(driver.commit([message], wait_s=0))
        await stop.reached.wait()
        found = bucket.get(layout.spec)
        assert found is not None
        bucket.objects.pop(layout.spec)
        put(bucket, layout.spec, b"torn")

        async def decide() -> None:
            bucket.objects.pop(layout.spec)
            put(bucket, layout.spec, found.data)
            stop.passed.set()
            for _ in range(1_000):
                await asyncio.sleep(0)
                if layout.decision in bucket.keys(""):
                    return

        error = await refused(bucket, clock, layout.job_id, Then("create", "/decision", decide))
        assert isinstance(error, JobNotActiveError)
        assert (error.outcome, error.job_id) == ("unknown", layout.job_id)
        assert "was decided just now; look at it again" in str(error)
        assert await committing

    run(main())


async def left(bucket: Bucket, clock: Clock, *, tasks: int, state: str) -> JobLayout:
    """A void area in which a decision stands, beside the manifest of a task."""
    stop = Fails("create", "/published", Crash())
    driver = await started(url(bucket), clock, stop, allow_empty=True)
    message = await wrote(driver, "a.txt")
    if state == "aborted":
        dies = await opened(url(bucket), clock, Fails("delete", "/decision", Crash()))
        with pytest.raises(Crash):
            await abort_job(dies.bind(driver.started().record), by="")
    else:
        with pytest.raises(Crash):
            await driver.commit([message][:tasks], wait_s=0)
        bucket.objects.pop(driver.started().layout.spec)
    return driver.started().layout


@pytest.mark.guarantees("P8")
@pytest.mark.parametrize(
    ("tasks", "state", "is_damaged"),
    [(1, "committed", True), (0, "committed", False), (1, "aborted", False)],
)
def test_a_decision_in_a_void_area_is_damage_where_it_may_be_all_that_is_left(
    bucket: Bucket, tasks: int, state: str, *, is_damaged: bool
) -> None:
    """Of files that nobody has published; where there is none, it came too late."""

    async def main() -> None:
        clock = Clock()
        layout = await left(bucket, clock, tasks=tasks, state=state)
        assert layout.decision in bucket.keys("")
        report = await cleaned(bucket, clock)
        if is_damaged:
            why = "damaged, a committed decision stands but job.json is gone"
            assert report.shown == (f"{layout.job_id}: {why}",)
            assert size_of(bucket, layout)
            error: Any = await refused(bucket, clock, layout.job_id)
            assert (error.kind, error.outcome) == ("perhaps_committed", "unknown")
            report = await cleaned(bucket, clock, damaged=[layout.job_id], accept_loss=True)
            assert f"lost/{layout.job_id}" in "".join(bucket.keys(""))
        assert (report.deleted, report.shown) == ((layout.job_id,), ())
        assert size_of(bucket, layout) == 0

    run(main())


def test_jobs_are_shown_with_what_is_known_of_them(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        counted = await started(url(bucket), clock, tasks=4)
        for task in (0, 2):
            await wrote(counted, "a.txt", task=task)
        uncounted = await started(url(bucket), clock, mode="ignore")
        await wrote(uncounted, "a.txt", task=7)
        layout = await torn(bucket, clock)
        await wrote(counted, "b.txt", task=2)
        one, other, bad = await shown(bucket)
        assert (one.job_id, one.state, one.mode) == (
            counted.started().record.job_id,
            "open",
            "append",
        )
        assert (one.tasks_committed, one.tasks, one.tasks_missing) == (2, 4, "1, 3")
        assert (one.host, one.committer) == (
            counted.started().record.host,
            counted.started().record.committer,
        )
        assert (other.tasks_committed, other.tasks, other.tasks_missing) == (1, None, "")
        assert (bad.job_id, bad.state, bad.mode, bad.host) == (layout.job_id, "damaged", None, "")
        assert (bad.tasks_committed, bad.tasks, bad.tasks_missing) == (0, None, "")
        assert bad.damage is not None
        assert "job.json' is damaged" in bad.damage
        put(bucket, uncounted.started().layout.claim(NONCE), b"torn")
        one, other, _ = await shown(bucket)
        assert (other.state, other.mode, other.tasks_committed) == ("damaged", None, None)
        bucket.objects.pop(uncounted.started().layout.claim(NONCE))
        one, other, _ = await shown(bucket, Fails("list_children", "/manifests"))
        assert (one.tasks_committed, one.tasks_missing) == (None, "")
        assert (other.tasks_committed, other.tasks_missing) == (None, "")

    run(main())


@pytest.mark.parametrize("record", ["claim", "decision"])
def test_p11_only_a_name_lets_others_pass_a_damaged_job(bucket: Bucket, record: str) -> None:
    """What the claim of an append is named after says that no other append is in its way."""

    async def main() -> None:
        clock = Clock()
        [layout] = await dead(bucket, clock)
        claim = Claim(
            nonce=NONCE,
            job_id=layout.job_id,
            mode="append",
            names="unique",
            partitions=None,
            reusable_names=False,
        )
        for one, is_passed in ((claim.outlined(), True), (claim, False)):
            path = layout.claim(one.nonce)
            put(bucket, path, b"torn" if record == "claim" else one.encode())
            if record == "decision":
                put(bucket, layout.decision, b"torn")
            for mode, passes in (("append", is_passed), ("overwrite", False)):
                driver = await started(url(bucket), clock, mode=mode)
                message = await wrote(driver, "b.txt")
                if passes:
                    await driver.commit([message], wait_s=0)
                else:
                    with pytest.raises(ConcurrentJobError, match="is damaged"):
                        await driver.commit([message], wait_s=0)
                    await driver.abort()
            bucket.objects.pop(path)

    run(main())


def test_whatever_stands_in_the_place_of_areas_is_shown_first(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        links = [layout.area for layout in await dead(bucket, clock, 2)]
        [job] = await dead(bucket, clock)

        async def odd(verb: str, path: StorePath, call: Call) -> Any:
            answer = await call()
            if verb != "list_children" or path != job.destination.areas:
                return answer
            refusal = StoreError("it is a link", reply=Reply.REFUSED)
            rest = [child for child in answer if child.path not in links]
            return [*rest, *(Unusable(link, refusal) for link in reversed(links))]

        found = await shown(bucket, odd)
        assert [one.state for one in found] == ["damaged", "damaged", "open"]
        names = [link.rpartition("/")[2] for link in links]
        assert [one.job_id for one in found] == [*names, job.job_id]
        assert found[0].damage == "it is a link"

    run(main())


def test_a_decided_job_is_shown_with_the_tasks_that_it_has_chosen(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock, Fails("create", "/published", Crash()))
        messages = [await wrote(driver, "a.txt", task=task) for task in range(3)]
        with pytest.raises(Crash):
            await driver.commit(messages[:2], wait_s=0)
        [info] = await shown(bucket)
        assert (info.state, info.tasks_committed, info.tasks_missing) == ("decided", 2, "")

    run(main())


@pytest.mark.parametrize(
    ("ids", "expected", "enough", "missing"),
    [
        ((0, 5), 10, 10, "1 to 4, 6 to 9"),
        ((), 3, 10, "0 to 2"),
        ((0, 1, 2), 3, 10, ""),
        ((0, 5), 10, 3, "1 to 3, …"),
        ((0, 4), 5, 3, "1 to 3, …"),
        ((0,), 4, 3, "1 to 3"),
        ((0,), 5, 3, "1 to 3, …"),
        ((), 1, 1, "0"),
    ],
)
def test_the_first_tasks_that_are_missing_are_named(
    ids: tuple[int, ...], expected: int, enough: int, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committed_tasks, "_MISSING_MAX", enough)
    assert CommittedTasks(ids).missing_of(expected) == missing


@pytest.mark.parametrize("collect", ["messages", "store"])
def test_a_job_without_files_is_refused_and_says_what_was_forgotten(
    bucket: Bucket, collect: str
) -> None:
    """Of a job that collects its messages itself nobody can forget one."""

    async def main() -> RequestError:
        driver = await started(
            url(bucket), Clock(), collect=collect, tasks=1 if collect == "store" else None
        )
        await wrote(driver)
        with pytest.raises(RequestError) as caught:
            await driver.commit([], wait_s=0)
        return caught.value

    error = run(main())[0]
    kind, why = {
        "store": ("empty_job", "no file was written through its tasks"),
        "messages": ("missing_messages", "1 task committed, its message was not passed"),
    }[collect]
    assert (error.kind, error.outcome) == (kind, "not_committed")
    assert why in str(error)
