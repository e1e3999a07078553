"""An old file is deleted on condition of a token that a newer file may have: none of those goes.

In an unversioned bucket equal bytes have equal etags, so a request to delete the old file that is
carried out late takes a newer one of the same name and bytes. See `tests/specs/late_deletes.py`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.effects.deletion import LATE_DELETES_END
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import VERSIONED
from tests.protocol.invariants import raw_visible
from tests.scenes.scene import SCENES, Scene, named

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from fsspec_commit.store import Store
    from tests.scenes.flat_place import FlatPlace

T = TypeVar("T")
SCENE = SCENES["overwrite"]
OLD = {name: data.decode() for name, data in SCENE.old.items()}


class Clock:
    """What everybody in this process takes for the time."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 22, 6, 0, 0, tzinfo=UTC)

    def passes(self, **time: float) -> None:
        self.now += timedelta(**time)


@pytest.fixture
def clock() -> Iterator[Clock]:
    clock, real = Clock(), SYSTEM_IDS.now
    object.__setattr__(SYSTEM_IDS, "now", lambda: clock.now)
    yield clock
    object.__setattr__(SYSTEM_IDS, "now", real)


class Network:
    """Holds back one request to delete an old file, and says that it was not answered."""

    def __init__(self, nth: int) -> None:
        self._left = nth
        self.held: list[Callable[[], Awaitable[object]]] = []

    def __call__(self, store: Store) -> Store:
        return WrappedStore(store, self._carry)

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "delete" and "_commit/" not in path:
            self._left -= 1
            if self._left == 0:
                self.held.append(call)
                raise StoreError("no answer", reply=Reply.UNKNOWN, path=path)
        return await call()

    def delivers(self) -> None:
        """Carry out what was held back; nobody hears how it ended."""
        for call in self.held:
            with suppress(StoreError):
                asyncio.run(call())  # type: ignore[arg-type]  # a coroutine


def write(place: FlatPlace, files: dict[str, str], **options: object) -> None:
    with fc.Job(place.url, **options) as job, job.task() as task:  # type: ignore[arg-type]  # of a table
        for name, text in files.items():
            with task.open(name, "w") as file:
                file.write(text)


def overwrite(place: FlatPlace, **options: object) -> None:
    write(place, {"new.txt": "new"}, mode="overwrite", **options)


def come_back(place: FlatPlace, files: dict[str, str], **options: object) -> None:
    write(place, files, **{"mode": "append", "names": "exact", **options})


def message_of(task: fc.Task) -> fc.TaskCommit:
    assert task.message is not None
    return task.message


def records(place: FlatPlace) -> list[str]:
    """The directories in which jobs say what they deleted."""
    found = {name.split("/")[1] for name in place.snapshot() if name.startswith("_commit/deleted-")}
    return sorted(found)


def stands(place: FlatPlace, files: dict[str, str]) -> None:
    shown = raw_visible(place.snapshot())
    assert {name: shown.get(name) for name in files} == {
        name: text.encode() for name, text in files.items()
    }


@pytest.mark.parametrize("nth", range(1, len(OLD) + 1))
@pytest.mark.parametrize("mode", ["append", "overwrite", "overwrite_partitions"])
def test_a_deletion_that_comes_late_takes_nothing(
    nth: int, mode: str, make_place: Callable[[str, Scene], FlatPlace]
) -> None:
    place, network = make_place("unversioned", SCENE), Network(nth)
    with wrapping(network):
        overwrite(place)
    assert network.held
    again = {
        name: text for name, text in OLD.items() if mode != "overwrite_partitions" or "/" in name
    }
    for name, text in again.items():
        with pytest.raises(fc.UnsafeStoreError, match="may still arrive") as caught:
            come_back(place, {name: text}, mode=mode)
        assert (caught.value.kind, caught.value.path) == ("late_delete", name)
    others = {name: f"{text}, longer" for name, text in again.items()}
    come_back(place, others, mode=mode)
    network.delivers()
    stands(place, others)


def test_without_a_condition_no_bytes_are_safe(
    make_place: Callable[[str, Scene], FlatPlace],
) -> None:
    place, network = make_place("minio", SCENE), Network(1)
    with pytest.raises(fc.UnsafeStoreError, match="delete_by_name=True if nobody"):
        overwrite(place)
    stands(place, OLD)
    with wrapping(network):
        overwrite(place, delete_by_name=True)
    for name in OLD:
        with pytest.raises(fc.UnsafeStoreError, match="may still arrive"):
            come_back(place, {name: "of other bytes"})
    come_back(place, {"other.txt": "under another name"})
    network.delivers()
    stands(place, {"other.txt": "under another name"})


