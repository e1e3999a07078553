"""What jobs of earlier versions have left, at every call: this version settles it, and reads it.

The formats of records are those of the first release, and no release has been made before; what is
recorded holds them. A record that is changed without another version cannot be read there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.records.job import JobRecord
from tests.protocol import faults
from tests.protocol.invariants import job_ids, state_of, visible
from tests.protocol.versions.record import ABORTED, JOBS, abort, jobs_at, record
from tests.protocol.versions.states import (
    ENDING,
    RECORDED,
    STORES,
    RecordedPlace,
    Recording,
    make_place,
    put_back,
    remove,
)
from tests.scenes.attempts import clean
from tests.sweeps import some_by_day

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsspec_commit.testing.sweeps import Sweep

VERSIONS = sorted(directory.name for directory in RECORDED.iterdir())
NAMES = [
    f"{version}/{committer}-{job}" for version in VERSIONS for committer in STORES for job in JOBS
]
ABORTED_NAMES = [f"{version}/{committer}-{ABORTED}" for version in VERSIONS for committer in STORES]


def recorded(name: str) -> Recording:
    return Recording.read(RECORDED / f"{name}{ENDING}")


@pytest.fixture
def put() -> Iterator[Callable[[Recording, int], RecordedPlace]]:
    """Puts back what stood after a call; one place at a time."""
    places: list[RecordedPlace] = []

    def put(recording: Recording, number: int) -> RecordedPlace:
        while places:
            remove(places.pop())
        places.append(make_place(recording.committer))
        put_back(places[0], recording.states[number])
        return places[0]

    yield put
    while places:
        remove(places.pop())


def test_all_that_is_recorded_is_tried() -> None:
    files = {path.relative_to(RECORDED).as_posix() for path in RECORDED.rglob(f"*{ENDING}")}
    assert files == {f"{name}{ENDING}" for name in (*NAMES, *ABORTED_NAMES)}
    assert VERSIONS == ["1", "1.1", "1.2", "1.3", "1.4"]


@some_by_day(4)
@pytest.mark.parametrize("name", [*NAMES, *ABORTED_NAMES])
def test_p5_p8_what_an_earlier_version_left_at_any_call_is_settled(
    name: str, put: Callable[[Recording, int], RecordedPlace], sweep: Sweep
) -> None:
    """Resumed if it has decided, else aborted; and an undecided one by ``clean`` as well."""
    recording = recorded(name)
    for number in sweep(range(len(recording.states))):
        place = put(recording, number)
        snapshot = place.snapshot()
        faults.recover(recording.scene, place, "nothing")
        undecided = [one for one in job_ids(snapshot) if state_of(snapshot, one) == "undecided"]
        if undecided:
            place = put(recording, number)
            clean(place)
            faults.check(recording.scene, place, happened=False)


@some_by_day(4)
@pytest.mark.parametrize("name", NAMES)
def test_p1_p9_readers_see_whole_jobs_of_an_earlier_version(
    name: str, put: Callable[[Recording, int], RecordedPlace], sweep: Sweep
) -> None:
    recording = recorded(name)
    scene = recording.scene
    for number in sweep(range(len(recording.states))):
        place = put(recording, number)
        snapshot = place.snapshot()
        names = fc.committed_files(place.url).names
        shown = visible({one: snapshot[one] for one in names})
        counts = bool(_published(snapshot)) or number == len(recording.states) - 1
        assert shown in ([scene.after] if counts else [scene.old, scene.after])


def _published(snapshot: dict[str, bytes]) -> list[str]:
    return [one for one in job_ids(snapshot) if state_of(snapshot, one) == "published"]


@pytest.mark.parametrize("committer", STORES)
def test_p3_tasks_of_an_earlier_version_are_committed_by_a_driver_of_this_one(
    committer: str, put: Callable[[Recording, int], RecordedPlace]
) -> None:
    """Where the store holds their messages; the spec is what ``job.json`` says."""
    recording = recorded(f"1/{committer}-collected")
    tried = 0
    for number in range(len(recording.states)):
        place = put(recording, number)
        snapshot = place.snapshot()
        chosen = [one for one in snapshot if "/chosen/" in one]
        (job_id,) = job_ids(snapshot) or [""]
        if len(chosen) < 2 or state_of(snapshot, job_id) != "undecided":
            continue
        tried += 1
        spec = fc.JobSpec(JobRecord.decode(snapshot[f"_commit/{job_id}/job.json"]))
        assert fc.Job.from_spec(spec).commit().state == "committed"
        faults.check(recording.scene, place, happened=True)
    assert tried


@pytest.mark.parametrize("committer", STORES)
def test_this_version_writes_what_is_recorded(committer: str) -> None:
    """The same calls, but for what is in the records: what a later version finds is what is tried.

    When the protocol takes other calls, this says so: then a recording of it is to be added.
    """
    last, jobs = VERSIONS[-1], jobs_at(committer)
    for job, scene in jobs.items():
        then, now = recorded(f"{last}/{committer}-{job}"), record(committer, scene)
        assert _verbs(now) == _verbs(then)
    then, now = recorded(f"{last}/{committer}-{ABORTED}"), record(committer, jobs["append"], abort)
    assert _verbs(now) == _verbs(then)


def _verbs(recording: Recording) -> list[str]:
    return [call.partition(" ")[0] for call in recording.calls]
