"""Each record has a limit of bytes: what is longer is refused unread, the longest real one fits."""

from __future__ import annotations

import tracemalloc

import pytest

from fsspec_commit.errors import RecordError
from fsspec_commit.protocol.chosen import INLINE_BYTES_MAX
from fsspec_commit.records import RECORD_BYTES_MAX, JsonRecord, decode_strictly
from fsspec_commit.records.job import (
    ChosenRecord,
    Claim,
    Decision,
    FileIdentity,
    JobRecord,
    Published,
    TaskCommit,
)
from fsspec_commit.records.upload import UploadRecord

NONCE = "0123456789abcdef" * 2
JOB = "20261120T140355-9c1e5f00a1b2c3d4"
KINDS: tuple[type[JsonRecord], ...] = (JobRecord, ChosenRecord, Claim, Decision, Published)


def test_a_record_over_its_cap_is_refused_unread() -> None:
    with pytest.raises(RecordError, match="over its cap"):
        decode_strictly(b"[" * 101, Published, 100)


@pytest.mark.parametrize(
    "hostile",
    [
        b'{"format":"' + b"x" * 4_000_000,
        b"[" * 4_000_000,
        b'{"a":' * 800_000,
        b'{"nonce":[' + b"0," * 2_000_000 + b"0]}",
        b'{"chosen":[' + b"{}," * 1_300_000 + b"{}]}",
        b'{"partitions":["' + b"\\u0000" * 600_000 + b'"]}',
        b'{"version":' + b"9" * 4_000_000 + b"}",
    ],
    ids=["text", "depth", "objects", "numbers", "structs", "escapes", "digits"],
)
def test_memory_stays_within_a_few_times_the_input(hostile: bytes) -> None:
    for kind in KINDS:
        tracemalloc.start()
        try:
            with pytest.raises(RecordError):
                kind.decode(hostile)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 4 * len(hostile), kind


@pytest.mark.parametrize("kind", KINDS)
def test_every_record_has_a_limit_of_its_own(kind: type[JsonRecord]) -> None:
    assert "limit_bytes" in vars(kind)
    assert kind.limit_bytes < RECORD_BYTES_MAX
    with pytest.raises(RecordError, match="over its cap"):
        kind.decode(b" " * (kind.limit_bytes + 1))


def test_the_longest_records_are_within_their_limits() -> None:
    text, count = "\x01" * 4096, (1 << 63) - 1
    message = TaskCommit(
        task_id=(1 << 31) - 1,
        attempt_id="0123456789abcdef",
        file_count=count,
        bytes=count,
        manifest=text,
        digest="0123456789abcdef" * 4,
        chosen=False,
    )
    longest: list[JsonRecord] = [
        ChosenRecord(nonce=NONCE, message=message),
        Published(nonce=NONCE, job_id=JOB, decision=NONCE, lost=count),
        UploadRecord(nonce=NONCE, job_id=JOB, name=text, upload_id=text),
    ]
    for record in longest:
        assert type(record).decode(record.encode()) == record
    identity = FileIdentity(size=count, token=text)
    beside = Decision(
        nonce=NONCE,
        job_id=JOB,
        state="committed",
        by=text,
        success=identity,
        stale_success=identity,
    )
    room = Decision.limit_bytes - Claim.limit_bytes - INLINE_BYTES_MAX
    assert len(beside.encode()) < room
