"""Every store call of a job, and every way in which it can fail; then recovery; then P1 to P9.

In one process, in memory: what a process that dies leaves on a real disk is tested in
``tests/integration/test_kills.py``. ``CommitterContract`` does something of this for any adapter;
this is all of it, in several modes, with what the driver was told compared with what is true.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar
from uuid import uuid4

import fsspec
import pytest

import fsspec_commit as fc
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault
from fsspec_commit.testing.faults import FaultPlan, FaultyStore, Kind, store_calls
from fsspec_commit.testing.wrapped import WrappedStore
from tests.integration.scenes import HIDDEN, SCENES, Scene
from tests.protocol.invariants import (
    check_settled,
    check_told,
    check_under_way,
    is_only_remains,
    job_ids,
    snapshot_of,
    state_of,
    visible,
)
from tests.sweeps import by_day

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store, WritesDirectly
    from fsspec_commit.testing.sweeps import Sweep

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


class Place:
    """A destination in memory, as plain fsspec sees it."""

    def __init__(self) -> None:
        self._files = fsspec.filesystem("memory")
        self._top = f"/faults-{uuid4().hex}"
        self._root = f"{self._top}/out"
        self.url = f"memory:/{self._root}"

    def lay_out(self, scene: Scene) -> None:
        for name, data in {**scene.old, **HIDDEN, "_SUCCESS": b""}.items():
            self._files.pipe_file(f"{self._root}/{name}", data)

    def snapshot(self) -> dict[str, bytes]:
        found: list[str] = self._files.find(self._root)
        return {name[len(self._root) + 1 :]: self._files.cat_file(name) for name in found}

    def directories(self) -> list[str]:
        found: dict[str, dict[str, str]] = self._files.find(self._root, withdirs=True, detail=True)
        return [
            name[len(self._root) + 1 :]
            for name, details in found.items()
            if details["type"] == "directory"
        ]

    def remove(self) -> None:
        with suppress(FileNotFoundError):
            self._files.rm(self._top, recursive=True)


@pytest.fixture
def make_place() -> Iterator[Callable[[Scene], Place]]:
    places: list[Place] = []

    def make(scene: Scene) -> Place:
        while places:
            places.pop().remove()
        places.append(Place())
        places[0].lay_out(scene)
        return places[0]

    yield make
    while places:
        places.pop().remove()


def run(scene: Scene, place: Place) -> fc.CommitResult:
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


def calls_of(scene: Scene, place: Place) -> list[tuple[str, int]]:
    plan = FaultPlan()
    with wrapping(lambda store: FaultyStore(store, plan)):
        run(scene, place)
    check(scene, place, happened=True)
    return list(store_calls(plan.verbs))


def attempt(scene: Scene, place: Place, wrap: Callable[[Store], Store]) -> str:
    """Run it with what goes wrong; what its driver was told."""
    with wrapping(wrap):
        try:
            run(scene, place)
        except Crash:
            return "nothing"
        except fc.CommitError as error:
            return error.outcome
    return "done"


def recover(scene: Scene, place: Place, told: str) -> None:
    """Check what is there, and that it is what the driver was told; settle it; check again."""
    snapshot = place.snapshot()
    state = check_under_way(
        snapshot,
        old=scene.old,
        new=scene.new,
        mode=scene.mode,
        declared=scene.declared,
        spent_ids=told == "done",
    )
    happened = state in {"decided", "published"} or (
        state == "over" and visible(snapshot) == scene.after
    )
    check_told(told, state, happened=happened)
    for job_id in job_ids(snapshot):
        if state_of(snapshot, job_id) in {"decided", "published"}:
            fc.resume(place.url, job_id)
        else:
            fc.abort(place.url, job_id)
        with pytest.raises(fc.JobNotActiveError):
            fc.resume(place.url, job_id)
    if state == "over":
        clean(place)
    check(scene, place, happened=happened)


def clean(place: Place) -> None:
    if not is_only_remains(place.snapshot()):
        raise AssertionError(f"left of a job that is over: {sorted(place.snapshot())}")
    fc.clean(place.url, older_than=timedelta(0), dry_run=False)


def check(scene: Scene, place: Place, *, happened: bool) -> None:
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
    scene: Scene, kind: Kind, make_place: Callable[[Scene], Place], sweep: Sweep
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
    make_place: Callable[[Scene], Place],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fsspec_commit.effects.settle.TRIES_MAX", 2)
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
