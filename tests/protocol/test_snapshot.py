"""What a reader is told at every moment of a job, and after it has died at any: whole jobs only."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from uuid import uuid4

import pytest
from msgspec import structs

import fsspec_commit as fc
from fsspec_commit.protocol.snapshot import TRIES_MAX
from fsspec_commit.records.job import JobRecord
from fsspec_commit.store import Token
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault
from fsspec_commit.testing.faults import FaultPlan, FaultyStore, Kind
from fsspec_commit.testing.recording import recorded_calls
from fsspec_commit.testing.wrapped import WrappedStore
from tests.protocol.asked import Asking, check_answer
from tests.protocol.faults import ALL, CRASHES, MEMORY, Place, attempt, calls_of, run
from tests.scenes.attempts import settle_each
from tests.scenes.places import LocalPlace
from tests.scenes.scene import SCENES, Scene
from tests.sweeps import by_day

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Capabilities, Entry, Store
    from fsspec_commit.testing.sweeps import Sweep
    from tests.scenes.flat_place import FlatPlace
    from tests.scenes.memory_place import MemoryPlace

    AnyPlace: TypeAlias = FlatPlace | MemoryPlace

T = TypeVar("T")

CASES = {
    f"{scene}-{where}": (scene, where) for scene, (_, places) in ALL.items() for where in places
}
WHOLE = {
    name
    for name, (scene, where) in CASES.items()
    if where == MEMORY or (scene.startswith("overwrite") and where in {"versioned", "gcs"})
}
"""One place for each committer, where the modes differ most; by night all."""
CRASHED: dict[str, tuple[str, str, Kind]] = {
    f"{case}-{kind}": (*CASES[case], kind) for case in CASES for kind in CRASHES
}


@pytest.mark.parametrize(("name", "where", "every"), by_day(CASES, whole=WHOLE, every=12))
def test_at_any_moment_of_a_job(
    name: str, where: str, make_place: Callable[[str, Scene], Place], sweep: Sweep
) -> None:
    scene = ALL[name][0]
    place = make_place(where, scene)
    chosen = set(sweep(range(1, 200)))
    asking = Asking(scene, place, chosen.__contains__)
    with asking.throughout():
        run(scene, place)
    if sweep.is_whole:
        assert [*dict.fromkeys(asking.states)] == ["over", "undecided", "decided", "published"]
    check_answer(scene, place.snapshot(), fc.committed_files(place.url))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "where", "kind"), CRASHED.values(), ids=CRASHED)
def test_after_a_crash_at_any_call_and_while_it_is_settled(
    name: str, where: str, kind: Kind, make_place: Callable[[str, Scene], Place]
) -> None:
    scene = ALL[name][0]
    for verb, nth in calls_of(scene, make_place(where, scene)):
        place = make_place(where, scene)
        plan = FaultPlan([Fault(verb, nth, kind)])
        assert attempt(scene, place, partial(FaultyStore, faults=plan)) == "nothing"
        try:
            check_answer(scene, place.snapshot(), fc.committed_files(place.url))
            asking = Asking(scene, place, lambda _: True)
            with asking.throughout():
                settle_each(place, place.snapshot())
            check_answer(scene, place.snapshot(), fc.committed_files(place.url))
        except (AssertionError, fc.CommitError) as error:
            error.add_note(f"after {kind} at {verb} number {nth}")
            raise


@pytest.mark.parametrize("where", [MEMORY, "unversioned", "versioned", "gcs", "gen2"])
def test_two_listings_of_the_areas_are_all_it_costs(
    where: str, make_place: Callable[[str, Scene], Place]
) -> None:
    """While no job is under way; a destination that no job has seen is looked at from above."""
    scene = SCENES["append"]
    place = make_place(where, scene)
    run(scene, place)
    with recorded_calls() as calls:
        fc.committed_files(place.url)
    assert [call.verb for call in calls] == ["list_children", "list_tree", "list_children"]
    areas = f"{calls[1].path}/_commit"
    assert {call.path for call in calls if call.verb == "list_children"} == {areas}


def test_a_job_that_has_not_decided_costs_a_listing_more(
    make_place: Callable[[str, Scene], Place],
) -> None:
    place = make_place(MEMORY, SCENES["append"])
    job = fc.Job(place.url, mode="append").start()
    with recorded_calls() as calls:
        fc.committed_files(place.url)
    assert [call.verb for call in calls] == [
        *("list_children", "list_children", "list_tree", "list_children", "list_children")
    ]
    job.abort()


def test_each_epoch_is_listed_after_the_one_that_it_replaces(tmp_path: Path) -> None:
    """A listing of many pages, in the order of names, passes no place of an epoch too early."""
    epochs = []
    for _ in range(3):
        with fc.Job(tmp_path / "out", mode="append") as job, job.task() as task:
            task.filesystem.pipe_file("a.txt", b"a")
        [epoch] = (tmp_path / "out/_commit").glob("epoch-*")
        epochs.append(epoch.name)
    assert [epoch[:18] for epoch in epochs] == [f"epoch-{number:012x}" for number in range(3)]
    epoch.rename(epoch.with_name(f"epoch-{'f' * 32}"))  # there are no more numbers
    with fc.Job(tmp_path / "out", mode="append") as job, job.task() as task:
        task.filesystem.pipe_file("a.txt", b"a")
    [epoch] = (tmp_path / "out/_commit").glob("epoch-*")
    assert epoch.name.startswith(f"epoch-{'0' * 12}")


class AtEachListing:
    """Does something each time that the files are listed, when that is done."""

    def __init__(self, do: Callable[[], None]) -> None:
        self._do = do

    def __call__(self, store: Store) -> Store:
        return WrappedStore(store, self._carry)

    async def _carry(
        self, verb: str, path: StorePath, call: Callable[[], Awaitable[Any]]
    ) -> Any:  # whatever it is
        answer = await call()
        if verb == "list_tree":
            self._do()
        return answer


def test_where_jobs_end_all_the_time_it_is_given_up(
    make_place: Callable[[str, Scene], AnyPlace],
) -> None:
    place = make_place(MEMORY, SCENES["append"])
    times = 0

    def end_a_job() -> None:
        nonlocal times
        times += 1
        place.put({f"_commit/epoch-{uuid4().hex}": b""})

    with (
        wrapping(AtEachListing(end_a_job)),
        pytest.raises(fc.SnapshotUnstableError, match="ask again") as raised,
    ):
        fc.committed_files(place.url)
    assert times == TRIES_MAX
    assert raised.value.stage == "read"


def test_a_job_that_ends_once_makes_it_list_again(
    make_place: Callable[[str, Scene], AnyPlace],
) -> None:
    scene = SCENES["append"]
    place = make_place(MEMORY, scene)
    run(scene, place)
    ended = iter([True])

    def end_a_job() -> None:
        if next(ended, False):
            place.put({"late.txt": b"late", f"_commit/epoch-{uuid4().hex}": b""})

    with wrapping(AtEachListing(end_a_job)):
        assert "late.txt" in fc.committed_files(place.url).names


def test_a_destination_above_that_begins_meanwhile_is_seen(
    make_place: Callable[[str, Scene], AnyPlace],
) -> None:
    """Where no job has written so far, the first may be one whose destination is further up."""
    place = make_place(MEMORY, SCENES["append"])
    job_id = "20261120T140355-9c1e5f00a1b2c3d4"

    def begin_above() -> None:
        place.put({"day=1/half.txt": b"half", f"_commit/{job_id}/decision": b"of a job above"})

    with (
        wrapping(AtEachListing(begin_above)),
        pytest.raises(fc.RequestError, match="is a directory of the destination") as raised,
    ):
        fc.committed_files(f"{place.url}/day=1")
    assert raised.value.kind == "inside_destination"


def test_a_file_called_like_the_areas_is_hidden_like_any_other(
    make_place: Callable[[str, Scene], AnyPlace],
) -> None:
    """It was called another destination; where keys are flat, jobs have areas all the same."""
    place = make_place(MEMORY, SCENES["append"])
    old = fc.committed_files(place.url).names
    place.put({"_commit": b""})
    assert fc.committed_files(place.url).names == old
    place.put({"d/_commit/epoch": b""})
    with pytest.raises(fc.RequestError, match="another destination lies inside it, at 'd'"):
        fc.committed_files(place.url)


class TwoForms(WrappedStore):
    """Tokens name versions for jobs that know of such, as on S3."""

    form = ""

    def go_by(self, facts: Capabilities) -> None:
        self.form = "" if facts.unique_tokens else "an etag alone, of "

    async def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        async for entry in self.store.list_tree(path, without=without):
            yield replace(entry, token=Token(self.form + entry.token))


def test_jobs_whose_tokens_have_two_forms_are_not_told_apart(tmp_path: Path) -> None:
    """One listing shows one form: the old files of the other job would count beside its new."""
    destination = tmp_path / "out"
    for partition in ("p=1", "p=2"):
        with fc.Job(destination, mode="append", names="exact") as job, job.task() as task:
            task.filesystem.pipe_file(f"{partition}/old.txt", b"old")
    for partition in ("p=1", "p=2"):
        plan = FaultPlan([Fault("create", nth=7, kind="crash_after")])  # of ``published``
        with (
            wrapping(partial(FaultyStore, faults=plan)),
            pytest.raises(Crash),
            fc.Job(destination, mode="overwrite_partitions") as job,
            job.task() as task,
        ):
            task.filesystem.pipe_file(f"{partition}/new.txt", b"new")
    ones, others = fc.jobs(destination)
    assert (ones.state, others.state) == ("published", "published")
    told = fc.committed_files(destination)
    assert [name for name in told.names if "old" in name] == []
    assert len(told) == 2
    spec = destination / "_commit" / ones.job_id / "job.json"
    kept = spec.read_bytes()
    record = JobRecord.decode(kept)
    without_versions = record.capabilities.known("declared", unique_tokens=False)
    spec.write_bytes(structs.replace(record, capabilities=without_versions).encode())

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[Any]]) -> Any:
        return await call()

    with (
        wrapping(lambda store: TwoForms(store, carry)),
        pytest.raises(fc.SnapshotUnstableError, match=f"jobs .*{others.job_id}.* two forms"),
    ):
        fc.committed_files(destination)
    spec.write_bytes(kept)
    fc.resume(destination, ones.job_id)
    assert fc.committed_files(destination) == told


PUBLISHING = Scene({"mode": "overwrite", "success": "none"}, SCENES["overwrite"].tasks)


def test_who_does_not_know_what_counts_says_so(tmp_path: Path) -> None:
    """A job that has decided, and somebody breaks its records: that is not half a job's files."""
    destination = tmp_path / "out"
    PUBLISHING.lay_out(destination)
    old = fc.committed_files(destination)
    plan = FaultPlan([Fault("rename", nth=5, kind="crash_before")])
    place = LocalPlace(destination)
    assert attempt(PUBLISHING, place, partial(FaultyStore, faults=plan)) == "nothing"
    assert fc.committed_files(destination) == old
    [job] = fc.jobs(destination)
    area = destination / "_commit" / job.job_id
    for record in ("decision", "job.json"):
        kept = (area / record).read_bytes()
        (area / record).write_bytes(b"{torn")
        with pytest.raises(fc.RecordError, match=f"not known: job {job.job_id} is damaged"):
            fc.committed_files(destination)
        (area / record).write_bytes(kept)
    (area / "job.json").unlink()
    with pytest.raises(fc.RecordError, match=r"job\.json is gone"):
        fc.committed_files(destination)


