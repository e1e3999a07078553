"""Every store call of a job, and every way in which it can fail; then recovery; then P1 to P9.

In one process, in memory: what a process that dies leaves on a real disk is tested in
``tests/integration/test_kills.py``. ``CommitterContract`` does something of this for any adapter;
this is all of it, in several modes, with what the driver was told compared with what is true.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault
from fsspec_commit.testing.faults import FaultPlan, FaultyStore, Kind, store_calls
from fsspec_commit.testing.wrapped import WrappedStore
from tests.protocol.invariants import (
    check_settled,
    check_told,
    check_under_way,
    is_only_remains,
    snapshot_of,
    state_of,
    visible,
)
from tests.scenes.attempts import clean, found, settle_each
from tests.scenes.memory_place import MemoryPlace
from tests.scenes.scene import HIDDEN, SCENES, Scene
from tests.sweeps import by_day

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store, WritesDirectly
    from fsspec_commit.testing.sweeps import Sweep
    from tests.scenes.places import Reached

T = TypeVar("T")

CRASHES: tuple[Kind, ...] = ("crash_before", "crash_after")
ERRORS: tuple[Kind, ...] = ("error", "error_but_applied", "applied_late", "throttled")
TELLING: tuple[Kind, ...] = ("crash_after", "error", "error_but_applied", "applied_late")
"""Before a call there is what there was after the one before it, and who is throttled tries again
as after an error: by day some of these will do."""
NAMES = ("append", "overwrite", "overwrite, in place", "overwrite_partitions")
COLLECTED = Scene(
    {"mode": "append", "names": "exact", "collect": "store", "tasks": 2, "success": "json"},
    SCENES["append, exact"].tasks,
)
ALL = {**{name: SCENES[name] for name in NAMES}, "collected": COLLECTED}
FAULTS: dict[str, tuple[Scene, Kind]] = {
    f"{name}-{kind}": (scene, kind) for name, scene in ALL.items() for kind in [*CRASHES, *ERRORS]
}
WHOLE = {f"{name}-{kind}" for name in ALL for kind in TELLING}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat at once: nobody is there who would be overloaded."""
    monkeypatch.setattr("fsspec_commit.effects.pacing.BACKOFF_S", 0.0001)


@pytest.fixture
def make_place() -> Iterator[Callable[[Scene], MemoryPlace]]:
    """One place at a time, with the old data of a scene."""
    places: list[MemoryPlace] = []

    def make(scene: Scene) -> MemoryPlace:
        while places:
            places.pop().remove()
        places.append(MemoryPlace())
        places[0].put({**scene.old, **HIDDEN, "_SUCCESS": b""})
        return places[0]

    yield make
    while places:
        places.pop().remove()


def run(scene: Scene, place: Reached) -> fc.CommitResult:
    """A whole job, whose tasks are tried twice."""
    job = fc.Job(place.url, **scene.options)  # type: ignore[arg-type]  # options of a table
    job._begun_here = False  # Who dies is not warned of what it leaves.
    with job:
        for task_id, files in enumerate(scene.tasks):
            try:
                write(job.task(task_id), files)
            except fc.CommitError:
                write(job.task(task_id), files)
        return job.commit()


def write(task: fc.Task, files: dict[str, str]) -> None:
    with task:
        for name, text in files.items():
            with task.open(name, "w") as file:
                file.write(text)


def calls_of(scene: Scene, place: MemoryPlace) -> list[tuple[str, int]]:
    plan = FaultPlan()
    with wrapping(lambda store: FaultyStore(store, plan)):
        run(scene, place)
    check(scene, place, happened=True)
    return list(store_calls(plan.verbs))


def attempt(scene: Scene, place: Reached, wrap: Callable[[Store], Store]) -> str:
    """Run it with what goes wrong; what its driver was told."""
    with wrapping(wrap):
        try:
            run(scene, place)
        except Crash:
            return "nothing"
        except fc.CommitError as error:
            return error.outcome
    return "done"


def recover(scene: Scene, place: MemoryPlace, told: str) -> None:
    """Check what is there, and that it is what the driver was told; settle it; check again."""
    snapshot = place.snapshot()
    state, happened = found(scene, snapshot, spent_ids=told == "done")
    check_told(told, state, happened=happened)
    settle_each(place, snapshot)
    if state == "over":
        assert is_only_remains(place.snapshot()), f"left of a job that is over: {snapshot.keys()}"
        clean(place)
    check(scene, place, happened=happened)


