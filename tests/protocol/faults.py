"""Jobs whose store fails at one call, or from one on; what their driver is told must be true.

What the tests of it do wherever the destination is: `test_faults.py`, `test_many_tasks.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

import fsspec_commit as fc
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash
from fsspec_commit.testing.faults import FaultPlan, FaultyStore, Kind, store_calls
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import HABITS, RENAMING
from tests.protocol.invariants import check_settled, check_told, is_only_remains
from tests.scenes.attempts import clean, found, settle_each
from tests.scenes.places import Reached
from tests.scenes.scene import HIDDEN, SCENES, Scene, named

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store, WritesDirectly

T = TypeVar("T")

CRASHES: tuple[Kind, ...] = ("crash_before", "crash_after")
ERRORS: tuple[Kind, ...] = ("error", "error_but_applied", "applied_late", "throttled")
TELLING: tuple[Kind, ...] = ("crash_after", "error", "error_but_applied", "applied_late")
"""Before a call there is what there was after the one before it, and who is throttled tries again
as after an error: by day some of these will do."""
COLLECTED = Scene(
    {"mode": "append", "names": "exact", "collect": "store", "tasks": 2, "success": "json"},
    SCENES["append, exact"].tasks,
)
BY_NAME = Scene({"mode": "overwrite", "delete_by_name": True}, SCENES["overwrite"].tasks)
MEMORY = "memory"
"""With the committer of disks; all others are the habits of a flat bucket."""
RENAMED = ["gcs", "gen2"]
"""Where one rename a file publishes; on the third kind some of the scenes will do."""
ANY = [MEMORY, "unversioned", "versioned", "by path", *RENAMED]
"""Where an overwrite takes old files of any name."""
BY_ID = ["unversioned", "versioned", "minio", *RENAMED]
"""Where attempts may share a name."""
ALL: dict[str, tuple[Scene, list[str]]] = {
    "append": (SCENES["append"], [MEMORY, *HABITS, *RENAMING]),
    "append, exact": (SCENES["append, exact"], BY_ID),
    "collected": (COLLECTED, [MEMORY, *BY_ID]),
    "overwrite": (SCENES["overwrite"], ANY),
    "overwrite, never reused": (named("overwrite"), ["unversioned", "minio"]),
    "overwrite, by name": (BY_NAME, ["minio"]),
    "overwrite, in place": (
        SCENES["overwrite, in place"],
        [MEMORY, "unversioned", "versioned", *RENAMING],
    ),
    "overwrite_partitions": (SCENES["overwrite_partitions"], ANY),
    "overwrite_partitions, never reused": (named("overwrite_partitions"), ["unversioned", "minio"]),
}
"""Each scene, and where it is tried."""


class Place(Reached, Protocol):
    """A destination, and what stands there."""

    may_come_back: bool

    def snapshot(self) -> dict[str, bytes]:
        """Every file by its relative name."""

    def directories(self) -> set[str]:
        """Every directory by its relative name, where there are such."""

    def pending(self) -> list[str]:
        """Uploads that hold something."""


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


def calls_of(scene: Scene, place: Place) -> list[tuple[str, int]]:
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


def recover(scene: Scene, place: Place, told: str) -> None:
    """Check what is there, and that it is what the driver was told; settle it; check again."""
    snapshot = place.snapshot()
    state, happened = found(scene, snapshot, spent_ids=told == "done")
    check_told(told, state, happened=happened)
    settle_each(place, snapshot)
    if state == "over" and not place.may_come_back:
        assert is_only_remains(place.snapshot()), f"left of a job that is over: {snapshot.keys()}"
    # In a bucket an area goes file by file, and what is late may come after it has gone.
    if state == "over" or place.may_come_back:
        clean(place)
    check(scene, place, happened=happened)


def check(scene: Scene, place: Place, *, happened: bool) -> None:
    """Exactly that stands which must; scenes that leave the marker out are not among these."""
    snapshot = place.snapshot()
    expected = scene.after if happened else scene.old
    check_settled(snapshot, place.directories(), expected=expected, marker=True)
    assert {name: snapshot.get(name) for name in HIDDEN} == HIDDEN
    assert place.pending() == []


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