@pytest.mark.parametrize("dies_at", [100, 350])
def test_a_name_of_an_old_file_counts_at_any_time_and_a_new_one_in_the_end(
    dies_at: int, make_place: Callable[[str, Scene], FlatPlace], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the job has published, what the name of the old file holds is the old or the new."""
    monkeypatch.setattr("fsspec_commit.protocol.streamed_list._LINES_BYTES", 5_000)
    place = make_place("gcs", Scene({"mode": "error"}))
    stays, new = ([f"{kind}-{number}.txt" for number in range(200)] for kind in ("a", "b"))
    place.put(dict.fromkeys([*stays, "old.txt"], b"old"))
    options: dict[str, object] = {"mode": "overwrite", "names": "exact", "success": "none"}
    scene = Scene(options, [dict.fromkeys([*stays, *new], "newer")])
    plan = FaultPlan([Fault("rename", nth=dies_at, kind="crash_before")])
    assert attempt(scene, place, partial(FaultyStore, faults=plan)) == "nothing"
    [job] = fc.jobs(place.url)
    assert job.state == "decided"
    told = {Path(name).name for name in fc.committed_files(place.url)}
    assert told == {*stays, "old.txt"}
    report = fc.verify(place.url)
    assert (report.missing, report.changed) == ((), ())
    fc.resume(place.url, job.job_id)
    told = {Path(name).name for name in fc.committed_files(place.url)}
    assert told == {*stays, *new}


def test_none_of_many_old_files_counts_once_the_new_ones_are_in_place(
    make_place: Callable[[str, Scene], FlatPlace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsspec_commit.protocol.streamed_list._LINES_BYTES", 5_000)
    place = make_place("versioned", PUBLISHING)
    old = {f"day={number % 7}/old-{number}.txt": b"old" for number in range(700)}
    place.put(old)
    plan = FaultPlan([Fault("delete", nth=2, kind="crash_before")])
    assert attempt(PUBLISHING, place, partial(FaultyStore, faults=plan)) == "nothing"
    [job] = fc.jobs(place.url)
    assert job.state == "published"
    told = fc.committed_files(place.url)
    assert told
    assert not [name for name in told if "/old-" in name]
    fc.resume(place.url, job.job_id)
    assert fc.committed_files(place.url) == told


def test_one_damaged_job_of_several_is_enough_not_to_know(tmp_path: Path) -> None:
    jobs = [fc.Job(tmp_path / "out", mode="append").start() for _ in range(3)]
    for job in jobs:
        decision = tmp_path / "out/_commit" / job.job_id / "decision"
        decision.write_bytes(b"{torn")
        with pytest.raises(fc.RecordError, match=f"not known: job {job.job_id} is damaged"):
            fc.committed_files(tmp_path / "out")
        decision.unlink()
    assert fc.committed_files(tmp_path / "out") == []
    for job in jobs:
        job.abort()


def test_where_a_loss_was_accepted_no_old_file_is_left_out(tmp_path: Path) -> None:
    """They are not deleted then, so they stay when the job is over, and count all the time."""
    destination = tmp_path / "out"
    PUBLISHING.lay_out(destination)
    place = LocalPlace(destination)
    plan = FaultPlan([Fault("rename", nth=4, kind="crash_before")])
    assert attempt(PUBLISHING, place, partial(FaultyStore, faults=plan)) == "nothing"
    [job] = fc.jobs(destination)
    for source in (destination / "_commit" / job.job_id).rglob("*.txt.pending"):
        source.unlink()
    old = fc.committed_files(destination)
    plan = FaultPlan([Fault("create", nth=2, kind="crash_before")])
    with wrapping(partial(FaultyStore, faults=plan)), pytest.raises(Crash):
        fc.resume(destination, job.job_id, accept_loss=True)
    [job] = fc.jobs(destination)
    assert job.state == "published"
    shown = sorted(str(path) for path in destination.rglob("*.txt") if "_" not in path.name[:1])
    assert fc.committed_files(destination) == shown
    assert len(shown) > len(old)
    fc.resume(destination, job.job_id, accept_loss=True)
    assert fc.committed_files(destination) == shown
