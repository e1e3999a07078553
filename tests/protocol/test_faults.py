"""Every store call of a job, and every way in which it can fail; then recovery; then P1 to P9.

In one process, in memory and in buckets: what a process that dies leaves on a real disk is tested
in ``tests/integration/test_kills.py``. ``CommitterContract`` does something of this for any
adapter; this is all of it, in several modes, with what the driver was told compared with what is
true.

In a bucket nothing goes as a whole. An area goes file by file, a request that was given up finds
no directory missing, and what is pending is nowhere to be seen. So what is looked at there beside
the files is what is left of jobs that are over: all of it goes by ``clean``, uploads included.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Fault
from fsspec_commit.testing.faults import FaultPlan, FaultyStore, Kind
from fsspec_commit.testing.wrapped import WrappedStore
from tests.protocol.faults import (
    ALL,
    CRASHES,
    ERRORS,
    MEMORY,
    TELLING,
    Outage,
    Place,
    attempt,
    calls_of,
    check,
    recover,
    run,
)
from tests.protocol.invariants import (
    check_settled,
    check_under_way,
    job_ids,
    snapshot_of,
    state_of,
    visible,
)
from tests.scenes.scene import SCENES, Scene
from tests.sweeps import by_day

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store
    from fsspec_commit.testing.sweeps import Sweep

T = TypeVar("T")

WHOLE_ON = {MEMORY}
"""By day every call, and some in buckets; by night every call everywhere.

Where files are renamed, `tests/contract/test_flat.py` tries every call by day.
"""
CASES = {
    f"{scene}-{where}": (scene, where) for scene, (_, places) in ALL.items() for where in places
}
WHOLE = {
    f"{scene}-{where}"
    for scene, (_, places) in ALL.items()
    for where in WHOLE_ON.intersection(places)
}
FAULTS: dict[str, tuple[str, str, Kind]] = {
    f"{case}-{kind}": (*CASES[case], kind) for case in CASES for kind in [*CRASHES, *ERRORS]
}
WHOLE_FAULTS = {f"{case}-{kind}" for case in WHOLE for kind in TELLING}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat at once: nobody is there who would be overloaded."""
    monkeypatch.setattr("fsspec_commit.effects.pacing.BACKOFF_S", 0.0001)


@pytest.mark.parametrize(
    ("name", "where", "kind", "every"), by_day(FAULTS, whole=WHOLE_FAULTS, every=18)
)
def test_one_fault_at_any_store_call(
    name: str, where: str, kind: Kind, make_place: Callable[[str, Scene], Place], sweep: Sweep
) -> None:
    scene = ALL[name][0]
    calls = calls_of(scene, make_place(where, scene))
    assert len(calls) > 25
    for verb, nth in sweep(calls):
        place = make_place(where, scene)
        plan = FaultPlan([Fault(verb, nth, kind)])
        told = attempt(scene, place, partial(FaultyStore, faults=plan))
        assert plan.fired
        try:
            # One request that fails, and whose failure is not the process's, costs a job only where
            # it cannot be repeated: what is written in pieces, and lists that are read in pieces.
            if kind in CRASHES:
                assert told == "nothing"
            elif place.may_come_back or verb not in {"write", "finish", "list_tree"}:
                assert told == "done", f"{kind} at {verb} number {nth}: {told}"
            recover(scene, place, told)
        except (AssertionError, fc.CommitError) as error:
            error.add_note(f"after {kind} at {verb} number {nth}; the driver was told {told!r}")
            raise


@pytest.mark.parametrize(("name", "where", "every"), by_day(CASES, whole=WHOLE, every=24))
@pytest.mark.parametrize("last", ["done", "lost"])
def test_a_store_that_falls_silent_at_any_call(
    name: str,
    where: str,
    last: Literal["done", "lost"],
    *,
    make_place: Callable[[str, Scene], Place],
    monkeypatch: pytest.MonkeyPatch,
    sweep: Sweep,
) -> None:
    monkeypatch.setattr("fsspec_commit.effects.confirm.TRIES_MAX", 2)
    scene = ALL[name][0]
    count = len(calls_of(scene, make_place(where, scene)))
    for nth in sweep(range(1, count + 1)):
        place = make_place(where, scene)
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
