"""The list of an attempt's uploads: Hadoop's fields, and no way to name another key with them."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit.errors import RecordError, RequestError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import AttemptLayout, DestinationLayout, StorePath
from fsspec_commit.names import Target, target
from fsspec_commit.records.job import FileIdentity
from fsspec_commit.records.pending_set import (
    PendingFile,
    PendingSet,
    marker_identity,
    marker_upload,
)
from fsspec_commit.records.upload import UploadRecord
from fsspec_commit.store import Part, PendingUpload, Token

NONCE = "0123456789abcdef" * 2
JOB = "20261120T140355-9c1e5f00a1b2c3d4"
DESTINATION = DestinationLayout(StorePath("bucket/data sets/out"))
LAYOUT = DESTINATION.job(JOB).attempt(3, "0123456789abcdef")
CREATED = datetime(2026, 11, 21, 14, 3, 55, 123000, tzinfo=UTC)


def pending_file(name: str, *sizes: int, token: str = "etag", upload_id: str = "u1") -> PendingFile:
    checked = target(name)
    parts = tuple(
        Part(number, Token(f"{token}{number}"), size) for number, size in enumerate(sizes, 1)
    )
    upload = PendingUpload(
        path=DESTINATION.final(checked), upload_id=upload_id, nonce=Nonce(NONCE), parts=parts
    )
    return PendingFile(checked, sum(sizes), upload)


def adopted_file(name: str, size: int, tokens: list[str], *, upload_id: str = "u1") -> PendingFile:
    checked = target(name)
    upload = PendingUpload(
        path=DESTINATION.final(checked),
        upload_id=upload_id,
        nonce=Nonce(""),
        parts=tuple(Part(number, Token(token), None) for number, token in enumerate(tokens, 1)),
        object_bytes=size,
    )
    return PendingFile(checked, size, upload)


def pending_set(*names: str, rows: int | None = None) -> PendingSet:
    return PendingSet(LAYOUT, NONCE, CREATED, [pending_file(name, 1) for name in names], rows)


def accepted(text: str) -> Target | None:
    try:
        return target(text)
    except RequestError:
        return None


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
NAMES = st.text(min_size=1, max_size=40).map(accepted).filter(bool)
FILES = st.lists(
    st.builds(
        lambda name, sizes, token, upload_id: pending_file(
            name, *sizes, token=token, upload_id=upload_id
        ),
        NAMES,
        st.lists(st.integers(min_value=0, max_value=1 << 40), min_size=1, max_size=4),
        TEXTS,
        TEXTS,
    )
    | st.builds(
        adopted_file,
        NAMES,
        st.integers(min_value=0, max_value=1 << 40),
        st.lists(TEXTS, min_size=1, max_size=4),
    ),
    max_size=5,
    unique_by=lambda file: file.target,
)
ROWS = st.none() | st.integers(min_value=0, max_value=10**19 - 1)
TIMES = st.integers(min_value=0, max_value=250_000_000_000_000).map(
    lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
)
GOOD = PendingSet(
    LAYOUT,
    NONCE,
    CREATED,
    [pending_file("a.parquet", 8 << 20, 5), pending_file("day=1/é b.parquet", 0)],
    rows=7,
)


@given(FILES, ROWS, TIMES)
def test_a_set_comes_back(files: list[PendingFile], rows: int | None, created: datetime) -> None:
    given_set = PendingSet(LAYOUT, NONCE, created, files, rows)
    data = given_set.encode()
    read = PendingSet.decode(data, LAYOUT)
    assert read == given_set
    assert read.encode() == data


@pytest.mark.parametrize(
    ("nonce", "part_sizes"), [("", "7"), (NONCE, ""), ("0" * 31, ""), ("", "0,7")]
)
def test_an_upload_is_known_by_a_nonce_and_sizes_or_by_neither(nonce: str, part_sizes: str) -> None:
    text = replace(GOOD, files=[adopted_file("a", 7, ["etag"])]).encode()
    ours = b'"extraData":{"nonce":"","part_sizes":""}'
    assert text.count(ours) == 1
    changed = json.dumps({"nonce": nonce, "part_sizes": part_sizes}, separators=(",", ":"))
    with pytest.raises(RecordError):
        PendingSet.decode(text.replace(ours, b'"extraData":' + changed.encode()), LAYOUT)


def test_an_adopted_upload_has_parts() -> None:
    with pytest.raises(RecordError):
        PendingSet.decode(replace(GOOD, files=[adopted_file("a", 0, [])]).encode(), LAYOUT)


@pytest.mark.parametrize("root", ["bucket", "bucket/a", "/local/like", "b/ä ö%"])
def test_a_set_of_any_destination_comes_back(root: str) -> None:
    layout = DestinationLayout(StorePath(root)).job(JOB).attempt(0, "0123456789abcdef")
    name = target("d/a b.parquet")
    upload = PendingUpload(
        path=layout.job.destination.final(name),
        upload_id="u",
        nonce=Nonce(NONCE),
        parts=(Part(1, Token("t"), 1),),
    )
    given_set = PendingSet(layout, NONCE, CREATED, [PendingFile(name, 1, upload)])
    assert PendingSet.decode(given_set.encode(), layout) == given_set


def test_it_has_hadoops_fields() -> None:
    commit = {
        "version": 2,
        "filename": "",
        "uploadId": "u1",
        "bucket": "bucket",
        "created": 1795269835123,
        "saved": 1795269835123,
        "date": "2026-11-21T14:03:55+00:00",
        "jobId": JOB,
        "taskId": "3",
        "text": "",
        "iostatistics": {},
    }
    etag = {"checksumAlgorithm": None, "checksum": None}
    assert json.loads(GOOD.encode()) == {
        "version": 3,
        "jobId": JOB,
        "commits": [
            commit
            | {
                "uri": "s3a://bucket/data%20sets/out/a.parquet",
                "destinationKey": "data sets/out/a.parquet",
                "etags": [{"etag": "etag1"} | etag, {"etag": "etag2"} | etag],
                "extraData": {"nonce": NONCE, "part_sizes": "8388608,5"},
                "length": 8388613,
            },
            commit
            | {
                "uri": "s3a://bucket/data%20sets/out/day=1/%C3%A9%20b.parquet",
                "destinationKey": "data sets/out/day=1/é b.parquet",
                "etags": [{"etag": "etag1"} | etag],
                "extraData": {"nonce": NONCE, "part_sizes": "0"},
                "length": 0,
            },
        ],
        "extraData": {
            "task.attempt.id": "0123456789abcdef",
            "nonce": NONCE,
            "created": "1795269835123",
            "rows": "7",
        },
        "iostatistics": {},
    }


@given(st.data())
def test_a_damaged_set_is_refused_or_equal(data: st.DataObject) -> None:
    good = GOOD.encode()
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, min(len(good), start + 8)))
    damaged = good[:start] + data.draw(st.binary(max_size=8)) + good[end:]
    try:
        read = PendingSet.decode(damaged, LAYOUT)
    except RecordError:
        return
    assert read.encode() == damaged


@given(st.binary(max_size=200) | st.text().map(lambda text: text.encode(errors="surrogatepass")))
def test_any_bytes_are_refused_by_type(data: bytes) -> None:
    with pytest.raises(RecordError):
        PendingSet.decode(data, LAYOUT)


def compact(fields: Any) -> bytes:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()


def changed(**fields: Any) -> bytes:
    return compact(json.loads(GOOD.encode()) | fields)


def with_commit(**fields: Any) -> bytes:
    good = json.loads(pending_set("a.parquet").encode())
    good["commits"][0] |= fields
    return compact(good)


def at(name: str) -> bytes:
    """A commit whose fields all agree on a place."""
    uri = f"s3a://bucket/data%20sets/out/{name}"
    return with_commit(destinationKey=f"data sets/out/{name}", uri=uri)


def test_the_way_hostile_sets_are_made_here_makes_good_ones() -> None:
    assert changed() == GOOD.encode()
    assert len(PendingSet.decode(with_commit(), LAYOUT).files) == 1
    assert len(PendingSet.decode(at("b.parquet"), LAYOUT).files) == 1


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "a/../../b",
        "_commit/job.json",
        "_commit",
        "_SUCCESS",
        "_COMMIT/x",
        "",
        "a//b",
        "\0",
        "x" * 300,
    ],
)
def test_no_upload_of_another_key_is_completed(name: str) -> None:
    with pytest.raises(RecordError):
        PendingSet.decode(at(name), LAYOUT)


@pytest.mark.parametrize(
    "key",
    [
        "data sets/out2/a.parquet",
        "data sets/outa.parquet",
        "data sets/a.parquet",
        "elsewhere/a.parquet",
        "a.parquet",
        "",
        "/data sets/out/a.parquet",
        "data%20sets/out/a.parquet",
    ],
)
def test_no_upload_outside_of_the_destination_is_completed(key: str) -> None:
    for fields in ({"destinationKey": key}, {"destinationKey": key, "uri": f"s3a://bucket/{key}"}):
        with pytest.raises(RecordError):
            PendingSet.decode(with_commit(**fields), LAYOUT)


ETAG = {"etag": "etag1", "checksumAlgorithm": None, "checksum": None}
HOSTILE = {
    "another version": changed(version=2),
    "another job's": changed(jobId="20261120T140355-0000000000000000"),
    "another attempt's": changed(
        extraData={"task.attempt.id": "f" * 16, "nonce": NONCE, "created": "0", "rows": ""}
    ),
    "an unknown field": changed(x=1),
    "no extra data": changed(extraData={}),
    "statistics": changed(iostatistics={"counters": {"x": 1}}),
    "one file twice": changed(commits=[json.loads(with_commit())["commits"][0]] * 2),
    "white space": json.dumps(json.loads(GOOD.encode())).encode(),
    "a duplicate key": GOOD.encode()[:-1] + b',"version":3}',
    "a depth bomb": b"[" * 100_000,
    "another bucket": with_commit(bucket="other"),
    "another uri": with_commit(uri="s3a://bucket/data%20sets/out/b.parquet"),
    "an uri that is not encoded": with_commit(uri="s3a://bucket/data sets/out/a.parquet"),
    "another commit version": with_commit(version=1),
    "another job's commit": with_commit(jobId="20261120T140355-0000000000000000"),
    "another task's commit": with_commit(taskId="4"),
    "a file name": with_commit(filename="/tmp/x"),
    "a text": with_commit(text="x"),
    "an unknown field of a commit": with_commit(x=1),
    "no upload": with_commit(uploadId=""),
    "no parts": with_commit(etags=[]),
    "more parts than sizes": with_commit(etags=[ETAG, ETAG]),
    "an etag as text": with_commit(etags=["etag1"]),
    "no etag": with_commit(etags=[ETAG | {"etag": ""}]),
    "a checksum": with_commit(etags=[ETAG | {"checksum": "x"}]),
    "another length": with_commit(length=2),
    "a negative length": with_commit(length=-1),
    "negative sizes": with_commit(extraData={"nonce": NONCE, "part_sizes": "-1"}, length=-1),
    "a padded size": with_commit(extraData={"nonce": NONCE, "part_sizes": "01"}),
    "a size in other digits": with_commit(extraData={"nonce": NONCE, "part_sizes": "\u0661"}),
    "a size that is none": with_commit(extraData={"nonce": NONCE, "part_sizes": "x"}),
    "an endless size": with_commit(extraData={"nonce": NONCE, "part_sizes": "1" * 10_000}),
    "no nonce": with_commit(extraData={"nonce": "", "part_sizes": "1"}),
    "another time": with_commit(created=0, saved=0),
    "another date": with_commit(date="2026-11-21"),
    "statistics of a commit": with_commit(iostatistics={"counters": {}}),
}
HOSTILE |= {
    f"created {text!r}": changed(
        extraData={
            "task.attempt.id": "0123456789abcdef",
            "nonce": NONCE,
            "created": text,
            "rows": "7",
        }
    )
    for text in ("", "x", "-1", "01795269835123", "9" * 30, "9" * 10_000)
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_encoding_does_not_write_is_refused(what: str) -> None:
    with pytest.raises(RecordError):
        PendingSet.decode(HOSTILE[what], LAYOUT)


def test_a_set_is_its_own_attempts_only() -> None:
    with pytest.raises(RecordError, match="another attempt"):
        PendingSet.decode(GOOD.encode(), LAYOUT.job.attempt(3, "f" * 16))
    other_task = AttemptLayout(LAYOUT.job, 4, LAYOUT.attempt_id)
    with pytest.raises(RecordError):
        PendingSet.decode(GOOD.encode(), other_task)


def test_a_set_over_its_cap_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PendingSet, "limit_bytes", 100)
    with pytest.raises(RecordError, match="over its cap"):
        PendingSet.decode(GOOD.encode(), LAYOUT)


def test_memory_stays_within_a_few_times_the_input() -> None:
    names = [f"day={number % 365}/part-{number:06}.parquet" for number in range(3_000)]
    good = pending_set(*names).encode()
    commit = json.loads(with_commit())["commits"][0]
    hostile = [
        changed(commits=[commit] * 5_000),
        with_commit(etags=[ETAG] * 50_000),
        GOOD.encode()[:-2] + b"," + b"{}," * 300_000,
        GOOD.encode()[:-1] + b',"x":' + b"[" * 800_000,
    ]
    for data in (good, *hostile):
        tracemalloc.start()
        try:
            if data is good:
                assert len(PendingSet.decode(data, LAYOUT).files) == len(names)
            else:
                with pytest.raises(RecordError):
                    PendingSet.decode(data, LAYOUT)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 8 * len(data)


def test_a_marker_comes_back_from_the_decision() -> None:
    part = Part(1, Token('"d41d8;crc=x"'), 12)
    upload = PendingUpload(
        path=DESTINATION.success, upload_id="u.1/é", nonce=Nonce(NONCE), parts=(part,)
    )
    identity = marker_identity(upload)
    assert identity.size == 12
    assert marker_upload(DESTINATION, identity) == upload


@pytest.mark.parametrize("token", ["", "etag", "[]", '["u","x","e"]', f'["","{NONCE}","e"]', "[1]"])
def test_a_marker_that_is_none_is_refused(token: str) -> None:
    with pytest.raises(RecordError):
        marker_upload(DESTINATION, FileIdentity(size=0, token=token))


def upload_record(name: str) -> UploadRecord:
    return UploadRecord(nonce=NONCE, job_id=JOB, name=name, upload_id="u")


def test_an_upload_record_names_a_place_below_the_destination() -> None:
    record = UploadRecord.decode(upload_record("d/a").encode())
    assert record.path(DESTINATION) == DESTINATION.final(target("d/a"))
    assert upload_record("_SUCCESS").path(DESTINATION) == DESTINATION.success
    for name in ("../x", "/x", "", "_commit/x", "a/../../x", "s3://b/x", "d/_SUCCESS"):
        with pytest.raises(RequestError):
            upload_record(name).path(DESTINATION)
