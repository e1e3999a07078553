"""An adapter that believes whoever answers, or fails with an error that nobody foresaw.

Adapters must do neither; where one does, the protocol draws no conclusion from it: what a driver
is told stays true, names the command that settles its job, and nothing is lost.
"""

from __future__ import annotations

import errno
import gc
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.protocol import superseded
from fsspec_commit.store.registry import wrapping
from fsspec_commit.sync import bridge
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.wrapped import WrappedStore
from tests.scenes.attempts import DONE_BUT_FOR_THE_AREA, attempt, recover
from tests.scenes.memory_place import MemoryPlace
from tests.scenes.scene import SCENES
from tests.sweeps import some_by_day

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from typing import Unpack

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store
    from fsspec_commit.testing.sweeps import Sweep

T = TypeVar("T")

SCENE = SCENES["overwrite_partitions"]
LISTINGS = {"list_tree", "list_children"}
LOOKS = {"stat", "read", "read_range"}
pytestmark = [
    pytest.mark.guarantees("P8", "P9"),
    pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning"),
]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsspec_commit.effects.pacing.BACKOFF_S_MAX", 0.0001)


@pytest.fixture
def make_place() -> Iterator[Callable[[], MemoryPlace]]:
    places: list[MemoryPlace] = []

    def make() -> MemoryPlace:
        place = MemoryPlace()
        places.append(place)
        place.put(SCENE.laid_out)
        return place

    yield make
    gc.collect()  # Jobs that were given up: no later test is to hear of them.
    for place in places:
        place.remove()


class Answered:
    """From the *nth* call on somebody else answers: every path is unknown to them."""

    def __init__(self, nth: int) -> None:
        self.seen = 0
        self._nth = nth

    def __call__(self, store: Store) -> Store:
        return WrappedStore(store, self.carry)

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        self.seen += 1
        if self.seen < self._nth:
            return await call()
        if verb in LISTINGS:
            return []  # type: ignore[return-value]  # the answer of a listing
        if verb in LOOKS or verb in {"delete", "delete_tree", "discard"}:
            return None  # type: ignore[return-value]  # nothing is there
        error = StoreError(f"404 {path}", reply=Reply.REFUSED, path=path)
        error.errno = errno.ENOENT
        raise error


class Failing:
    """An adapter whose *nth* call, or each from there on, fails raw, after it was made or not."""

    def __init__(self, nth: int, *, once: bool, applied: bool) -> None:
        self.seen = 0
        self._nth, self._once, self._applied = nth, once, applied

    def __call__(self, store: Store) -> Store:
        return WrappedStore(store, self.carry)

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        self.seen += 1
        fails = self.seen == self._nth if self._once else self.seen >= self._nth
        if fails and not self._applied:
            raise KeyError("boolean")
        answer = await call()
        if fails:
            raise RuntimeError(f"credentials were refreshed, but are still expired: {verb} {path}")
        return answer


def calls_of(place: MemoryPlace) -> int:
    counting = Failing(0, once=True, applied=False)
    with wrapping(counting):
        told, _ = attempt(SCENE, place)
    assert told == "done"
    return counting.seen


def settle(place: MemoryPlace, told: str, message: str, nth: int) -> None:
    if told == "done" and "the work area was not removed" in message:
        told = DONE_BUT_FOR_THE_AREA
    try:
        if told in {"partial", "unknown"}:
            assert "fsspec-commit resume" in message or "before you run it again" in message
        recover(SCENE, place, told, marker=None, spent_ids=True)
    except (AssertionError, fc.CommitError) as error:
        error.add_note(f"from call {nth} on; the driver was told {told!r}: {message}")
        raise


@some_by_day(3)
def test_a_driver_whose_store_is_answered_for_is_told_nothing_false(
    make_place: Callable[[], MemoryPlace], sweep: Sweep
) -> None:
    """From each call on: never committed for what is only absent, and never not committed."""
    for nth in sweep(range(1, calls_of(make_place()) + 1)):
        place = make_place()
        with wrapping(Answered(nth)):
            told, message = attempt(SCENE, place)
        assert told != "committed", f"from call {nth} on: {message}"
        # That an area is gone, nobody but the store could tell.
        told = DONE_BUT_FOR_THE_AREA if told == "done" else told
        settle(place, told, message, nth)


