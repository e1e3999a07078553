"""What a version to come has left: this one says so, and touches nothing of it.

A job is of the version of its ``job.json``: who raises that of any record raises it, too. What
becomes of a job that breaks this, of which one record alone is newer, says the table in
``docs/protocol.md``.
"""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.protocol.invariants import state_of as state_of_job
from tests.protocol.versions.newer import (
    JOB,
    KINDS,
    OPERATIONS,
    Kind,
    job_of,
    raised,
    records_of,
    refusal,
)
from tests.protocol.versions.record import JOBS
from tests.protocol.versions.states import (
    ENDING,
    RECORDED,
    WHERE,
    RecordedPlace,
    Recording,
    State,
    make_place,
    put_back,
    remove,
    state_of,
)
from tests.sweeps import some_by_day

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.testing.sweeps import Sweep

PAGE = Path(__file__).parents[3] / "docs/protocol.md"
BY_OTHERS = [name for name in OPERATIONS if name != "its driver"]
CLAIM = KINDS[1]
UPLOAD = KINDS[-1]
OVER = "20200101T000000-0123456789abcdef"
LATER = ("/decision", "/claim-")
RESUME = "`resume`"
FENCED = "29990101T000000-0123456789abcdef"
"""A job that has begun after any other, so that these may fence it."""


def recorded(committer: str, job: str) -> Recording:
    return Recording.read(RECORDED / f"1/{committer}-{job}{ENDING}")


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[RecordedPlace]:
    place = make_place(request.getfixturevalue("committer"))
    yield place
    remove(place)


def changed(before: State, after: State, job_id: str, *, but: str = "") -> list[str]:
    """What was changed of a job, and of the data; what other jobs bring comes and goes."""
    keys = [key for key in before.keys() | after.keys() if not key.startswith("directory ")]
    differ = [key for key in keys if before.get(key) != after.get(key)]
    theirs = [key for key in differ if job_id in key or key in before]
    return [key for key in theirs if job_id in key or but != "data"]


@some_by_day(20)
@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("committer", WHERE)
def test_p5_p6_p10_nobody_touches_a_job_of_a_newer_version(
    committer: str, job: str, place: RecordedPlace, sweep: Sweep
) -> None:
    """All refuse and say why, but for readers and other jobs while it has not claimed."""
    states = [state for state in recorded(committer, job).states if job_of(state)]
    for state in sweep(states):
        job_id, newer = job_of(state), state
        for kind in KINDS:
            newer = raised(kind, newer)
        has_decided, has_claimed = (any(one in key for key in state) for one in LATER)
        for operation in BY_OTHERS:
            put_back(place, newer)
            stood = state_of(place)
            told = refusal(operation, place, job_id)
            goes_on = {"readers": not has_decided, "commits beside it": not has_claimed}
            if goes_on.get(operation):
                assert not changed(stood, state_of(place), job_id, but="data"), operation
            else:
                assert job_id in told, operation
                assert "damaged, " not in told, operation
                assert not changed(stood, state_of(place), job_id), operation
        put_back(place, newer)
        assert [(info.state, info.job_id) for info in fc.jobs(place.url)] == [("newer", job_id)]


@pytest.mark.parametrize("committer", WHERE)
def test_p7_a_job_of_a_newer_version_is_not_fenced(
    committer: str, place: RecordedPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it where its claim can be read, and it shows no sign of life."""
    monkeypatch.setattr("fsspec_commit.protocol.sign_of_life.FENCE_S", 0)
    states = recorded(committer, "append").states
    claimed = next(state for state in states if records_of(CLAIM, state))
    text = json.dumps(claimed).replace(job_of(claimed), FENCED)
    for kind, is_fenced in ((JOB, False), (None, True)):
        state = json.loads(text)
        newer = state if kind is None else raised(kind, state)
        put_back(place, newer)
        stood = state_of(place)
        told = refusal("commits beside it", place, FENCED)
        assert bool(told) is not is_fenced
        assert bool(changed(stood, state_of(place), FENCED)) is is_fenced


@pytest.mark.parametrize("committer", ["magic"])
@pytest.mark.parametrize(("record", "is_kept"), [("newer", True), ("known", True), ("", False)])
def test_p6_p10_no_upload_of_a_newer_version_is_aborted(
    committer: str, place: RecordedPlace, record: str, *, is_kept: bool
) -> None:
    """Its key may name a job that is over, whose file it copies: then a record says whose it is."""
    states = recorded(committer, "collected").states
    state = next(state for state in states if records_of(UPLOAD, state))
    (record_key,) = records_of(UPLOAD, state)
    text, *rest = state[record_key]
    known, name = json.loads(text), f"copy-{OVER}-0.txt"
    key = f"upload {known['upload_id']}"
    path, *others = state[key]
    copied = {
        **state,
        key: [path.replace(known["name"], name), *others],
        record_key: [text.replace(known["name"], name), *rest],
    }
    if record == "newer":
        copied = raised(UPLOAD, copied)
    elif not record:
        del copied[record_key]
    put_back(place, raised(JOB, copied))
    fc.clean(place.url, older_than=timedelta(0), dry_run=False)
    assert (key in state_of(place)) is is_kept


def refused(kind: Kind, committer: str, *, job: str = "collected") -> list[str]:
    """The operations that refuse in some state of a job of which this one record is newer."""
    place = make_place(committer)
    found = set[str]()
    tried = set[tuple[str, bool]]()
    for state in reversed(recorded(committer, job).states):
        put_back(place, state)
        job_id = job_of(state)
        stage = state_of_job(place.snapshot(), job_id), bool(records_of(CLAIM, state))
        if not job_id or stage in tried or not records_of(kind, state):
            continue
        tried.add(stage)
        newer = raised(kind, state)
        for operation in OPERATIONS if kind is not JOB else BY_OTHERS:
            put_back(place, newer)
            stood = state_of(place)
            if refusal(operation, place, job_id):
                found.add(operation)
                assert not changed(stood, state_of(place), job_id), (operation, stage)
    remove(place)
    assert tried, kind.shown
    return [one for one in OPERATIONS if one in found]


def table() -> list[str]:
    lines = ["| record | format | version | a newer one is refused by |", "|---|---|---|---|"]
    for kind in KINDS:
        by = refused(kind, "manifest" if "`manifest`" in kind.shown else "magic")
        assert (RESUME in by) is (f"{RESUME}, with a loss" in by)
        names = ", ".join(one for one in by if "with a loss" not in one)
        shown = (
            "all of these" if by == BY_OTHERS else names or "none; `clean` aborts no uploads then"
        )
        lines.append(f"| {kind.shown} | {kind.format} | {kind.version} | {shown} |")
    return lines


def test_the_page_says_which_version_reads_what() -> None:
    assert "\n".join(table()) in PAGE.read_text("utf-8")
