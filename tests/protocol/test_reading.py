"""Readers whose answers contradict each other, or are refused: asked again, or told so."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import (
    CommitStateUnknownError,
    NewerVersionError,
    PartialCommitError,
    RecordError,
    Reply,
    RequestError,
    StoreError,
)
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.recovery import resume_job
from fsspec_commit.protocol.snapshot import Reader, committed_files
from fsspec_commit.records import entries
from fsspec_commit.store import Unusable
from fsspec_commit.testing import Crash
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.flat.store import FlatStore, by_pages
from tests.protocol.cleaning import NONCE, destination, put, url
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
    from fsspec_commit.layout import JobLayout
    from fsspec_commit.protocol.bound_job import BoundJob
    from tests.protocol.in_virtual_time import Hook

OLD = "old.txt"


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    put(bucket, f"{bucket.name}/out/{OLD}", b"old")
    yield bucket
    remove_bucket(bucket)


async def read(bucket: Bucket, hook: Hook = straight, **how: Any) -> set[str]:
    """What a reader is told, up to what makes names unique."""
    to = await opened(url(bucket), Clock(), hook)
    found = await committed_files(Reader(to.store, url(bucket), to.bind, **how))
    return {name.partition("-")[0] for name in found.names}


async def stopped(bucket: Bucket, part: str, **options: Any) -> BoundJob:
    """A job whose driver died before it created a record."""
    clock = Clock()
    driver = await started(
        url(bucket), clock, Fails("create", part, Crash()), **{"mode": "overwrite", **options}
    )
    message = await wrote(driver, "new.txt")
    with pytest.raises(Crash):
        await driver.commit([message], wait_s=0)
    return (await opened(url(bucket), clock)).bind(driver.started().record)


def end(bucket: Bucket, layout: JobLayout) -> None:
    for key in bucket.keys(f"{layout.area}/"):
        bucket.objects.pop(key)


@pytest.mark.parametrize("names", ["unique", "exact"])
def test_whole_jobs_only_are_read(bucket: Bucket, names: str) -> None:
    """Of one that has decided nothing, of one that has published all, and no old file."""

    async def main() -> None:
        job = await stopped(bucket, "/published", names=names)
        new = "new.txt" if names == "exact" else "new"
        assert await read(bucket) == {OLD}
        keeps = (await opened(url(bucket), Clock(), Fails("delete", OLD))).bind(job.record)
        with pytest.raises(PartialCommitError):
            await resume_job(keeps)
        assert await read(bucket) == {new}
        await resume_job(job)
        assert await read(bucket) == {new}

    run(main())


@pytest.mark.parametrize("names", ["unique", "exact"])
@pytest.mark.parametrize("record", ["/decision", "/manifests/", "/job.json"])
def test_a_job_that_ends_while_its_records_are_read_is_read_again(
    bucket: Bucket, record: str, names: str
) -> None:
    """What could not be found then was no damage."""

    async def main() -> None:
        job = await stopped(bucket, "/published", names=names)
        finishes = Then("read", record, lambda: resume_job(job))
        shown = await read(bucket, finishes)
        new = "new.txt" if names == "exact" else "new"
        assert shown == ({new} if finishes.done else {OLD})

    run(main())


@pytest.mark.parametrize("record", ["/decision", "/published"])
def test_a_record_that_goes_while_it_is_read_is_read_again(bucket: Bucket, record: str) -> None:
    """A decision that came late, and that its author takes back, say."""

    async def main() -> None:
        job = await stopped(bucket, "/published" if record == "/decision" else "/epoch-")

        async def goes() -> None:
            end(bucket, job.layout)

        assert await read(bucket, Then("read", record, goes)) >= {"new"}

    run(main())


def test_a_decision_that_is_taken_back_while_it_is_read_is_none(bucket: Bucket) -> None:
    async def main() -> None:
        job = await stopped(bucket, "/published")

        async def goes() -> None:
            bucket.objects.pop(job.layout.decision)

        assert await read(bucket, Then("read", "/decision", goes)) >= {OLD}

    run(main())


@pytest.mark.guarantees("P5")
def test_an_aborted_job_that_still_has_an_area_hides_nothing(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock, mode="overwrite")
        await wrote(driver, "new.txt")
        to = await opened(url(bucket), clock, Fails("delete", "", Crash()))
        with pytest.raises(Crash):
            await abort_job(to.bind(driver.started().record), by="")
        assert driver.started().layout.decision in bucket.keys("")
        assert await read(bucket) == {OLD}

    run(main())


def test_a_publication_that_is_listed_and_never_found_is_no_answer(bucket: Bucket) -> None:
    """The job would seem to be over, and old and new files would count side by side."""

    async def main() -> None:
        await stopped(bucket, "/epoch-")
        with pytest.raises(CommitStateUnknownError, match="is listed and cannot be found"):
            await read(bucket, Hides("read", published=1_000))
        assert await read(bucket, Hides("read", published=1)) == {"new"}

    run(main())


def test_the_area_of_a_job_that_is_over_may_go_meanwhile(bucket: Bucket) -> None:
    """That changes nothing, so the files are listed once."""

    async def main() -> None:
        layout = destination(bucket).job("20261101T000000-0123456789abcdef")
        put(bucket, f"{layout.area}/tasks/0/left")
        calls = Stop("never", "")

        async def goes() -> None:
            end(bucket, layout)

        goes_then = Then("list_tree", "/out", goes)

        async def hook(verb: str, path: StorePath, call: Any) -> Any:
            return await calls(verb, path, lambda: goes_then(verb, path, call))

        assert await read(bucket, hook) == {OLD}
        assert [verb for verb, _ in calls.calls].count("list_tree") == 1
        assert goes_then.done

    run(main())


def test_of_what_is_published_nothing_is_read_that_hides_nothing(bucket: Bucket) -> None:
    async def main() -> None:
        await stopped(bucket, "/epoch-", mode="append", success="none")
        calls = Stop("never", "")
        assert await read(bucket, calls) == {OLD, "new"}
        looks, records = 2, 3  # The decision, job.json after it, and that it is published.
        assert [verb for verb, _ in calls.calls].count("read") == looks * records

    run(main())


@pytest.mark.parametrize("names", ["unique", "exact"])
def test_a_job_that_ends_at_any_call_of_a_reader_is_read_as_one_or_the_other(
    bucket: Bucket, names: str
) -> None:
    async def main() -> None:
        new, shown = {"unique": "new", "exact": "new.txt"}[names], set[str]()
        nth = calls = 0
        while calls >= nth:
            nth, calls = nth + 1, 0
            for key in bucket.keys(f"{bucket.name}/out/"):
                bucket.objects.pop(key)
            put(bucket, f"{bucket.name}/out/{OLD}", b"old")
            job = await stopped(bucket, "/published", names=names)

            async def finish(
                verb: str, path: StorePath, call: Any, nth: int = nth, job: BoundJob = job
            ) -> Any:
                nonlocal calls
                calls += 1
                if calls == nth:
                    await resume_job(job)
                return await call()

            [name] = await read(bucket, finish)
            shown.add(name)
        assert shown == {OLD, new}
        assert nth > 5

    run(main())


def test_the_names_of_new_files_say_that_they_do_not_count_yet(bucket: Bucket) -> None:
    """No manifest is read; and a file in a directory that is called like them counts."""

    async def main() -> None:
        job = await stopped(bucket, "/published")
        put(bucket, f"{bucket.name}/out/day-{job.record.job_id}-0/old.txt")
        put(bucket, f"{bucket.name}/out/half-{job.record.job_id}-0.txt")
        calls = Stop("never", "")
        assert await read(bucket, calls) == {OLD, "day"}
        assert not [path for _, path in calls.calls if "/manifests" in path]

    run(main())


def test_none_of_many_exact_names_counts_yet(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "_BATCH_MAX", 1)

    async def main() -> None:
        clock = Clock()
        hook = Fails("create", "/published", Crash())
        driver = await started(url(bucket), clock, hook, mode="overwrite", names="exact")
        message = await wrote(driver, "a", "b", "c", OLD)
        with pytest.raises(Crash):
            await driver.commit([message], wait_s=0)
        assert await read(bucket) == {OLD}

    run(main())


def test_what_may_not_be_read_is_not_known(bucket: Bucket) -> None:
    async def main() -> None:
        job = await stopped(bucket, "/published")
        job_id = job.record.job_id
        with pytest.raises(RecordError, match=f"not known: job {job_id} is damaged") as caught:
            await read(bucket, Fails("read", "/decision"))
        assert (caught.value.job_id, caught.value.stage) == (job_id, "read")
        assert str(caught.value).endswith(f"see: fsspec-commit show {url(bucket)} {job_id}")
        data = bucket.objects.pop(job.layout.spec).data
        put(bucket, job.layout.spec, data.replace(b'"version":1', b'"version":2', 1))
        with pytest.raises(NewerVersionError, match="a newer version of fsspec-commit") as newer:
            await read(bucket)
        assert (newer.value.job_id, newer.value.stage) == (job_id, "read")
        assert "is damaged" not in str(newer.value)

    run(main())


def test_what_stands_in_the_place_of_an_area_may_hide_a_job(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = FlatStore.list_children
    layout = destination(bucket).job("20261101T000000-0123456789abcdef")

    async def with_links(store: FlatStore, path: StorePath) -> AsyncIterator[object]:
        async for child in listing(store, path):
            yield child
        if path == layout.destination.areas:
            yield Unusable(layout.area, StoreError("it is a link", reply=Reply.REFUSED))

    monkeypatch.setattr(FlatStore, "list_children", with_links)

    async def main() -> None:
        with pytest.raises(RecordError, match="it is a link") as caught:
            await read(bucket)
        assert caught.value.job_id == layout.job_id
        assert layout.area in str(caught.value)

    run(main())


@pytest.mark.parametrize(
    ("shows", "lists"),
    [("at once", 2), ("by pages", 6), ("not said", 4)],
)
def test_what_is_not_shown_at_once_beside_the_areas_is_listed_again_at_last(
    bucket: Bucket, shows: str, lists: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An epoch must not have been listed before an area that it is to tell of."""
    if shows == "by pages":
        monkeypatch.setattr(FlatStore, "list_at_once", by_pages)
    if shows == "not said":
        monkeypatch.setattr(FlatStore, "at_once", None)

    async def main() -> None:
        layout = destination(bucket)
        for number in range(2):
            put(bucket, layout.epoch(Nonce(f"{number:032x}")), b"")
        calls = Stop("never", "")
        assert await read(bucket, calls) == {OLD}
        listed = [path for verb, path in calls.calls if verb == "list_children"]
        assert listed == [layout.areas] * lists

    run(main())