def check(scene: Scene, place: MemoryPlace, *, happened: bool) -> None:
    snapshot = place.snapshot()
    check_settled(
        snapshot,
        place.directories(),
        expected=scene.after if happened else scene.old,
        # A job without files left a marker out only where it was told to.
        marker=True,
    )
    assert {name: snapshot.get(name) for name in HIDDEN} == HIDDEN


@pytest.mark.parametrize(("scene", "kind", "every"), by_day(FAULTS, whole=WHOLE, every=12))
def test_one_fault_at_any_store_call(
    scene: Scene, kind: Kind, make_place: Callable[[Scene], MemoryPlace], sweep: Sweep
) -> None:
    calls = calls_of(scene, make_place(scene))
    assert len(calls) > 25
    for verb, nth in sweep(calls):
        place = make_place(scene)
        plan = FaultPlan([Fault(verb, nth, kind)])
        told = attempt(scene, place, partial(FaultyStore, faults=plan))
        assert plan.fired
        # One request that fails, and whose failure is not the process's, costs a job only where
        # it cannot be repeated: what is written in pieces, and lists that are read in pieces.
        if kind in CRASHES:
            assert told == "nothing"
        elif verb not in {"write", "finish", "list_tree"}:
            assert told == "done", f"{kind} at {verb} number {nth}: {told}"
        try:
            recover(scene, place, told)
        except AssertionError as error:
            error.add_note(f"after {kind} at {verb} number {nth}; the driver was told {told!r}")
            raise


class Outage:
    """From the *nth* call on nothing answers; that one call is the last to be done, or not."""

    def __init__(self, nth: int, *, applied: bool) -> None:
        self.left = nth
        self._applied = applied

    def __call__(self, store: Store) -> Store:
        return OutageStore(store, self.carry)

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        self.left -= 1
        if self.left > 0:
            return await call()
        if self.left == 0 and self._applied:
            await call()
        raise StoreError(f"{verb} of {path!r}: no answer", reply=Reply.UNKNOWN, path=path)


class OutageStore(WrappedStore):
    @property
    def direct(self) -> WritesDirectly | None:
        return None


@pytest.mark.parametrize("scene", ALL.values(), ids=ALL.keys())
@pytest.mark.parametrize("last", ["done", "lost"])
def test_a_store_that_falls_silent_at_any_call(
    scene: Scene,
    last: Literal["done", "lost"],
    make_place: Callable[[Scene], MemoryPlace],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fsspec_commit.effects.confirm.TRIES_MAX", 2)
    count = len(calls_of(scene, make_place(scene)))
    for nth in range(1, count + 1):
        place = make_place(scene)
        told = attempt(scene, place, Outage(nth, applied=last == "done"))
        try:
            recover(scene, place, told)
        except AssertionError as error:
            error.add_note(f"silent from call {nth} of {count} on; the driver was told {told!r}")
            raise


def test_the_invariants_see_what_is_wrong(tmp_path: Path) -> None:
    """What every test here relies on does refuse."""
    (tmp_path / "a.txt").write_bytes(b"old")
    old = snapshot_of(tmp_path)
    assert visible(old) == {"a.txt": b"old"}
    job = "_commit/20261121T000000-0123456789abcdef"
    new = {"b.txt": b"new"}
    undecided = {**old, f"{job}/job.json": b"{}"}
    decided = {**undecided, f"{job}/decision": b'{"state":"committed"}'}
    published = {**decided, f"{job}/published": b"{}"}
    assert state_of(published, job.removeprefix("_commit/")) == "published"

    def under_way(snapshot: dict[str, bytes], mode: str = "overwrite") -> str:
        return check_under_way(snapshot, old=old, new=new, mode=mode)

    assert under_way(undecided) == "undecided"
    assert under_way({**decided, **new}) == "decided"
    for wrong, mode in [
        ({**undecided, **new}, "append"),
        ({**undecided, "a.txt": b"torn"}, "append"),
        ({name: data for name, data in decided.items() if name != "a.txt"}, "overwrite"),
        ({**decided, "c.txt": b"of nobody"}, "append"),
        (published, "append"),
        ({name: data for name, data in {**published, **new}.items() if name != "a.txt"}, "append"),
    ]:
        with pytest.raises(AssertionError):
            under_way(wrong, mode)
    with pytest.raises(AssertionError, match="left of a settled job"):
        check_settled(undecided, expected=old)
    with pytest.raises(AssertionError, match="missing"):
        check_settled({}, expected=old)
