"""Records are canonical: whatever is decoded is what encoding wrote, or it is refused."""

from __future__ import annotations

import json
import pickle
import traceback
import tracemalloc
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fsspec_commit.errors import RecordError
from fsspec_commit.records import JsonRecord, decode_strictly
from fsspec_commit.records.job import (
    MODES,
    ChosenRecord,
    Claim,
    Decision,
    FileIdentity,
    JobRecord,
    Published,
    ReplacedFile,
    ReplacedList,
    TaskCommit,
)
from fsspec_commit.spec import JobSpec

NONCE = "0123456789abcdef" * 2
JOB = "20261120T140355-9c1e5f00a1b2c3d4"
DIGEST = "0123456789abcdef" * 4
MESSAGE = TaskCommit(
    task_id=3,
    attempt_id="0123456789abcdef",
    file_count=2,
    bytes=7,
    manifest=f"{JOB}/manifests/3/0123456789abcdef",
    digest=DIGEST,
)
CLAIM = Claim(nonce=NONCE, job_id=JOB, mode="append", names="unique", partitions=("day=1", ""))
RECORDS: tuple[JsonRecord, ...] = (
    JobRecord(nonce=NONCE, job_id=JOB, destination="s3://b/t", committer="v1", mode="append"),
    ChosenRecord(nonce=NONCE, message=MESSAGE),
    CLAIM,
    Decision(nonce=NONCE, job_id=JOB, state="aborted", by="host"),
    Decision(
        nonce=NONCE,
        job_id=JOB,
        state="committed",
        claim=CLAIM,
        chosen=(MESSAGE,),
        replaced=ReplacedList(count=1, digest=DIGEST),
        success=FileIdentity(size=0, token="t"),
    ),
    Published(nonce=NONCE, job_id=JOB, decision=NONCE, lost=1),
)
KINDS: tuple[type[JsonRecord], ...] = (JobRecord, ChosenRecord, Claim, Decision, Published)
by_kind = pytest.mark.parametrize(
    "record", RECORDS, ids=["job", "chosen", "claim", "aborted", "committed", "published"]
)

Json: TypeAlias = Any
TEXT = st.text(max_size=20)
NONCES = st.binary(min_size=16, max_size=16).map(bytes.hex)
DIGESTS = st.binary(min_size=32, max_size=32).map(bytes.hex)
ATTEMPTS = st.binary(min_size=8, max_size=8).map(bytes.hex)
TIMES = st.integers(min_value=0, max_value=1 << 32).map(lambda s: datetime.fromtimestamp(s, UTC))
JOBS = st.builds("{:%Y%m%dT%H%M%S}-{}".format, TIMES, ATTEMPTS)
COUNTS = st.integers(min_value=0, max_value=(1 << 63) - 1)
PLAIN_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
MESSAGES = st.builds(
    TaskCommit,
    task_id=st.integers(min_value=0, max_value=(1 << 31) - 1),
    attempt_id=ATTEMPTS,
    file_count=COUNTS,
    bytes=COUNTS,
    manifest=PLAIN_TEXT,
    digest=DIGESTS,
    chosen=st.none() | st.booleans(),
)
CLAIMS = st.builds(
    Claim,
    nonce=NONCES,
    job_id=JOBS,
    mode=st.sampled_from(MODES),
    names=st.sampled_from(["unique", "exact"]),
    partitions=st.none() | st.lists(PLAIN_TEXT, max_size=4).map(tuple),
    reusable_names=st.booleans(),
    key_digest=st.none() | DIGESTS,
)
IDENTITIES = st.none() | st.builds(FileIdentity, size=COUNTS, token=PLAIN_TEXT)
ANY_RECORD: st.SearchStrategy[JsonRecord] = st.one_of(
    CLAIMS,
    st.builds(ChosenRecord, nonce=NONCES, message=MESSAGES),
    st.builds(Published, nonce=NONCES, job_id=JOBS, decision=NONCES, lost=COUNTS),
    st.builds(
        JobRecord,
        nonce=NONCES,
        job_id=JOBS,
        destination=PLAIN_TEXT,
        committer=st.sampled_from(["v1", "manifest", "magic"]),
        mode=st.sampled_from(MODES),
        partitions=st.lists(PLAIN_TEXT, max_size=3).map(tuple),
        tasks=st.none() | st.integers(min_value=1, max_value=(1 << 31) - 1),
        allow_empty=st.booleans(),
        host=PLAIN_TEXT,
    ),
    st.builds(
        Decision,
        nonce=NONCES,
        job_id=JOBS,
        state=st.sampled_from(["committed", "aborted"]),
        by=PLAIN_TEXT,
        claim=st.none() | CLAIMS,
        chosen=st.lists(MESSAGES, max_size=3).map(tuple),
        success=IDENTITIES,
        stale_success=IDENTITIES,
    ),
)


