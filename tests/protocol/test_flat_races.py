"""Somebody else acts between any two calls of a driver, on flat object stores (P6, P7, P8).

There no rename takes a whole area away from under a late driver: it goes on, with nothing in its
way but what it reads and what it has already used up.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore
from tests.protocol.faults import write
from tests.protocol.invariants import check_settled, job_ids, visible
from tests.scenes.scene import SCENES, Scene, named
from tests.sweeps import by_day

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store
    from fsspec_commit.testing.sweeps import Sweep
    from tests.scenes.flat_place import FlatPlace

T = TypeVar("T")
CASES = {
    "append, versioned": (SCENES["append"], "versioned"),
    "append, unversioned": (SCENES["append"], "unversioned"),
    "append, exact, minio": (SCENES["append, exact"], "minio"),
    "append, by path": (SCENES["append"], "by path"),
    "overwrite, versioned": (SCENES["overwrite"], "versioned"),
    "overwrite, unversioned": (SCENES["overwrite"], "unversioned"),
    "overwrite, never reused": (named("overwrite"), "unversioned"),
    "in place, unversioned": (SCENES["overwrite, in place"], "unversioned"),
    "in place, versioned": (SCENES["overwrite, in place"], "versioned"),
    "append, gcs": (SCENES["append"], "gcs"),
    "append, exact, gcs": (SCENES["append, exact"], "gcs"),
    "overwrite, gcs": (SCENES["overwrite"], "gcs"),
    "in place, gcs": (SCENES["overwrite, in place"], "gcs"),
    "overwrite, gen2": (SCENES["overwrite"], "gen2"),
    "in place, gen2": (SCENES["overwrite, in place"], "gen2"),
    "append, express": (SCENES["append"], "express"),
}
WHOLE = {name for name, (_, habits) in CASES.items() if habits == "versioned"} | {"overwrite, gcs"}
"""By day: where uploads are completed, and once where files are renamed."""
BESIDE = {"beside.txt": "of another job", "day=1/beside.txt": "of another job, in day 1"}
LATER = {"later.txt": "of a later job", "same.txt": "a later file of this name"}


class Between:
    """Before the *nth* call, somebody else acts, from start to end.

    What is sent beside that call goes on meanwhile; and if the driver then finds that it does not
    need the call, and gives it up, so does the act, beside the driver.
    """

    def __init__(self, nth: int, act: Callable[[], None]) -> None:
        self.left = nth
        self.calls = 0
        self._act = act
        self._acting = False
        self._threads = ThreadPoolExecutor(1)
        self._acted: Future[None] | None = None

    def __call__(self, store: Store) -> Store:
        return WrappedStore(store, self._carry)

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if not self._acting:
            self.calls += 1
            self.left -= 1
            if self.left == 0:
                self._acting = True
                self._acted = self._threads.submit(self._act)
                await asyncio.shield(asyncio.wrap_future(self._acted))
                self._acting = False
        return await call()

    def wait(self) -> None:
        """Wait until the act has ended, and raise what it has raised."""
        with self._threads:
            if self._acted is not None:
                self._acted.result()


class Race:
    """One job whose tasks have committed, and those who would settle it."""

    def __init__(self, scene: Scene, place: FlatPlace) -> None:
        self.scene = scene
        self.place = place
        job = fc.Job(place.url, **scene.options)  # type: ignore[arg-type]  # options of a table
        job._begun_here = False
        self.job = job.start()
        self.messages = [self._attempt(number, files) for number, files in enumerate(scene.tasks)]
        self.others: list[str] = []

    def _attempt(self, number: int, files: dict[str, str]) -> fc.TaskCommit:
        task = fc.Task.from_spec(self.job.spec, number)
        write(task, files)
        assert task.message is not None
        return task.message

    def commit(self, nth: int, act: Callable[[], None]) -> tuple[str, int]:
        """Commit by another driver, between whose calls somebody acts; what it was told."""
        between = Between(nth, act)
        with wrapping(between):
            driver = fc.Job.from_spec(fc.JobSpec.from_json(self.job.spec.to_json()))
            try:
                told: str = driver.commit(self.messages).state
            except fc.CommitError as error:
                told = error.outcome
            between.wait()
        return told, between.calls

    def _told(self, act: Callable[[], object]) -> None:
        try:
            act()
        except fc.CommitError as error:
            self.others.append(error.outcome)
        else:
            self.others.append("done")

    def resume(self) -> None:
        self._told(lambda: fc.resume(self.place.url, self.job.job_id))

    def abort(self) -> None:
        self._told(lambda: fc.abort(self.place.url, self.job.job_id))

    def clean(self) -> None:
        fc.clean(self.place.url, older_than=timedelta(0), dry_run=False)

    def second(self) -> None:
        self._told(lambda: fc.Job.from_spec(self.job.spec).commit(self.messages))

    def supersede(self) -> None:
        """Finish the job, then overwrite all it wrote with another, as one may."""
        self.resume()
        if self.others == ["done"]:
            self.later()

    def late_attempt(self) -> None:
        """Write a file that no name attributes, where there may be one, and die."""
        task = fc.Task.from_spec(self.job.spec, 0)
        name = "late" if self.place.bucket.habits.keyed_by == "path" else "_late"
        if self.scene.mode == "overwrite_partitions":
            name = f"d/{name}"
        self._told(lambda: task.open(name, "w").close())

    def beside(self) -> None:
        """Append, as another job may at any time."""
        with fc.Job(self.place.url, mode="append") as job, job.task() as task:
            write_files(task, BESIDE)
        self.others.append("done")

    def later(self) -> None:
        names = str(self.scene.options.get("names", "unique"))
        with (
            fc.Job(self.place.url, mode="overwrite", names=names, single_writer=True) as job,  # type: ignore[arg-type]
            job.task() as task,
        ):
            write_files(task, LATER)


def write_files(task: fc.Task, files: dict[str, str]) -> None:
    for name, text in files.items():
        with task.open(name, "w") as file:
            file.write(text)


@pytest.mark.parametrize(
    ("case", "every"), by_day({case: (case,) for case in CASES}, whole=WHOLE, every=24)
)
@pytest.mark.parametrize("act", ["resume", "abort", "clean", "second", "supersede", "late_attempt"])
def test_somebody_acts_between_any_two_calls(
    case: str, act: str, make_place: Callable[[str, Scene], FlatPlace], sweep: Sweep
) -> None:
    scene, habits = CASES[case]
    told, count = Race(scene, make_place(habits, scene)).commit(0, lambda: None)
    assert told == "committed"
    acted = set[str]()
    for nth in sweep(range(1, count + 1)):
        race = Race(scene, make_place(habits, scene))
        told, _ = race.commit(nth, getattr(race, act))
        acted.update(race.others)
        try:
            settle_and_check(race, told, superseded=act == "supersede" and race.others == ["done"])
        except AssertionError as error:
            error.add_note(f"{act} before call {nth} of {count}: told {told!r}, {race.others}")
            raise
    assert "done" in acted or act == "clean" or not sweep.is_whole, "nobody ever came in time"


@pytest.mark.parametrize(
    ("case", "every"),
    by_day(
        {case: (case,) for case in CASES if case.startswith("append") and "exact" not in case},
        whole=WHOLE,
        every=24,
    ),
)
def test_another_job_appends_between_any_two_calls(
    case: str, make_place: Callable[[str, Scene], FlatPlace], sweep: Sweep
) -> None:
    """Both are there, one marker stands, and neither has taken anything of the other's."""
    scene, habits = CASES[case]
    _, count = Race(scene, make_place(habits, scene)).commit(0, lambda: None)
    for nth in sweep(range(1, count + 1)):
        race = Race(scene, make_place(habits, scene))
        try:
            told, _ = race.commit(nth, race.beside)
            assert told == "committed"
            # Not even `clean` is needed.
            both = scene.after | named_by_job(BESIDE)
            check_settled(race.place.snapshot(), expected=both, marker=True)
            assert race.place.pending() == []
        except AssertionError as error:
            error.add_note(f"before call {nth} of {count}")
            raise