@pytest.mark.parametrize("what", ["job", "epoch"])
@pytest.mark.parametrize("levels", [1, 2])
def test_a_directory_of_a_destination_above_is_refused(
    bucket: Bucket, levels: int, what: str
) -> None:
    """Where it may not be listed from here, it is opened, if that can be."""
    above = DestinationLayout(StorePath("/".join([bucket.name, "out"][: 3 - levels])))
    inner = "/".join(["out"] * (levels - 1) + ["day=1"])
    below = StorePath(f"{above.root}/{inner}")
    if what == "job":
        put(bucket, above.job("20261101T000000-0123456789abcdef").spec, b"{}")
    else:
        put(bucket, above.epoch(NONCE), b"")
    put(bucket, f"{below}/a", b"a")
    opens: list[int] = []

    @asynccontextmanager
    async def opened_above(number: int) -> AsyncIterator[ConfirmedStore]:
        opens.append(number)
        yield (await opened(f"flat://{above.root}", Clock())).store

    async def main() -> None:
        async def ask(hook: Hook, **how: Any) -> list[str]:
            to = await opened(f"flat://{below}", Clock(), hook)
            return (await committed_files(Reader(to.store, "here", to.bind, **how))).names

        with pytest.raises(RequestError, match="'here' is a directory of the dest") as caught:
            await ask(straight, opened_above=opened_above)
        assert (caught.value.kind, caught.value.path) == ("inside_destination", inner)
        assert f"keep what is below {inner!r}" in str(caught.value)
        assert opens == []
        denied = Fails("list_children", f"{above.root}/_commit")
        assert await ask(denied) == ["a"], "nobody may look"
        if levels == 1 or what == "job":
            with pytest.raises(RequestError):
                await ask(denied, opened_above=opened_above)
            assert opens == [levels]

    run(main())


@pytest.mark.parametrize("mode", ["overwrite", "append"])
def test_nobody_overwrites_a_whole_bucket(bucket: Bucket, mode: str) -> None:
    async def main() -> None:
        root = f"flat://{bucket.name}"
        if mode == "append":
            assert (await started(root, Clock(), mode=mode)).state == "open"
            return
        with pytest.raises(RequestError, match="it is the root of its store") as caught:
            await started(root, Clock(), mode=mode)
        assert (caught.value.kind, caught.value.stage) == ("overwrite_root", "start")
        assert not [key for key in bucket.keys("") if "/_commit/" in key]

    run(main())