@given(ANY_RECORD)
def test_a_record_comes_back(record: JsonRecord) -> None:
    data = record.encode()
    assert type(record).decode(data) == record
    assert type(record).decode(data).encode() == data
    assert json.loads(data) == json.loads(json.dumps(msgspec.to_builtins(record)))


@by_kind
def test_a_record_says_its_format_and_version(record: JsonRecord) -> None:
    fields = json.loads(record.encode())
    assert list(fields)[:2] == ["format", "version"]
    assert fields["format"].startswith("fsspec_commit.")
    assert fields["version"] == 1
    assert fields["nonce"] == NONCE


@given(st.binary(max_size=200) | TEXT.map(lambda text: text.encode(errors="surrogatepass")))
@example(b"")
@example(b"null")
@example(b"[]")
@example(b"{}")
@example(b"\xff\xfe")
@example(b"\xef\xbb\xbf{}")
def test_any_bytes_are_refused_by_type(data: bytes) -> None:
    for kind in KINDS:
        with pytest.raises(RecordError):
            kind.decode(data)


@given(st.data())
def test_a_damaged_record_is_refused_or_equal(data: st.DataObject) -> None:
    record = data.draw(st.sampled_from(RECORDS))
    good = record.encode()
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, min(len(good), start + 8)))
    damaged = good[:start] + data.draw(st.binary(max_size=8)) + good[end:]
    try:
        read = type(record).decode(damaged)
    except RecordError:
        return
    assert read.encode() == damaged


def fields_of(record: JsonRecord) -> dict[str, Json]:
    fields: dict[str, Json] = json.loads(record.encode())
    return fields


def compact(fields: Json) -> bytes:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode(
        errors="surrogatepass"
    )


