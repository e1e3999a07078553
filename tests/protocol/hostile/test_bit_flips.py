"""A record in which any one bit has changed: it is refused, or does no harm.

Records of a job are canonical JSON without a checksum. Of a manifest and of the lists beside a
decision a digest stands elsewhere, and whoever reads them compares it. In all other records a flip
that makes another valid value is believed: which fields those can be, and what becomes of it, is
`BELIEVED`. No wrong file is shown, and none is lost; what is not found out is what `OTHERS` says:
there the store's own checksums are all that there is, and the page on guarantees says so.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.protocol.hostile.bit_flips import believed, kind_of
from tests.protocol.hostile.cases import Case
from tests.protocol.hostile.decoding import Written, written_records
from tests.protocol.hostile.worlds import KINDS, OLD, TASKS
from tests.sweeps import some_by_day

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.testing.sweeps import Sweep
    from tests.protocol.hostile.worlds import World

NOTHING = "it means nothing but that no other record has the same bytes"
SHOWN = "it is shown to people, and used for nothing"
OWN = "the driver has its own record in memory; who settles the job reads the decision"
DIGEST = "the digest of the whole record, in the decision or in the task's message, is another"
COMPARED = "it is compared with the manifest that it names, whose digest stands beside it"
OTHERS = "others are misled until this job is over: one that overlaps may not wait for it (P11)"
BELIEVED = {
    "job.json": {
        "nonce": NOTHING,
        "destination": SHOWN,
        "host": SHOWN,
        "tasks": OWN,
        "partitions": OWN,
        "key_digest": "whoever resumes the job compares it with that of the decision's claim",
    },
    "claim": {"partitions": OTHERS, "key_digest": OTHERS},
    "decision": {
        "nonce": "it is compared with that of `published`; until that stands, it means nothing",
        "by": SHOWN,
        "claim.nonce": "the list of replaced files is named after it, and is not found",
        "claim.partitions": OTHERS,
        "claim.key_digest": OTHERS,
        "chosen.task_id": COMPARED,
        "chosen.attempt_id": COMPARED,
        "chosen.file_count": COMPARED,
        "chosen.bytes": COMPARED,
        "chosen.manifest": COMPARED,
        "chosen.digest": COMPARED,
        "chosen_list.nonce": "the list is named after it, and is not found",
        "chosen_list.count": "it is compared with the list",
        "chosen_list.digest": "it is compared with the list",
        "replaced.count": "it is compared with the list",
        "replaced.digest": "it is compared with the list",
        "success.size": "it is compared with the prepared marker, which is then missing",
        "success.token": "it is compared with the prepared marker, which is then missing",
    },
    "published": {
        "nonce": NOTHING,
        "decision": "it is compared with the decision",
        "lost": "files are said to be lost: all old ones stay, no marker is written, and a warning "
        "says so",
    },
    "chosen": {
        "nonce": NOTHING,
        "message.file_count": COMPARED,
        "message.bytes": COMPARED,
        "message.digest": COMPARED,
    },
    "upload": {
        "nonce": NOTHING,
        "name": "no such upload is pending, so that the real one is not known by it",
        "upload_id": "no such upload is pending, so that the real one is not known by it",
    },
    "manifest": {"extraData.nonce": DIGEST, "files.z": DIGEST, "files.e": DIGEST},
    "pending set": {
        "extraData.nonce": DIGEST,
        "commits.uploadId": DIGEST,
        "commits.etags.etag": DIGEST,
        "commits.extraData.nonce": DIGEST,
    },
}
"""By kind of record: in which fields a flip may be believed, and why that shows nothing wrong."""
WHERE = {"manifest": "v1, overwrite", "pending set": "magic, exact", "upload": "magic, exact"}
"""In which world one record of that kind is enough; of others one of each job of `v1`."""
SETTLES = ("resume", "drive", "abort", "clean")


def of_kind(kind: str, worlds: list[World]) -> Iterator[Written]:
    """One record of each form of a kind."""
    seen = set[str]()
    for record in written_records(worlds):
        job = record.world.name.partition(", look")[0]
        if kind_of(record) == kind and job.startswith(WHERE.get(kind, "v1")) and job not in seen:
            seen.add(job)
            yield record


@pytest.mark.guarantees("P10")
@pytest.mark.parametrize("kind", BELIEVED)
def test_p10_of_every_single_bit_that_is_not_refused_it_is_known_what_it_does(
    kind: str, spoiled: list[World]
) -> None:
    found = set[str]()
    for record in of_kind(kind, spoiled):
        found.update(believed(record))
    assert found == BELIEVED[kind].keys()


def moments(worlds: list[World]) -> list[World]:
    """Of each job the last world before its claim, with its decision, and when all is in place."""
    found: dict[str, World] = {}
    for world in worlds:
        names = {path.removeprefix(f"{world.area}/").partition("-")[0] for path in world.records()}
        if "job.json" in names:
            state = [one for one in ("claim", "decision", "published") if one in names]
            found[f"{world.name.partition(', look')[0]}: {state[-1:]}"] = world
    return [*found.values()]


def committer_of(world: World) -> str:
    return world.name.rsplit(", ", 2)[0]


def settled(world: World, call: str) -> tuple[Case, BaseException | None, dict[str, bytes]]:
    case = Case(0, [world])
    error = case.call(call)
    return case, error, {name: one.data for name, one in world.visible().items()}


def keys_of(world: World) -> set[str]:
    """Which idempotency keys count as committed."""
    return {path for path in world.bucket.objects if path.startswith(f"{world.root}/_commit/done/")}


@pytest.mark.guarantees("P8", "P10")
def test_p8_p10_who_resumes_a_job_notes_the_key_that_it_decided_with(spoiled: list[World]) -> None:
    """A bit of the key in `job.json` had another one noted, and the job could run again."""
    decided = [world for world in moments(spoiled) if f"{world.area}/decision" in world.records()]
    keyed = [world for world in decided if ", overwrite," in world.name]
    assert keyed
    for world in keyed:
        [spec] = [one for one in written_records([world]) if one.name == "job.json"]
        for data in believed(spec)["key_digest"][:3]:
            check_settled(spec, "key_digest", data, "resume")


@some_by_day(40)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.guarantees("P9", "P10")
@pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")
def test_p9_p10_a_single_bit_shows_no_wrong_output(
    kind: str, spoiled: list[World], sweep: Sweep
) -> None:
    """A flip of each field of a record that is believed, before each of those who settle a job."""
    random = Random(sweep.every)
    worlds = [world for world in moments(spoiled) if committer_of(world) == kind]
    found = (one for world in worlds for one in written_records([world]))
    for record in sweep(one for one in found if kind_of(one)):
        for field, flips in believed(record).items():
            for call in SETTLES:
                check_settled(record, field, random.choice(flips), call)


def check_settled(record: Written, field: str, data: bytes, call: str) -> None:
    """What is settled is as without the flip, or it is refused; nothing is lost in either case."""
    old, new = {*OLD.values()}, {data for task in TASKS for data in task.values()}
    world, what = record.world, (record.world.name, record.name, field, data, call)
    world.restore()
    _, error_without, without = settled(world, call)
    keys = keys_of(world)
    world.restore()
    world.write(f"{world.area}/{record.name}", data)
    others, uploads = world.of_others(), world.uploads_of_others()
    case, error, seen = settled(world, call)
    assert error is None or isinstance(error, fc.CommitError), (what, error)
    assert others.items() <= world.of_others().items(), what
    assert uploads.items() <= world.uploads_of_others().items(), what
    there = {*seen.values()}
    assert there <= old | new, what
    assert old <= there or new <= there, what
    if field == "lost" and isinstance(case.result, fc.CommitResult):
        assert any(warning.startswith("lost: ") for warning in case.result.warnings), what
        assert without.items() <= seen.items(), what
    elif error is None and error_without is None:
        assert seen == without, what
        assert keys_of(world) == keys, what
