"""Jobs of earlier versions, left at any of their calls, beside jobs of this one."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import pytest

from fsspec_commit.layout import StorePath
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
from tests.protocol.versions.states import ENDING, RECORDED, Recording
from tests.protocol.versions.test_two_at_once import trust_any_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Mode = Literal["append", "overwrite"]
AS_RECORDED = {"v1": "memory", "manifest": "gcs", "magic": "s3-versioned"}
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
    "published in part": ("rename complete", "/out/day=1/same-", True),
    "published": ("create", "/published", True),
    "over": ("create", "/_commit/epoch-", True),
}
"""The last call of each, and whether the job counts."""


def job_at(
    family: str, version: str, mode: Mode, old: Iterable[str] = (), **how: Any
) -> EarlierJob:
    """One in a bucket of its own."""
    kind, root = FAMILIES[family], StorePath("bucket/top/out")
    bucket = Bucket("bucket", kind.habits)
    for name in old:
        bucket.put(StorePath(f"{root}/{name}"), b"old", None, Expect.ANYTHING)
    plan = EarlierPlan(version=version, mode=mode, calls=0, **how)
    return EarlierJob(plan, 0, bucket, kind, root, "simulated://top/out")


def calls_of(job: EarlierJob) -> Iterator[tuple[str, str]]:
    """Each call, once it has been carried out."""
    for made in job.calls():
        made.carry_out()
        yield made.verb, made.path


def recorded(version: str, committer: str, mode: str) -> Recording:
    return Recording.read(RECORDED / version / f"{committer}-{mode}{ENDING}")


def alike(calls: Iterable[str]) -> list[list[str]]:
    """Without markers and ids; what goes in the order of a listing, sorted."""
    plain = []
    for call in calls:
        text = re.sub(r"/?\b(recorded|bucket)(/top)?/out/", "", call)
        text = re.sub(r"\d{8}T\d{6}-[0-9a-f]{16}", "JOB", text)
        text = re.sub(r"\b[0-9a-f]{16}([0-9a-f]{16})?\b", "ID", text)
        if "_SUCCESS" not in text:
            plain.append(text)
    return [sorted(group) for _, group in groupby(plain, lambda call: call.split()[0])]


@pytest.mark.parametrize("mode", ["append", "overwrite"])
@pytest.mark.parametrize("committer", AS_RECORDED)
@pytest.mark.parametrize("version", LIKE)
def test_they_make_the_calls_that_are_recorded(version: str, committer: str, mode: Mode) -> None:
    then = recorded(version, committer, mode)
    job = job_at(AS_RECORDED[committer], LIKE[version], mode, then.scene.old)
    now = [f"{verb} {path}" for verb, path in calls_of(job)]
    if committer == "v1":  # On disks and in memory files are written without a call of a store.
        now = [call for call in now if not call.startswith("finish ")]
    assert alike(now) == alike(then.calls)


@pytest.mark.parametrize("committer", AS_RECORDED)
@pytest.mark.parametrize("version", LIKE)
def test_their_records_have_the_form_of_those_that_are_recorded(
    version: str, committer: str
) -> None:
    then = {
        kind_of(path): json.loads(said[0])
        for state in recorded(version, committer, "overwrite").states
        for path, said in state.items()
        if path.startswith("file ") and is_record(path)
    }
    job = job_at(AS_RECORDED[committer], LIKE[version], "overwrite", ["old.txt"])
    now = {
        kind_of(path): json.loads(job.bucket.objects[StorePath(path)].data)
        for verb, path in calls_of(job)
        if verb == "create" and is_record(path)
    }
    assert now.keys() == then.keys() == {"job.json", "manifest", "claim", "decision", "published"}
    for kind, record in now.items():
        assert form(record) == form(then[kind]), kind


def is_record(path: str) -> bool:
    return (
        re.search(r"/(job\.json|manifests/\d+/\w+|claim-\w+|decision|published)$", path) is not None
    )


def kind_of(path: str) -> str:
    last = path.rpartition("/")[2]
    return "manifest" if "/manifests/" in path else last.partition("-")[0]


def form(said: Any) -> Any:
    """What is in a record, but for texts and numbers that differ from job to job."""
    if isinstance(said, dict):
        # The recorded jobs write a marker, and these do not.
        return [(key, form(value)) for key, value in said.items() if "success" not in key]
    return [form(said[0])] if isinstance(said, list) and said else type(said)


def well(plan: Plan) -> Run:
    found = run(plan)
    assert not found.violations, found
    return found


def left(family: str, version: str, mode: Mode, state: str, **how: Any) -> EarlierPlan:
    """One that has died in that state."""
    verbs, path, _ = STATES[state]
    made = enumerate(calls_of(job_at(family, version, mode, OLD)), 1)
    calls = next(n for n, call in made if call[0] in verbs.split() and path in call[1])
    return EarlierPlan(version=version, mode=mode, calls=calls, **how)


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


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("version", VERSIONS)
def test_p9_p11_who_overwrites_waits_for_what_has_claimed_and_replaces_it(
    version: str, state: str
) -> None:
    """Until it is resumed, or goes by its age."""
    *_, counts = STATES[state]
    job = JobPlan(name="a", mode="overwrite", files=(NEW,))
    for family in LEFT_ON:
        earlier = left(family, version, "overwrite", state, resumed_s=8.0 if counts else None)
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