def test_it_is_said_also_when_every_request_was_answered(
    make_place: Callable[[str, Scene], FlatPlace],
) -> None:
    """Another driver of the job, or a resumer, may have sent some, too."""
    place = make_place("unversioned", SCENE)
    with inject(Fault("complete", 2, "crash_before")), suppress(Crash):
        overwrite(place)
    assert not records(place)
    assert not OLD.keys() & place.snapshot().keys()
    (job,) = fc.jobs(place.url)
    fc.resume(place.url, job.job_id)
    assert len(records(place)) == 1
    with pytest.raises(fc.UnsafeStoreError, match="may still arrive"):
        come_back(place, OLD)


def test_names_that_never_come_back_leave_nothing(
    make_place: Callable[[str, Scene], FlatPlace],
) -> None:
    place = make_place("unversioned", named("overwrite"))
    overwrite(place)
    overwrite(place)
    assert not records(place)
    place = make_place("versioned", SCENE)
    overwrite(place)
    assert not records(place)
    come_back(place, OLD)


def test_unique_names_and_a_single_writer_are_not_refused(
    make_place: Callable[[str, Scene], FlatPlace],
) -> None:
    place = make_place("unversioned", SCENE)
    overwrite(place)
    write(place, OLD, mode="append")
    come_back(place, OLD, single_writer=True)
    stands(place, OLD)


@pytest.mark.parametrize("name", ["_metadata", "day=1/_common_metadata"])
def test_a_summary_file_is_such_a_name(
    name: str, make_place: Callable[[str, Scene], FlatPlace]
) -> None:
    place = make_place("unversioned", SCENE)
    write(place, {name: "summary"}, mode="append")
    overwrite(place)
    assert name not in place.snapshot()
    with pytest.raises(fc.UnsafeStoreError, match="may still arrive"):
        write(place, {name: "summary", "more.txt": "more"}, mode="append")


def test_the_refusal_ends_and_the_job_commits_then(
    make_place: Callable[[str, Scene], FlatPlace], clock: Clock
) -> None:
    place = make_place("unversioned", SCENE)
    overwrite(place)
    job = fc.Job(place.url, mode="append", names="exact")
    job._begun_here = False
    job.start()
    with job.task() as task, task.open("old.txt", "w") as file:
        file.write(OLD["old.txt"])
    clock.passes(minutes=119)
    with pytest.raises(fc.UnsafeStoreError, match="2026-11-22 08:00:00 UTC"):
        job.commit()
    clock.passes(minutes=2)
    job.commit()
    stands(place, {"old.txt": OLD["old.txt"]})
    assert not records(place)


def test_the_refusal_names_the_time_of_the_job_that_deleted_the_file(
    make_place: Callable[[str, Scene], FlatPlace], clock: Clock
) -> None:
    """And not that of a later one, so that jobs which delete other files put it off no further."""
    place = make_place("unversioned", SCENE)
    overwrite(place)
    clock.passes(hours=1)
    come_back(place, {"other.txt": "other"})
    overwrite(place)
    with pytest.raises(fc.UnsafeStoreError, match="2026-11-22 08:00:00 UTC"):
        come_back(place, {"old.txt": OLD["old.txt"]})
    with pytest.raises(fc.UnsafeStoreError, match="2026-11-22 09:00:00 UTC"):
        come_back(place, {"other.txt": "other"})


def test_what_the_refusal_offers_helps(make_place: Callable[[str, Scene], FlatPlace]) -> None:
    """A request that is under way does not care for versions that are kept from now on."""
    place = make_place("unversioned", SCENE)
    overwrite(place)
    place.bucket.habits = VERSIONED
    with pytest.raises(fc.UnsafeStoreError, match="may still arrive") as caught:
        come_back(place, OLD)
    assert "versioning" not in str(caught.value)
    assert "single_writer=True, which does not guard against that" in str(caught.value)


def test_a_record_of_the_end_of_time_is_in_nobodys_way(
    make_place: Callable[[str, Scene], FlatPlace],
) -> None:
    place = make_place("unversioned", SCENE)
    overwrite(place)
    (record,) = records(place)
    for path in list(place.bucket.objects):
        _, found, mark = path.partition(f"/{record}/")
        if found:
            later = f"_commit/deleted-99991231T235959-{0:032x}/{mark}"
            name = StorePath(f"{place.url.removeprefix('flat://')}/{later}")
            place.bucket.put(name, b"", None, Expect.ANYTHING)
    come_back(place, {"other.txt": "other"})
    with pytest.raises(fc.UnsafeStoreError, match="until 9999-12-31"):
        come_back(place, OLD)