@pytest.mark.parametrize("record", ["/job.json", "/decision"])
def test_one_absent_record_settles_nothing(
    make_place: Callable[[], MemoryPlace], record: str
) -> None:
    """A job that is decided, of which a record is once not found, is finished all the same."""
    place = make_place()
    with wrapping(Answered(calls_of(make_place()) * 2 // 3)):
        told, message = attempt(SCENE, place)
    assert told == "partial", message
    [job] = fc.jobs(place.url)
    absent = Absent(record)
    with wrapping(absent):
        fc.resume(place.url, job.job_id)
    assert absent.was_asked
    recover(SCENE, place, "done", marker=None)


class Absent:
    """A record that is not found when it is read for the second time: the first one opens it."""

    def __init__(self, record: str) -> None:
        self.was_asked = False
        self._record = record
        self._left = 2 if record == "/job.json" else 1

    def __call__(self, store: Store) -> Store:
        return WrappedStore(store, self.carry)

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "read" and path.endswith(self._record):
            self._left -= 1
            if not self._left:
                self.was_asked = True
                return None  # type: ignore[return-value]  # not found
        return await call()


def test_an_aborted_decision_that_is_hidden_is_not_taken_for_removed(url: str) -> None:
    """The abort said that all was done, and left the area where it was."""
    with inject(Fault("create", nth=2)), suppress(Crash):
        fc.Job(url).start().abort()
    gc.collect()  # The job is warned of while the warning is expected.
    [left] = fc.jobs(url)
    assert left.state == "aborted"
    hidden = Hidden("/decision", after=2)
    with wrapping(hidden), pytest.raises(fc.CommitStateUnknownError, match="cannot be found"):
        fc.abort(url, left.job_id)
    assert hidden.was_asked
    fc.abort(url, left.job_id)
    assert fc.jobs(url) == []


class Hidden:
    """A record that is neither found nor listed any more when it has been read *after* times."""

    def __init__(self, record: str, *, after: int) -> None:
        self.was_asked = False
        self._record = record
        self._left = after

    def __call__(self, store: Store) -> Store:
        return WrappedStore(store, self.carry)

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "read" and path.endswith(self._record):
            self.was_asked = self._left <= 0
            self._left -= 1
            return None if self.was_asked else await call()  # type: ignore[return-value]
        answer = await call()
        if verb == "list_children" and self._left <= 0:
            listed: list[Any] = answer  # type: ignore[assignment]  # the answer of a listing
            return [one for one in listed if not one.path.endswith(self._record)]  # type: ignore[return-value]
        return answer


class Emptied:
    """The first listing of a directory that is *wanted* comes back empty."""

    def __init__(self, wanted: Callable[[StorePath], bool]) -> None:
        self.was_asked = False
        self._wanted = wanted

    def __call__(self, store: Store) -> Store:
        return WrappedStore(store, self.carry)

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "list_children" and not self.was_asked and self._wanted(path):
            self.was_asked = True
            return []  # type: ignore[return-value]  # the answer of a listing
        return await call()


@pytest.mark.parametrize("listed", ["_commit", "the other's area"])
@pytest.mark.guarantees("P11")
def test_one_empty_listing_hides_no_other_job(url: str, listed: str) -> None:
    """An overwrite committed beside one that was decided, and both had their files there."""
    with inject(Fault("rename"), Fault("complete")), suppress(Crash):
        write(url, mode="overwrite")
    [dead] = fc.jobs(url)
    assert dead.state == "decided"
    end = listed if listed == "_commit" else dead.job_id
    emptied = Emptied(lambda path: path.endswith(end))
    with wrapping(emptied), pytest.raises(fc.ConcurrentJobError):
        write(url, mode="overwrite", wait_s=0)
    assert emptied.was_asked
    emptied = Emptied(lambda path: path.endswith(dead.job_id))
    with wrapping(emptied):
        assert fc.clean(url, older_than=timedelta(0), dry_run=False).deleted == ()
    assert fc.resume(url, dead.job_id).file_count == 2


def write(url: str, **options: Unpack[fc.JobOptions]) -> None:
    with fc.Job(url, **options) as job, job.task() as task:
        for name in ("a.txt", "b.txt"):
            with task.open(name, "w") as file:
                file.write(name)


@pytest.mark.unforeseen("KeyError", "RuntimeError")
@pytest.mark.parametrize("applied", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("once", [True, False], ids=["once", "from there on"])
@some_by_day(5)
def test_an_error_that_nobody_foresaw_says_what_stands(
    make_place: Callable[[], MemoryPlace], sweep: Sweep, *, once: bool, applied: bool
) -> None:
    """At each call: it leaves the job as an error of the library, with outcome and command."""
    for nth in sweep(range(1, calls_of(make_place()) + 1)):
        place = make_place()
        with wrapping(Failing(nth, once=once, applied=applied)):
            told, message = attempt(SCENE, place)
        settle(place, told, message, nth)


def test_a_job_is_not_over_since_its_manifests_were_not_found_once(
    make_place: Callable[[], MemoryPlace],
) -> None:
    """Decided, not published, and somebody has deleted its ``job.json``; looks are no proof."""

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        hidden = verb in LOOKS and "/manifests/" in path
        return None if hidden else await call()  # type: ignore[return-value]  # "no such file"

    place = make_place()
    attempt(SCENE, place)  # It leaves an epoch, as a job that is over does.
    job = fc.Job(place.url, mode="append").start()
    with fc.Task.from_spec(job.spec, 0) as task:
        task.filesystem.pipe_file("a.txt", b"a")
    with inject(Fault("rename")), suppress(Crash):
        fc.Job.from_spec(job.spec).commit([task.message])
    with wrapping(lambda store: WrappedStore(store, carry)):
        driver = fc.Job.from_spec(job.spec)
    place._files.rm(f"{place.url}/_commit/{job.job_id}/job.json")
    bound = driver._driver.job
    assert bound is not None
    assert not bridge.run(superseded.is_over(bound))