def refusals(record: JsonRecord) -> dict[str, bytes]:
    """What is nearly right, by what is wrong with it."""
    good, fields = record.encode(), fields_of(record)
    first, *rest = fields.items()
    return {
        "an unknown field": compact(fields | {"extra": 1}),
        "a duplicate key": good[:-1] + b',"version":1}',
        "a duplicate key in front": b'{"nonce":"' + NONCE.encode() + b'",' + good[1:],
        "white space": json.dumps(fields).encode(),
        "a line feed at the end": good + b"\n",
        "white space in front": b" " + good,
        "another order": compact(dict([*rest, first])),
        "a missing field": compact({k: v for k, v in fields.items() if k != "nonce"}),
        "another format": compact(fields | {"format": "fsspec_commit.Other"}),
        "a later version": compact(fields | {"version": 2}),
        "a version that is no integer": compact(fields | {"version": 1.0}),
        "a version that is text": compact(fields | {"version": "1"}),
        "a huge version": compact(fields | {"version": 10**400}),
        "NaN": good.replace(b'"version":1', b'"version":NaN'),
        "infinity": good.replace(b'"version":1', b'"version":1e999'),
        "an exponent": good.replace(b'"version":1', b'"version":1e0'),
        "a plus sign": good.replace(b'"version":1', b'"version":+1'),
        "a leading zero": good.replace(b'"version":1', b'"version":01'),
        "an escaped letter": good.replace(b"fsspec_commit", b"fsspec_c\\u006fmmit"),
        "a short nonce": compact(fields | {"nonce": NONCE[1:]}),
        "a nonce with a line feed": compact(fields | {"nonce": NONCE + "\n"}),
        "a nonce in capitals": compact(fields | {"nonce": NONCE.upper()}),
        "a lone surrogate": compact(fields | {"nonce": "\ud800" * 32}),
        "an escaped lone surrogate": good.replace(NONCE.encode(), b"\\ud800" * 32),
        "invalid UTF-8": good.replace(b"fsspec_commit", b"fsspec_\xc3\x28mmit"),
        "an array": compact(list(fields.values())),
        "two records": good + good,
        "half a record": good[: len(good) // 2],
        "a depth bomb": b"[" * 100_000,
        "a depth bomb in a field": good[:-1] + b',"x":' + b'{"a":' * 100_000,
        "a closed depth bomb": good[:-1] + b',"x":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    }


@by_kind
@pytest.mark.parametrize("what", refusals(RECORDS[0]))
def test_what_encoding_does_not_write_is_refused(record: JsonRecord, what: str) -> None:
    hostile = refusals(record)[what]
    assert hostile != record.encode()
    with pytest.raises(RecordError):
        type(record).decode(hostile)


@pytest.mark.parametrize(
    "job_id", [JOB + "\n", "\u0662" * 8 + JOB[8:], JOB[:-1], JOB.upper(), f"../{JOB}", ""]
)
def test_a_job_id_is_one_in_every_record(job_id: str) -> None:
    holding = [record for record in RECORDS if hasattr(record, "job_id")]
    assert len(holding) == 5
    for record in holding:
        with pytest.raises(RecordError):
            type(record).decode(compact(fields_of(record) | {"job_id": job_id}))


@pytest.mark.parametrize("count", [-1, 1 << 63, 1 << 64, 10**30, 1.0, 1.5, "1", True, None])
def test_counts_are_counts(count: object) -> None:
    published = fields_of(RECORDS[-1])
    with pytest.raises(RecordError):
        Published.decode(compact(published | {"lost": count}))


def test_an_error_is_short_however_long_the_input() -> None:
    with pytest.raises(RecordError) as caught:
        Claim.decode(compact(fields_of(CLAIM) | {"nonce": "x" * 1_000_000}))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("text", ["\x1b[2J", "evil\u202egnp", "a\nERROR: forged", "\x9b1m\x7f"])
@by_kind
def test_no_record_steers_the_terminal_that_shows_its_error(record: JsonRecord, text: str) -> None:
    """Nor does a traceback, which shows causes as well: a decoder repeats unknown fields."""
    for fields in ({text: 1}, {"format": text}, {"version": text}, {"nonce": text}):
        with pytest.raises(RecordError) as caught:
            type(record).decode(json.dumps(fields_of(record) | fields).encode())
        shown = "".join(traceback.format_exception(caught.value))
        assert shown.replace("\n", "").isprintable(), ascii(shown)
        assert "\nERROR" not in shown


class TestTaskCommit:
    def test_it_is_small_and_picklable(self) -> None:
        largest = TaskCommit(
            task_id=(1 << 31) - 1,
            attempt_id="f" * 16,
            file_count=(1 << 63) - 1,
            bytes=(1 << 63) - 1,
            manifest=f"{JOB}/manifests/{(1 << 31) - 1}/{'f' * 16}",
            digest=DIGEST,
            chosen=False,
        )
        assert len(largest.to_json()) < 1000
        assert len(pickle.dumps(largest)) < 1000
        assert pickle.loads(pickle.dumps(largest)) == largest
        assert hash(largest) == hash(pickle.loads(pickle.dumps(largest)))
        with pytest.raises(AttributeError):
            largest.task_id = 1  # type: ignore[misc]

    @given(MESSAGES)
    def test_it_comes_back_from_json(self, message: TaskCommit) -> None:
        assert TaskCommit.from_json(message.to_json()) == message

    @given(TEXT)
    @example("")
    @example("\ud800")
    @example('{"task_id":"\ud800"}')
    @example("[" * 100_000)
    def test_any_text_is_refused_by_type(self, text: str) -> None:
        with pytest.raises(RecordError):
            TaskCommit.from_json(text)

    def test_a_huge_text_is_refused_uncopied(self) -> None:
        text = "x" * (32 << 20)
        for kind in (TaskCommit, JobSpec):
            tracemalloc.start()
            try:
                with pytest.raises(RecordError, match="is over its cap of"):
                    kind.from_json(text)
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert peak < 1 << 20

    def test_whether_it_was_chosen_is_no_part_of_what_it_is(self) -> None:
        told = MESSAGE.told_chosen(chosen=True)
        assert told.chosen is True
        assert told.unbiased() == MESSAGE == MESSAGE.unbiased()

    def test_what_cannot_be_is_refused(self) -> None:
        fields = json.loads(MESSAGE.to_json())
        for wrong in (
            {"task_id": -1},
            {"task_id": 1 << 31},
            {"attempt_id": "../x"},
            {"attempt_id": "0123456789abcdef\n"},
            {"bytes": -1},
            {"digest": ""},
            {"manifest": "x" * 5000},
            {"other": 1},
        ):
            with pytest.raises(RecordError):
                TaskCommit.from_json(json.dumps(fields | wrong))


def test_a_line_of_the_replaced_list_is_an_array() -> None:
    line = ReplacedFile("day=1/a", 3, "token", False)
    assert msgspec.json.encode(line) == b'["day=1/a",3,"token",false]'
    assert decode_strictly(b'["day=1/a",3,"token",false]', ReplacedFile, 100) == line
    for odd in (b'["a",3,"t"]', b'["a",-1,"t",false]', b'{"name":"a"}', b'["a",3,"t",false,1]'):
        with pytest.raises(RecordError):
            decode_strictly(odd, ReplacedFile, 100)
