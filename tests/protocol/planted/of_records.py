"""Planted bugs: records that are believed though somebody else wrote them, or that are too long.

No simulated run has anybody who forges a record, or so much to write down: another test fails with
each of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fsspec_commit import names, records
from fsspec_commit.effects.confirmed.reads import StoreReads
from fsspec_commit.protocol import check, claim, messages
from fsspec_commit.protocol.chosen import ChosenTasks
from fsspec_commit.records import entries
from fsspec_commit.records.job import Claim, Decision, Published
from fsspec_commit.store import Unusable
from tests.protocol.planted.bug import Bug

if TYPE_CHECKING:
    import pytest


def believes_published_of_another_decision(patch: pytest.MonkeyPatch) -> None:
    """Whose files are not in place: the old ones are deleted, and the new ones with the area."""
    patch.setattr(Published, "check_decision", lambda *_: None)


def notes_another_key(patch: pytest.MonkeyPatch) -> None:
    """So that the job can run again with the key that it has committed with."""
    patch.setattr(Decision, "check_key", lambda *_: None)


def takes_decisions_of_other_jobs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Decision, "check_path", lambda *_: None)


def takes_records_in_any_form(patch: pytest.MonkeyPatch) -> None:
    """What encoding would not have written: two readers may see two records in it."""

    def decode(cls: Any, data: bytes) -> Any:
        return records.decode_strictly(data, cls, cls.limit_bytes)

    patch.setattr(records.JsonRecord, "decode", classmethod(decode))


def has_one_limit_for_all_records(patch: pytest.MonkeyPatch) -> None:
    real = records.decode_strictly

    def decode(data: bytes, kind: Any, _: int) -> Any:
        return real(data, kind, records.RECORD_BYTES_MAX)

    patch.setattr(records, "decode_strictly", decode)


def stops_at_what_is_nobodys(patch: pytest.MonkeyPatch) -> None:
    """A link or a pipe among the areas ends every listing of them."""
    real = StoreReads.list_area

    async def listed(self: Any, path: Any) -> Any:
        found = await real(self, path)
        for child in found:
            if isinstance(child, Unusable):
                raise child.refusal
        return found

    patch.setattr(StoreReads, "list_area", listed)


def takes_any_name(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(names, "_PLAIN", re.compile("(?s:.*)"))


def keeps_all_messages_in_its_decision(patch: pytest.MonkeyPatch) -> None:
    """Of some 240,000 tasks it is longer than a record may be, when all the work is done."""

    async def held(job: Any, batches: Any) -> ChosenTasks:
        chosen = tuple([one async for batch in batches for one in batch])
        return ChosenTasks(job, len(chosen), chosen)

    patch.setattr(check, "list_chosen", held)


def names_each_missing_task(patch: pytest.MonkeyPatch) -> None:
    real = messages.MissingTasks.add
    missing = list[int]()

    def add(self: Any, run: range) -> None:
        missing.extend(run[:200_000])
        real(self, run)

    patch.setattr(messages.MissingTasks, "add", add)


def claims_more_than_a_record_holds(patch: pytest.MonkeyPatch) -> None:
    real = claim.claim_of

    def claim_of(record: Any, written: Any, *what: Any, **how: Any) -> Claim:
        touched = tuple(sorted({*written, *record.partitions}))
        made = real(record, written, *what, **how)
        return made if made.partitions is not None else _with(made, touched)

    patch.setattr(claim, "claim_of", claim_of)


def _with(made: Claim, touched: tuple[str, ...]) -> Claim:
    fields = {name: getattr(made, name) for name in made.__struct_fields__}
    return Claim(**{**fields, "partitions": touched})


def decodes_a_manifest_whole(patch: pytest.MonkeyPatch) -> None:
    """HADOOP-16570, MAPREDUCE-7435: a driver that holds all of what its tasks have written."""
    patch.setattr(entries, "PIECE_BYTES", 1 << 30)
    patch.setattr(entries, "_BATCH_MAX", 1 << 30)


_FLAT = "tests/contract/test_flat.py::TestFlatJobs::test_records_that_do_not_belong_together"
_MANY = "tests/protocol/test_many_tasks.py::"
BUGS = {
    "believes published of another decision": Bug(believes_published_of_another_decision),
    "notes another key": Bug(notes_another_key),
    "takes decisions of other jobs": Bug(takes_decisions_of_other_jobs),
    "takes records in any form": Bug(takes_records_in_any_form),
    "has one limit for all records": Bug(has_one_limit_for_all_records),
    "stops at what is nobody's": Bug(stops_at_what_is_nobodys),
    "takes any name": Bug(takes_any_name),
    "keeps all messages in its decision": Bug(keeps_all_messages_in_its_decision),
    "names each missing task": Bug(names_each_missing_task),
    "claims more than a record holds": Bug(claims_more_than_a_record_holds),
    "decodes a manifest whole": Bug(decodes_a_manifest_whole),
}
HELD_BY = {
    "believes published of another decision": f"{_FLAT}[published_of_another_decision-gcs]",
    "notes another key": (
        "tests/protocol/hostile/test_bit_flips.py"
        "::test_p8_p10_who_resumes_a_job_notes_the_key_that_it_decided_with"
    ),
    "takes decisions of other jobs": f"{_FLAT}[decision_of_another_job-gcs]",
    "takes records in any form": (
        "tests/protocol/hostile/test_hostile_records.py"
        "::TestHostileRecords::test_p10_a_decoder_refuses_what_it_would_not_write"
    ),
    "has one limit for all records": (
        "tests/unit/records/test_limits.py::test_every_record_has_a_limit_of_its_own"
    ),
    "stops at what is nobody's": (
        "tests/integration/test_odd_areas.py::test_what_is_nobodys_is_in_nobodys_way"
    ),
    "takes any name": "tests/unit/test_names.py::test_a_target_never_leaves_the_destination",
    "keeps all messages in its decision": f"{_MANY}test_many_tasks_stand_beside_it",
    "names each missing task": f"{_MANY}test_what_is_missing_is_said_in_little_memory",
    "claims more than a record holds": (
        f"{_MANY}test_partitions_that_make_a_claim_too_long_claim_the_whole"
    ),
    "decodes a manifest whole": (
        "tests/unit/records/test_entries.py"
        "::test_a_record_of_4_000_files_takes_little_beside_its_bytes"
    ),
}
