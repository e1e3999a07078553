"""One store call fails, or lies: the job commits, or says truly what is on the store."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import get_args

import pytest

import fsspec_commit as fc
from fsspec_commit.testing.committer_contract.crashes import (
    AFTER,
    MODES,
    OLD,
    Run,
    dict_of,
    gives_up_files,
    happened,
    run,
    settle,
)
from fsspec_commit.testing.committer_contract.given import Given, Place, shown
from fsspec_commit.testing.faults import Fault, Kind, crash_points, inject
from fsspec_commit.testing.sweeps import Sweep

_KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if not kind.startswith("crash"))
_LATE_BY = (1, 5, 25)
_READING = {"stat", "read", "read_range", "list_tree", "list_children", "pending"}


def fail_each(
    place: Place,
    mode: fc.Mode,
    kind: Kind,
    sweep: Sweep,
    *,
    run: Run = run,
    times: int = 1,
    late_by: int = 1,
) -> None:
    """Let each call of *run* fail one way, *times* times, and check what the job says of itself."""
    fresh = (place.beside(f"/{number}") for number in count())

    def with_old() -> Place:
        there = next(fresh)
        there.put(OLD)
        return there

    def points() -> Iterator[Fault]:
        there = with_old()
        return _faults(crash_points(lambda: run(there, mode)), kind)

    for fault in sweep(points()):
        there = with_old()
        faults = [Fault(fault.verb, fault.nth + again, kind) for again in range(times)]
        with inject(*faults, late_by=late_by) as fired:
            outcome = _outcome(partial(run, there, mode))
        if happened(fault, fired, points):
            _check(there, mode, fault, outcome)


@pytest.mark.guarantees("P1", "P2", "P5", "P8", "P9")
class LostRepliesContract(Given):
    """Every store call, every way to fail but dying."""

    @gives_up_files
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("kind", _KINDS)
    def test_a_call_fails(self, place: Place, mode: fc.Mode, kind: Kind, sweep: Sweep) -> None:
        """Any single call, once: the outcome that the job reports is true of the store (P1-P9)."""
        fail_each(place, mode, kind, sweep)

    @gives_up_files
    @pytest.mark.parametrize("late_by", _LATE_BY)
    def test_a_change_comes_late(self, place: Place, late_by: int, sweep: Sweep) -> None:
        """Long after it was given up and made again (P6, P8)."""
        fail_each(place, "overwrite", "applied_late", sweep, late_by=late_by)

    @gives_up_files
    @pytest.mark.parametrize("kind", ["error_but_applied", "applied_late", "hang"])
    def test_a_call_fails_twice(self, place: Place, kind: Kind, sweep: Sweep) -> None:
        """The call and the one of its kind that comes next, a repetition say (P1-P9)."""
        fail_each(place, "overwrite", kind, sweep, times=2)

    def test_a_throttled_store_is_waited_for(self, place: Place) -> None:
        """Every change is put off twice, and the job commits all the same."""
        place.put(OLD)
        changes = ("create", "put", "rename", "rename_directory", "delete", "complete")
        faults = [
            Fault(verb, nth, "throttled") for verb in changes for nth in range(1, 60) if nth % 3
        ]
        with inject(*faults) as fired:
            run(place, "overwrite")
        assert fired
        place.assert_committed(dict_of(AFTER["overwrite"]))


def _faults(points: Iterator[Fault], kind: Kind) -> Iterator[Fault]:
    for point in points:
        applied = kind in {"error_but_applied", "applied_late"}
        if point.kind == "crash_before" and not (applied and point.verb in _READING):
            yield Fault(point.verb, point.nth, kind)


def _outcome(commit: Callable[[], fc.CommitResult]) -> str:
    try:
        return commit().state
    except fc.CommitError as error:
        return error.outcome


def _check(place: Place, mode: fc.Mode, fault: Fault, outcome: str) -> None:
    old, new = shown(OLD), AFTER[mode]
    found = place.visible()
    assert set(found) <= {*old, *new}, f"{fault}: others appeared"
    if outcome == "committed":
        assert found == new, f"{fault}: committed, it says"
    elif outcome == "not_committed":
        assert found == old, f"{fault}: not committed, it says"
    else:
        assert outcome in {"partial", "unknown"}
        assert set(found) >= set(old) or set(found) >= set(new), f"{fault}: files are lost"
    assert place.is_half_way() or found in (old, new), f"{fault}: a part is seen undecided"
    settle(place, first="resume")
    place.clean()
    assert place.visible() in (old, new), f"{fault}: part of a job stands after it was settled"
    if outcome == "committed":
        place.assert_committed(dict_of(new))
    if outcome == "not_committed":
        place.assert_untouched(OLD)
