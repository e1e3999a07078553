"""The driver dies at any store call; somebody else settles what it left (P8)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from typing import TypeAlias

import pytest

import fsspec_commit as fc
from fsspec_commit.testing.committer_contract.given import (
    TASKS,
    Files,
    Given,
    Place,
    Shown,
    shown,
    write,
)
from fsspec_commit.testing.faults import Crash, Fault, crash_points, inject
from fsspec_commit.testing.sweeps import Sweep

_OLD = "old-6a0d9b8e-5c0f-4a55-9f0e-0123456789ab.txt"
"""A name as Spark gives one, never used again: it may be deleted on every store."""
OLD: Files = {_OLD: b"old", f"day=1/{_OLD}": b"old of day 1", f"day=3/{_OLD}": b"kept"}
MODES: tuple[fc.Mode, ...] = ("append", "overwrite", "overwrite_partitions")
PARTITIONED: tuple[Files, ...] = (
    {"day=1/a.txt": b"first"},
    {"day=1/b.txt": b"second", "day=2/c.txt": b""},
)
AFTER: dict[fc.Mode, Shown] = {
    "append": shown(OLD, *PARTITIONED),
    "overwrite": shown(*PARTITIONED),
    "overwrite_partitions": shown(
        {name: data for name, data in OLD.items() if not name.startswith("day=1/")}, *PARTITIONED
    ),
}

Run: TypeAlias = Callable[[Place, fc.Mode], fc.CommitResult]
"""A whole job that writes :data:`PARTITIONED` over :data:`OLD`."""

_COUNTS_MAX = 3
"""How often a run is counted again before a fault that did not happen in it fails the test."""

gives_up_files = pytest.mark.filterwarnings("ignore::ResourceWarning")
"""A process that dies closes nothing: that is what is tried, not a fault of the program."""


def run(place: Place, mode: fc.Mode) -> fc.CommitResult:
    """A job of two tasks over old data, without the tidy end that ``with`` brings."""
    job = place.job(mode=mode).start()
    for files in PARTITIONED:
        task = job.task()
        write(task, files)
        task.commit()
    return job.commit()


def settle(place: Place, *, first: str) -> None:
    """Settle jobs as an operator would: try *first*, and where that is refused the other way.

    Then try *first* once more, in case a decision that was on its way has arrived in between.
    """
    other = "abort" if first == "resume" else "resume"
    for info in fc.jobs(place.url, **place.how):
        for tried, way in enumerate((first, other, first)):
            try:
                if way == "resume":
                    fc.resume(place.url, info.job_id, **place.how)
                else:
                    fc.abort(place.url, info.job_id, **place.how)
                break
            except fc.CommitError:
                if tried == 2:  # noqa: PLR2004  # the last of the three
                    raise


def happened(fault: Fault, fired: Sequence[Fault], points: Callable[[], Iterator[Fault]]) -> bool:
    """Whether *fault*, one of those that a run was found to have, is among those that *fired*.

    A run that takes longer makes more calls: it shows that it lives, and repeats what was not
    answered. If the run that was counted took long, others need not come to its last calls.

    Args:
        fault: What was to happen.
        fired: What has happened.
        points: Makes another run, and returns the faults that it could have had.
    """
    if fault in fired:
        return True
    assert any(fault not in set(points()) for _ in range(_COUNTS_MAX)), f"{fault} did not happen"
    return False


@contextmanager
def dying(*faults: Fault) -> Iterator[list[Fault]]:
    """Run a block that is to die of *faults*; it may also survive."""
    with inject(*faults) as fired, suppress(Crash):
        yield fired


def crash_at_each_call(place: Place, mode: fc.Mode, sweep: Sweep, *, run: Run, first: str) -> None:
    """Let *run* die at each of its calls, and settle what it left, trying *first* first."""
    fresh = (place.beside(f"/{number}") for number in count())

    def with_old() -> Place:
        there = next(fresh)
        there.put(OLD)
        return there

    def points() -> Iterator[Fault]:
        there = with_old()
        return crash_points(lambda: run(there, mode))

    outcomes = set[str]()
    for fault in sweep(points()):
        there = with_old()
        with dying(fault) as fired:
            run(there, mode)
        if happened(fault, fired, points):
            outcomes.add(_check(there, mode, fault, first))
    if sweep.is_whole:
        assert outcomes == {"old", "new"}, "the job must be seen to fail and to succeed"


def _check(place: Place, mode: fc.Mode, fault: Fault, first: str) -> str:
    old, new = shown(OLD), AFTER[mode]
    found = place.visible()
    assert set(found) >= set(old) or set(found) >= set(new), f"{fault}: files are lost"
    assert set(found) <= {*old, *new}, f"{fault}: others appeared"
    assert place.is_half_way() or found in (old, new), f"{fault}: a part is seen undecided"
    settle(place, first=first)
    place.clean()
    settled = place.visible()
    assert settled in (old, new), f"{fault}: part of a job stands after it was settled"
    if settled == new:
        place.assert_committed(dict_of(new))
    else:
        place.assert_untouched(OLD)
    place.commit([{"later.txt": b"later"}], mode="append", wait_s=1)
    assert place.visible() == sorted([*settled, ("later.txt", b"later")]), fault
    return "new" if settled == new else "old"


@pytest.mark.guarantees("P1", "P2", "P5", "P6", "P8", "P9")
class CrashesContract(Given):
    """Crash points."""

    @gives_up_files
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("first", ["resume", "abort"])
    def test_a_crash_at_any_call_can_be_settled(
        self, place: Place, mode: fc.Mode, first: str, sweep: Sweep
    ) -> None:
        """Before, during and after: all of the old or all of the new, byte for byte (P1-P9)."""
        crash_at_each_call(place, mode, sweep, run=run, first=first)

    @gives_up_files
    @pytest.mark.parametrize("mode", MODES)
    def test_a_crash_of_the_recovery_can_be_settled(
        self, place: Place, mode: fc.Mode, sweep: Sweep
    ) -> None:
        """A decided job is finished by whoever comes last, wherever the others died (P8)."""
        fresh = (place.beside(f"/{number}") for number in count())

        def decided() -> Place:
            there = next(fresh)
            there.put(OLD)
            for fault in self._decisions:
                with dying(fault):
                    run(there, mode)
                if [info.state for info in fc.jobs(there.url, **there.how)] == ["decided"]:
                    self._decisions = [fault]
                    return there
                there = next(fresh)
                there.put(OLD)
            raise AssertionError("no crash leaves a job that is decided")

        def resume(there: Place) -> None:
            (info,) = fc.jobs(there.url, **there.how)
            fc.resume(there.url, info.job_id, **there.how)

        self._decisions = [Fault("create", nth, "crash_after") for nth in range(1, 30)]

        def points() -> Iterator[Fault]:
            there = decided()
            return crash_points(lambda: resume(there))

        for fault in sweep(points()):
            there = decided()
            with dying(fault) as fired:
                resume(there)
            if not happened(fault, fired, points):
                continue
            assert set(there.visible()) >= set(AFTER[mode]) or set(there.visible()) >= set(
                shown(OLD)
            ), f"{fault}: files are lost"
            settle(there, first="resume")
            there.clean()
            there.assert_committed(dict_of(AFTER[mode]))

    _decisions: list[Fault]

    @gives_up_files
    def test_a_crash_of_an_abort_can_be_settled(self, place: Place, sweep: Sweep) -> None:
        """Nothing of the job becomes visible, wherever the abort died (P5)."""
        fresh = (place.beside(f"/{number}") for number in count())

        def ready() -> fc.Job:
            there = next(fresh)
            there.put(OLD)
            job = there.job(mode="overwrite").start()
            with job.task() as task:
                write(task, TASKS[0])
            return job

        def abort(job: fc.Job) -> None:
            fc.abort(job.destination, job.job_id, **place.how)

        prepared = ready()
        for fault in sweep(crash_points(lambda: abort(prepared))):
            job = ready()
            there = replace(place, url=job.destination)
            with dying(fault):
                abort(job)
            assert there.visible() == shown(OLD)
            for info in fc.jobs(there.url, **there.how):
                fc.abort(there.url, info.job_id, **there.how)
            there.clean()
            there.assert_untouched(OLD)


def dict_of(files: Shown) -> Files:
    """The contents of *files* by name; no two of them may have one name."""
    assert len({name for name, _ in files}) == len(files)
    return dict(files)