@pytest.mark.parametrize("by", ["clean", "an append"])
def test_what_means_nothing_any_more_is_removed(
    by: str, make_place: Callable[[str, Scene], FlatPlace], clock: Clock
) -> None:
    place = make_place("unversioned", SCENE)
    overwrite(place)
    for left, more in ((1, LATE_DELETES_END), (0, timedelta())):
        if by == "clean":
            fc.clean(place.url, older_than=timedelta(0), dry_run=False)
        else:
            write(place, {"more.txt": "more"}, mode="append")
        assert len(records(place)) == left
        clock.now += more


class At:
    """Does something at the *nth* call of a verb on a path that holds *part*; after it, or not."""

    def __init__(self, verb: str, part: str, act: Callable[[], None], *, after: bool) -> None:
        self._at = (verb, part)
        self._act: Callable[[], None] | None = act
        self._after = after

    def __call__(self, store: Store) -> Store:
        return WrappedStore(store, self._carry)

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        act = self._act
        if act is None or verb != self._at[0] or self._at[1] not in path:
            return await call()
        self._act = None
        if not self._after:
            await asyncio.to_thread(act)
            return await call()
        answer = await call()
        await asyncio.to_thread(act)
        return answer


def test_a_driver_that_slept_looks_again_before_it_deletes(
    make_place: Callable[[str, Scene], FlatPlace], clock: Clock
) -> None:
    """A resumer has finished its job, and what it would delete was written again since."""
    place = make_place("unversioned", SCENE)
    job = fc.Job(place.url, mode="overwrite", concurrency=1).start()
    with job.task() as task, task.open("new.txt", "w") as file:
        file.write("new")

    def meanwhile() -> None:
        clock.passes(minutes=10)
        fc.resume(place.url, job.job_id)
        clock.passes(hours=3)
        come_back(place, OLD)

    with wrapping(At("delete", "/out/day=1/", meanwhile, after=True)):
        driver = fc.Job.from_spec(job.spec)
        with pytest.raises(fc.JobNotActiveError) as caught:
            driver.commit([message_of(task)])
    assert caught.value.outcome == "committed"
    job._begun_here = False
    stands(place, OLD)


def test_a_record_is_made_again_when_it_is_old_before_the_job_ends(
    make_place: Callable[[str, Scene], FlatPlace], clock: Clock
) -> None:
    place = make_place("unversioned", SCENE)
    with wrapping(At("create", "/deleted-", lambda: clock.passes(hours=2), after=True)):
        overwrite(place)
    assert len(records(place)) == 2
    assert fc.jobs(place.url) == []
    with pytest.raises(fc.UnsafeStoreError, match="2026-11-22 10:30:00 UTC"):
        come_back(place, OLD)


def test_a_record_that_takes_long_to_leave_does_not_keep_the_job_from_ending(
    make_place: Callable[[str, Scene], FlatPlace], clock: Clock
) -> None:
    """Of millions of files, on a slow server: the next one is for a later time."""
    place = make_place("unversioned", SCENE)

    async def slowly(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        answer = await call()
        if verb == "create" and "/deleted-" in path:
            clock.passes(minutes=40)
        return answer

    with wrapping(lambda store: WrappedStore(store, slowly)):
        overwrite(place)
    assert fc.jobs(place.url) == []
    with pytest.raises(fc.UnsafeStoreError, match="2026-11-22 09:10:00 UTC"):
        come_back(place, OLD)


def test_a_job_that_met_another_lists_again(make_place: Callable[[str, Scene], FlatPlace]) -> None:
    """What it listed with its claim is from before the other one ended."""
    place = make_place("unversioned", SCENE)
    with inject(Fault("complete", 1, "crash_before")), suppress(Crash):
        overwrite(place)
    (other,) = fc.jobs(place.url)
    job = fc.Job(place.url, mode="append", names="exact").start()
    job._begun_here = False
    with job.task() as task, task.open("day=2/old.txt", "w") as file:
        file.write(OLD["day=2/old.txt"])

    def resume() -> None:
        fc.resume(place.url, other.job_id)

    with wrapping(At("list_children", "_commit", resume, after=True)):
        driver = fc.Job.from_spec(job.spec)
        with pytest.raises(fc.UnsafeStoreError, match="may still arrive"):
            driver.commit([message_of(task)])
