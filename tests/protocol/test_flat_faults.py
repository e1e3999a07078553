"""The same search on flat object stores: each store call of a job, each way in which it fails.

On a bucket nothing goes as a whole. An area goes file by file, a request that was given up finds
no directory missing, and what is pending is nowhere to be seen. So what is looked at here beside
the files is what is left of jobs that are over: all of it goes by ``clean``, uploads included.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Fault
from fsspec_commit.testing.faults import FaultPlan, FaultyStore, Kind, store_calls
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import ALL_HABITS, HABITS, RENAMING, Bucket, make_bucket, remove_bucket
from tests.flat.store import FLAT
from tests.protocol.invariants import (
    check_settled,
    check_told,
    job_ids,
    visible,
)
from tests.protocol.test_faults import COLLECTED, CRASHES, ERRORS, TELLING, Outage, attempt, run
from tests.scenes.attempts import clean, found, settle_each
from tests.scenes.scene import HIDDEN, SCENES, Scene, named
from tests.sweeps import by_day

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from fsspec_commit.store import Store
    from fsspec_commit.testing.sweeps import Sweep

T = TypeVar("T")

RENAMED = ["gcs", "gen2"]
"""Where one rename a file publishes; on the third kind some of the scenes will do."""
ANY = ["unversioned", "versioned", "by path", *RENAMED]
"""Where an overwrite takes old files of any name."""
BY_ID = ["unversioned", "versioned", "minio", *RENAMED]
"""Where attempts may share a name."""
BY_NAME = Scene({"mode": "overwrite", "delete_by_name": True}, SCENES["overwrite"].tasks)
ALL: dict[str, tuple[Scene, list[str]]] = {
    "append": (SCENES["append"], [*HABITS, *RENAMING]),
    "append, exact": (SCENES["append, exact"], BY_ID),
    "collected": (COLLECTED, BY_ID),
    "overwrite": (SCENES["overwrite"], ANY),
    "overwrite, never reused": (named("overwrite"), ["unversioned", "minio"]),
    "overwrite, by name": (BY_NAME, ["minio"]),
    "overwrite, in place": (
        SCENES["overwrite, in place"],
        ["unversioned", "versioned", *RENAMING],
    ),
    "overwrite_partitions": (SCENES["overwrite_partitions"], ANY),
    "overwrite_partitions, never reused": (named("overwrite_partitions"), ["unversioned", "minio"]),
}
WHOLE_ON = "versioned"
"""By day: one where uploads are completed, else the scene's first.

Where files are renamed, `tests/contract/test_flat.py` tries every call by day.
"""
CASES = {
    f"{scene}-{habits}": (scene, habits) for scene, (_, places) in ALL.items() for habits in places
}
WHOLE = {
    f"{scene}-{WHOLE_ON if WHOLE_ON in places else places[0]}" for scene, (_, places) in ALL.items()
}
every_case = pytest.mark.parametrize(
    ("name", "habits", "every"), by_day(CASES, whole=WHOLE, every=12)
)
FAULTS: dict[str, tuple[str, str, Kind]] = {
    f"{case}-{kind}": (*CASES[case], kind) for case in CASES for kind in [*CRASHES, *ERRORS]
}
WHOLE_FAULTS = {f"{case}-{kind}" for case in WHOLE for kind in TELLING}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat at once: nobody is there who would be overloaded."""
    monkeypatch.setattr("fsspec_commit.effects.pacing.BACKOFF_S", 0.0001)


class Place:
    """A destination in a bucket of its own."""

    how: ClassVar[dict[str, Any]] = {}

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self._root = f"{bucket.name}/top/out"
        self.url = f"{FLAT}://{self._root}"

    def lay_out(self, scene: Scene) -> None:
        for name, data in {**scene.old, **HIDDEN, "_SUCCESS": b""}.items():
            self.bucket.put(StorePath(f"{self._root}/{name}"), data, None, Expect.ANYTHING)

    def snapshot(self) -> dict[str, bytes]:
        begin = len(self._root) + 1
        return {path[begin:]: found.data for path, found in self.bucket.objects.items()}

    def pending(self) -> list[str]:
        """Uploads that hold something."""
        return [upload.path for upload in self.bucket.uploads.values() if upload.parts]


@pytest.fixture
def make_place() -> Iterator[Callable[[str, Scene], Place]]:
    buckets: list[Bucket] = []

    def make(habits: str, scene: Scene) -> Place:
        while buckets:
            remove_bucket(buckets.pop())
        buckets.append(make_bucket(ALL_HABITS[habits]))
        place = Place(buckets[0])
        place.lay_out(scene)
        return place

    yield make
    while buckets:
        remove_bucket(buckets.pop())


def calls_of(scene: Scene, place: Place) -> list[tuple[str, int]]:
    plan = FaultPlan()
    with wrapping(lambda store: FaultyStore(store, plan)):
        run(scene, place)
    check(scene, place, happened=True)
    return list(store_calls(plan.verbs))