def named_by_job(files: dict[str, str]) -> dict[str, bytes]:
    return {f"{name.removesuffix('.txt')}@0.txt": text.encode() for name, text in files.items()}


def settle_and_check(race: Race, told: str, *, superseded: bool) -> None:
    place, scene = race.place, race.scene
    for job_id in job_ids(place.snapshot()):
        fc.resume(place.url, job_id)
    race.clean()
    race.clean()
    happened = told in {"committed", "partial"}
    if told == "unknown":  # it says: look at the destination
        happened = not set(scene.new) - set(visible(place.snapshot()))
    if superseded:
        happened = True
        exact = scene.options.get("names") == "exact"
        as_they_are = {name: text.encode() for name, text in LATER.items()}
        expected = as_they_are if exact else named_by_job(LATER)
    else:
        expected = scene.after if happened else scene.old
    assert told != "not_committed" or not happened
    check_settled(place.snapshot(), expected=expected, marker=True)
    assert place.pending() == []


def nothing(area: str, before: dict[str, bytes]) -> dict[str, bytes]:
    return {}


def a_late_attempt(area: str, before: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{area}/manifests/0/{'0' * 16}": b"{}"}


def all_manifests(area: str, before: dict[str, bytes]) -> dict[str, bytes]:
    return {path: data for path, data in before.items() if path.startswith(f"{area}/manifests/")}


def all_but_the_last(area: str, before: dict[str, bytes]) -> dict[str, bytes]:
    return dict(sorted(all_manifests(area, before).items())[:-1])


def the_list(area: str, before: dict[str, bytes]) -> dict[str, bytes]:
    lists = {path: data for path, data in before.items() if path.startswith(f"{area}/chosen-")}
    return {**all_but_the_last(area, before), **lists}


class Left(NamedTuple):
    """What stands beside a decision that comes too late."""

    of: Callable[[str, dict[str, bytes]], dict[str, bytes]]
    can_be_published: bool = False
    inline_max: int = 1 << 16


@pytest.mark.parametrize(
    "left",
    [
        Left(nothing),
        Left(a_late_attempt),
        Left(all_but_the_last),
        Left(all_manifests, can_be_published=True),
        Left(all_manifests, inline_max=0),
        Left(the_list, can_be_published=True, inline_max=0),
    ],
    ids=lambda left: f"{left.of.__name__} {left.inline_max}",
)
@pytest.mark.parametrize("habits", ["versioned", pytest.param("gcs", marks=pytest.mark.slow)])
@pytest.mark.guarantees("P7", "P8")
def test_p8_a_decision_that_comes_again_when_the_job_is_over(
    habits: str,
    left: Left,
    make_place: Callable[[str, Scene], FlatPlace],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A request that was given up, carried out late: its driver was told "partial", for ever.

    So it was where an attempt that nobody chose had stored its manifest late, too. Where all is
    there that the decision names, nobody can tell it from one that is to be carried out.
    """
    monkeypatch.setattr("fsspec_commit.protocol.chosen.INLINE_BYTES_MAX", left.inline_max)
    scene = SCENES["overwrite"]
    told, count = Race(scene, make_place(habits, scene)).commit(0, lambda: None)
    said = set[str]()
    for nth in range(1, count + 1):
        race = Race(scene, make_place(habits, scene))
        area = f"_commit/{race.job.job_id}"

        def act(race: Race = race, area: str = area) -> None:
            before = race.place.snapshot()
            decision = before.get(f"{area}/decision")
            if decision is not None:
                race.supersede()
                race.place.put({f"{area}/decision": decision, **left.of(area, before)})

        told, _ = race.commit(nth, act)
        said.add(told)
    assert said == {"committed", "unknown"} | ({"partial"} if left.can_be_published else set())
