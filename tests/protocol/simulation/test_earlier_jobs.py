"""Jobs of earlier versions, left at any of their calls, beside jobs of this one."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.selection import choose
from fsspec_commit.store import Expect
from fsspec_commit.testing.simulation import (
    FAMILIES,
    CleanerPlan,
    EarlierPlan,
    JobPlan,
    Plan,
    Run,
    run,
    shrink,
)
from fsspec_commit.testing.simulation.bucket import Bucket
from fsspec_commit.testing.simulation.earlier import VERSIONS, EarlierJob, can_be_left
from tests.protocol.simulation.scenes import UUID
from tests.protocol.versions.record import ABORTED
from tests.protocol.versions.states import ENDING, RECORDED, Recording
from tests.protocol.versions.test_two_at_once import trust_any_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Mode = Literal["append", "overwrite"]
AS_RECORDED = {
    "v1": "memory",
    "manifest": "gcs",
    "magic": "s3-versioned",
    "gen2": "gen2",
    "minio": "minio",
}
WITH_UPLOADS = ("magic", "minio")
LIKE = {"1": "1", "1.1": "1.1", "1.2": "1.2", "1.3": "1.2", "1.4": "1.2"}
LEFT_ON = [name for name, family in FAMILIES.items() if can_be_left(family)]
OLD = (f"day=1/old-{UUID}.txt", f"day=2/old-{UUID}.txt")
NEW = ("new.txt",)
OF_EARLIER = ("day=1/same.txt", "day=9/other.txt", "other.txt", "same.txt")
STATES = {
    "begun": ("create", "/job.json", False),
    "with an attempt": ("create", "/manifests/0/", False),
    "claimed": ("create", "/claim-", False),
    "decided": ("create", "/decision", True),
    "published in part": ("rename complete", "/out/day=1/same", True),
    "published": ("create", "/published", True),
    "over": ("create", "/_commit/epoch-", True),
}
"""The last call of each, and whether the job counts."""
WITH_MARKER = {
    "prepared": ("create", "/_SUCCESS-", False),
    "whole": ("rename complete", "/out/_SUCCESS", True),
}
"""The same of one that leaves a marker."""
NEXT_TO_A_MARKER: tuple[tuple[Literal["none", "marker"], float], ...] = (
    ("none", 0.5),
    ("marker", 60.0),
)
"""What the next job leaves itself, and when the one before is resumed: before that, or after."""
WAYS: dict[str, dict[str, Any]] = {
    "unique": {},
    "exact": {"names": "exact"},
    "marked": {"marks": True},
}


def job_at(
    family: str, version: str, mode: Mode, old: Iterable[str] = (), **how: Any
) -> EarlierJob:
    """One in a bucket of its own."""
    kind, root = FAMILIES[family], StorePath("bucket/top/out")
    bucket = Bucket("bucket", kind.habits)
    for name in old:
        bucket.put(StorePath(f"{root}/{name}"), b"old", None, Expect.ANYTHING)
    plan = EarlierPlan(**{"version": version, "mode": mode, "calls": 0, **how})
    return EarlierJob(plan, 0, bucket, kind, root, "simulated://top/out")


def calls_of(job: EarlierJob) -> Iterator[tuple[str, str]]:
    """Each call, once it has been carried out."""
    for made in job.calls():
        made.carry_out()
        yield made.verb, made.path


def changes_of(job: EarlierJob) -> Iterator[str]:
    """Each call that changes something, as recordings have them."""
    before = standing(job)
    for verb, path in calls_of(job):
        now = standing(job)
        if now != before:
            yield f"{verb} {path}"
        before = now


def standing(job: EarlierJob) -> tuple[Any, ...]:
    bucket = job.bucket
    parts = {upload_id: {**one.parts} for upload_id, one in bucket.uploads.items()}
    return {**bucket.objects}, parts, {*bucket.directories}


def recorded(version: str, committer: str, mode: str) -> Recording:
    return Recording.read(RECORDED / version / f"{committer}-{mode}{ENDING}")


def alike(calls: Iterable[str], *, marker: bool) -> list[list[str]]:
    """Without ids, and maybe without markers; what goes at once, or as it is listed, sorted."""
    plain = []
    for call in calls:
        text = re.sub(r"/?\b(recorded|bucket)(/top)?/out/", "", call)
        text = re.sub(r"\d{8}T\d{6}-[0-9a-f]{16}", "JOB", text)
        text = re.sub(r"\b[0-9a-f]{16}([0-9a-f]{16})?\b", "ID", text)
        if marker or "_SUCCESS" not in text:
            plain.append(text)
    return [sorted(group) for _, group in groupby(plain, together)]


def together(call: str) -> str:
    verb = call.split(maxsplit=1)[0]
    if verb not in {"abort", "delete"}:
        return verb
    return call if call.endswith("/job.json") else "delete"  # That goes alone, before the rest.


@pytest.mark.parametrize("end", ["append", "overwrite", ABORTED])
@pytest.mark.parametrize("committer", AS_RECORDED)
@pytest.mark.parametrize("version", LIKE)
def test_they_make_the_calls_that_are_recorded(version: str, committer: str, end: str) -> None:
    """Those of later versions but for when the marker is prepared."""
    then, like = recorded(version, committer, end), LIKE[version]
    how: dict[str, Any] = {"marks": True, "aborts": end == ABORTED}
    mode: Mode = "overwrite" if end == "overwrite" else "append"
    job = job_at(AS_RECORDED[committer], like, mode, [*then.scene.old, "_SUCCESS"], **how)
    now = [*changes_of(job)]
    if committer == "v1":  # On disks and in memory files are written without a call of a store.
        now = [call for call in now if not call.startswith("finish ")]
    marker = version == like
    assert alike(now, marker=marker) == alike(then.calls, marker=marker)


@pytest.mark.parametrize("end", ["overwrite", "collected"])
@pytest.mark.parametrize("committer", AS_RECORDED)
@pytest.mark.parametrize("version", LIKE)
def test_their_records_have_the_form_of_those_that_are_recorded(
    version: str, committer: str, end: str
) -> None:
    """The only one with exact names that is recorded has its messages collected by the store."""
    then = records_in(
        (path.removeprefix("file "), said[0])
        for state in recorded(version, committer, end).states
        for path, said in state.items()
        if path.startswith("file ")
    )
    if end == "collected":
        then["job.json"]["tasks"] = None
    names = "exact" if end == "collected" else "unique"
    mode: Mode = "append" if end == "collected" else "overwrite"
    how: dict[str, Any] = {"marks": True, "names": names}
    job = job_at(AS_RECORDED[committer], LIKE[version], mode, ["old.txt", "_SUCCESS"], **how)
    calls = calls_of(job)
    now = records_in(
        (path, job.bucket.objects[StorePath(path)].data) for verb, path in calls if verb == "create"
    )
    kinds = {"job.json", "manifest", "claim", "decision", "published"}
    assert now.keys() == then.keys() == kinds | ({"upload"} if committer in WITH_UPLOADS else set())
    for kind, record in now.items():
        assert form(record) == form(then[kind]), kind
    said = {key: now["job.json"][key] for key in ("committer", "capabilities", "names")}
    assert said == {key: then["job.json"][key] for key in said}


@pytest.mark.parametrize("family", FAMILIES)
def test_each_has_the_committer_that_this_version_chooses(family: str) -> None:
    """The first release has chosen by the same facts; it is recorded for five stores only."""
    job = job_at(family, "1", "append")
    assert job.committer == choose(FAMILIES[family].capabilities).committer


def records_in(files: Iterable[tuple[str, str | bytes]]) -> dict[str, dict[str, Any]]:
    """By their kind, one of each."""
    kinds = ((kind, data) for path, data in files if (kind := kind_of(path)) and data)
    found = {kind: json.loads(data) for kind, data in kinds}
    return {kind: record for kind, record in found.items() if "filenames" not in record}


def kind_of(path: str) -> str | None:
    if re.search(r"/uploads/|/_SUCCESS-", path):
        return "upload"
    if "/manifests/" in path:
        return "manifest"
    named = re.search(r"/_commit/[^/]+/(job\.json|claim|decision|published)(?:-\w+)?$", path)
    return None if named is None else named[1]


def form(said: Any) -> Any:
    """What is in a record, but for texts and numbers that differ from job to job."""
    if isinstance(said, dict):
        return [(key, form(value)) for key, value in said.items()]
    return [form(said[0])] if isinstance(said, list) and said else type(said)


def well(plan: Plan) -> Run:
    found = run(plan)
    assert not found.violations, found
    return found


def left(family: str, version: str, mode: Mode, state: str, **how: Any) -> EarlierPlan:
    """One that has died in that state."""
    verbs, path, _ = {**STATES, **WITH_MARKER}[state]
    plan = EarlierPlan(version=version, mode=mode, calls=0, **how)
    made = enumerate(calls_of(job_at(family, version, mode, OLD, **how)), 1)
    calls = next(n for n, call in made if call[0] in verbs.split() and path in call[1])
    return replace(plan, calls=calls)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("version", VERSIONS)
def test_p1_p5_what_is_left_counts_if_it_has_decided(version: str, state: str) -> None:
    """Beside jobs that add: who cleans by age aborts what is open, and leaves others the rest."""
    *_, counts = STATES[state]
    for family in LEFT_ON:
        jobs = tuple(
            JobPlan(name=name, mode="append", files=(NEW,), at_s=at_s)
            for name, at_s in (("a", 0.0), ("b", 20.0))
        )
        plan = Plan(
            family=family,
            jobs=jobs,
            earlier=(left(family, version, "append", state),),
            cleaners=(CleanerPlan(at_s=10, older_than_s=3_600.0),),
        )
        found = well(plan)
        assert found.told == Counter({"commit returned": 2, "resume returned": counts}), found
        assert found.visible == tuple(sorted((*(OF_EARLIER if counts else ()), *NEW, *NEW)))


@pytest.mark.parametrize("state", [*STATES, *WITH_MARKER])
@pytest.mark.parametrize("version", VERSIONS)
def test_p1_p5_a_marker_is_left_by_what_has_decided_and_by_who_comes_after(
    version: str, state: str
) -> None:
    """One that adds beside it leaves it one, or its own: P1 says of each when it may stand."""
    *_, counts = {**STATES, **WITH_MARKER}[state]
    job = JobPlan(name="a", mode="append", files=(NEW,), at_s=5.0)
    for family in LEFT_ON:
        for success, resumed_s in NEXT_TO_A_MARKER:
            earlier = left(family, version, "append", state, marks=True)
            plan = Plan(
                family=family,
                jobs=(replace(job, success=success),),
                earlier=(replace(earlier, resumed_s=resumed_s if counts else None),),
                cleaners=(CleanerPlan(at_s=10, older_than_s=3_600.0),),
            )
            found = well(plan)
            assert found.told == Counter({"commit returned": 1, "resume returned": counts}), found
            assert found.visible == tuple(sorted((*(OF_EARLIER if counts else ()), *NEW)))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("version", VERSIONS)
def test_p9_p11_who_overwrites_waits_for_what_has_claimed_and_replaces_it(
    version: str, state: str, way: str
) -> None:
    """Until it is resumed, or goes by its age; where it may replace files of such names."""
    *_, counts = STATES[state]
    job = JobPlan(name="a", mode="overwrite", files=(NEW,))
    for family in LEFT_ON:
        if way == "exact" and not FAMILIES[family].takes_any_name:
            continue
        resumed_s = 8.0 if counts else None
        earlier = left(family, version, "overwrite", state, resumed_s=resumed_s, **WAYS[way])
        cleaners = () if counts else (CleanerPlan(at_s=8, older_than_s=3_600.0),)
        plan = Plan(family=family, old=OLD, jobs=(job,), earlier=(earlier,), cleaners=cleaners)
        found = well(plan)
        assert found.told == Counter({"commit returned": 1, "resume returned": counts}), found
        assert found.visible == NEW


@pytest.mark.parametrize("version", VERSIONS)
def test_p5_p10_what_is_left_of_an_abort_or_an_end_goes(version: str) -> None:
    """After each of its calls; whoever commits meanwhile does so as if nothing were there."""
    job = JobPlan(name="a", mode="append", files=(NEW,))
    for family in LEFT_ON:
        for aborts, since in ((True, "/decision"), (False, "/published")):
            made = calls_of(job_at(family, version, "append", aborts=aborts))
            paths = [path for _, path in made]
            first = next(n for n, path in enumerate(paths, 1) if path.endswith(since))
            for calls in range(first, len(paths) + 1):
                earlier = EarlierPlan(version=version, mode="append", calls=calls, aborts=aborts)
                found = well(Plan(family=family, jobs=(job,), earlier=(earlier,)))
                assert found.told["commit returned"] == 1, found
                assert found.visible == (NEW if aborts else tuple(sorted((*OF_EARLIER, *NEW))))


@pytest.mark.parametrize("state", ["claimed", "decided"])
def test_p11_whoever_passed_the_claim_of_an_earlier_version_would_be_found(
    monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """Its name says nothing of what it claims; one who took that for no claim would not wait."""
    job = JobPlan(name="a", mode="overwrite", files=(NEW,), wait_s=5.0, then="leave")
    for family in LEFT_ON:
        earlier = left(family, "1", "append", state, resumed_s=60.0)
        plan = Plan(family=family, jobs=(job,), earlier=(earlier,))
        assert well(plan).told["commit not_committed"] == 1
        with monkeypatch.context() as patch:
            trust_any_name(patch)
            found = run(plan)
            assert found.told["commit not_committed"] == 0, family
            assert state == "claimed" or found.violations, family


def test_what_has_nothing_to_do_with_a_failure_is_left_out_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trust_any_name(monkeypatch)
    decided, begun = (left("gcs", "1", "append", state) for state in ("decided", "begun"))
    job = JobPlan(name="a", mode="overwrite", files=(NEW,))
    failed = run(Plan(family="gcs", jobs=(job,), earlier=(decided, begun)))
    assert failed.violations
    assert shrink(failed).plan.earlier == (decided,)