def recover(scene: Scene, place: Place, told: str) -> None:
    """Check what is there, and that it is what the driver was told; settle it; check again."""
    snapshot = place.snapshot()
    state, happened = found(scene, snapshot, spent_ids=told == "done")
    check_told(told, state, happened=happened)
    settle_each(place, snapshot)
    clean(place)
    check(scene, place, happened=happened)


def check(scene: Scene, place: Place, *, happened: bool) -> None:
    snapshot = place.snapshot()
    check_settled(snapshot, expected=scene.after if happened else scene.old, marker=True)
    assert {name: snapshot.get(name) for name in HIDDEN} == HIDDEN
    assert place.pending() == []


@pytest.mark.parametrize(
    ("name", "habits", "kind", "every"), by_day(FAULTS, whole=WHOLE_FAULTS, every=12)
)
def test_one_fault_at_any_store_call(
    name: str, habits: str, kind: Kind, make_place: Callable[[str, Scene], Place], sweep: Sweep
) -> None:
    scene = ALL[name][0]
    calls = calls_of(scene, make_place(habits, scene))
    assert len(calls) > 25
    for verb, nth in sweep(calls):
        place = make_place(habits, scene)
        plan = FaultPlan([Fault(verb, nth, kind)])
        told = attempt(scene, place, partial(FaultyStore, faults=plan))
        assert plan.fired
        try:
            if kind in CRASHES:
                assert told == "nothing"
            else:
                assert told == "done", f"{kind} at {verb} number {nth}: {told}"
            recover(scene, place, told)
        except (AssertionError, fc.CommitError) as error:
            error.add_note(f"after {kind} at {verb} number {nth}; the driver was told {told!r}")
            raise


@every_case
@pytest.mark.parametrize("last", ["done", "lost"])
def test_a_store_that_falls_silent_at_any_call(
    name: str,
    habits: str,
    last: Literal["done", "lost"],
    *,
    make_place: Callable[[str, Scene], Place],
    monkeypatch: pytest.MonkeyPatch,
    sweep: Sweep,
) -> None:
    monkeypatch.setattr("fsspec_commit.effects.confirm.TRIES_MAX", 2)
    scene = ALL[name][0]
    count = len(calls_of(scene, make_place(habits, scene)))
    for nth in sweep(range(1, count + 1)):
        place = make_place(habits, scene)
        told = attempt(scene, place, Outage(nth, applied=last == "done"))
        try:
            recover(scene, place, told)
        except (AssertionError, fc.CommitError) as error:
            error.add_note(f"silent from call {nth} of {count} on; the driver was told {told!r}")
            raise


def test_a_long_list_of_old_files_is_not_held(
    make_place: Callable[[str, Scene], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written bit by bit; a short one is a record like any other."""
    scene = SCENES["overwrite"]
    assert "write" not in {verb for verb, _ in calls_of(scene, make_place("versioned", scene))}
    monkeypatch.setattr("fsspec_commit.protocol.streamed_list._HELD_BYTES_MAX", 100)
    calls = calls_of(scene, make_place("versioned", scene))
    assert [verb for verb, _ in calls].count("write") > 2
    assert ("finish", 1) in calls


class LyingCompletions:
    """A server that died while it completed a file, and says from then on that it has done it."""

    def __init__(self, store: Store, *, reply_lost: bool) -> None:
        self._reply_lost = reply_lost
        self.store = WrappedStore(store, self._carry)

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb != "complete" or path.endswith("_SUCCESS"):
            return await call()
        if self._reply_lost:
            self._reply_lost = False
            raise StoreError("the server died", reply=Reply.UNKNOWN, path=path)
        return None  # type: ignore[return-value]  # what a completion answers


@pytest.mark.parametrize("reader", ["driver", "resumer"])
def test_a_repeated_completion_is_not_believed(
    reader: str, make_place: Callable[[str, Scene], Place]
) -> None:
    """No old file goes for a new one that only the store says is there (P9)."""
    scene = Scene(SCENES["overwrite"].options, [{"day=1/new.txt": "new"}])
    place = make_place("versioned", scene)
    if reader == "resumer":
        plan = FaultPlan([Fault("complete", 1, "crash_before")])
        told = attempt(scene, place, partial(FaultyStore, faults=plan))
        assert told == "nothing"

    def publish() -> None:
        if reader == "driver":
            run(scene, place)
        else:
            fc.resume(place.url, *job_ids(place.snapshot()))

    is_driver = reader == "driver"
    with (
        wrapping(lambda store: LyingCompletions(store, reply_lost=is_driver).store),
        pytest.raises(fc.PartialCommitError, match="is not in place"),
    ):
        publish()
    assert visible(place.snapshot()) == scene.old
    fc.resume(place.url, *job_ids(place.snapshot()))
    check(scene, place, happened=True)
