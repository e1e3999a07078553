"""Hadoop's records are read as they are, and whatever is none is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit.errors import RecordError
from fsspec_commit.hadoop.records import hadoop_manifest, hadoop_pending, hadoop_pending_set

ATTEMPT = "attempt_20260101000000_0001_m_000000_0"
AREA = "_temporary/job_1"
DIRECTORY = f"file:/data/a b/{AREA}/00/tasks/{ATTEMPT}"
MANIFEST: dict[str, Any] = {
    "type": "org.apache.hadoop.mapreduce.lib.output.committer.manifest.files.TaskManifest/1",
    "version": 1,
    "jobId": "job_1",
    "taskAttemptID": ATTEMPT,
    "taskAttemptDir": DIRECTORY.replace(" ", "%20"),
    "files": [
        {
            "s": f"{DIRECTORY}/day=1%20%2523/part".replace("a b", "a%20b").replace(
                "file:", "file://"
            ),
            "d": "file:/data/a%20b/day=1%20%2523/part",
            "z": 3,
        }
    ],
    "iostatistics": {"counters": {}},
}
UPLOAD: dict[str, Any] = {
    "version": 2,
    "filename": None,
    "bucket": "b",
    "destinationKey": "out/part",
    "uploadId": "u",
    "length": 7,
    "etags": ["older releases say no more"],
}
SET = {"version": 3, "jobId": "j", "commits": [UPLOAD]}
READERS = (hadoop_manifest, hadoop_pending, hadoop_pending_set)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def encoded(record: dict[str, Any], **changed: object) -> bytes:
    return json.dumps({**record, **changed}).encode()


def test_places_are_taken_relative_to_each_other() -> None:
    """Hadoop writes one scheme in several ways, and escapes what a URI must not hold."""
    manifest = hadoop_manifest(encoded(MANIFEST))
    [file] = manifest.files
    assert manifest.working_name(file) == "day=1 %23/part"
    assert manifest.target_name(file, AREA) == "day=1 %23/part"
    assert (manifest.attempt_id, file.size_bytes) == (ATTEMPT, 3)


@pytest.mark.parametrize(
    ("what", "uri"),
    [
        ("s", "file:/data/a%20b/elsewhere/part"),
        ("s", DIRECTORY.replace(" ", "%20")),
        ("d", "file:/data/a%20b"),
        ("d", "file:/data/other/part"),
        ("d", "file:/%ff"),
        ("d", "http://[/part"),
    ],
)
def test_a_file_elsewhere_is_refused(what: str, uri: str) -> None:
    manifest = hadoop_manifest(encoded(MANIFEST, files=[{**MANIFEST["files"][0], what: uri}]))
    [file] = manifest.files
    with pytest.raises(RecordError, match=r"is not below|is no URI"):
        manifest.working_name(file) if what == "s" else manifest.target_name(file, AREA)


def test_an_attempt_elsewhere_is_refused() -> None:
    manifest = hadoop_manifest(encoded(MANIFEST))
    with pytest.raises(RecordError, match="is not below '_temporary/job_2'"):
        manifest.target_name(manifest.files[0], "_temporary/job_2")


def test_what_is_empty_may_be_left_out() -> None:
    bare = {name: value for name, value in MANIFEST.items() if name != "files"}
    assert hadoop_manifest(encoded(bare)).files == []


def test_uploads_are_read_from_both_records() -> None:
    [upload] = hadoop_pending(encoded(UPLOAD))
    assert [upload] == hadoop_pending_set(encoded(SET))
    assert (upload.bucket, upload.key) == ("b", "out/part")
    assert (upload.upload_id, upload.size_bytes) == ("u", 7)


@pytest.mark.parametrize(
    "changed",
    [
        *({"type": "TaskManifest/2"}, {"version": 2}, {"version": "1"}, {"taskAttemptID": ""}),
        *({"taskAttemptID": 1}, {"files": None}, {"files": [{}]}, {"files": {"s": "x"}}),
        *({"files": [{**MANIFEST["files"][0], "z": size}]} for size in (-1, "3", 1.5, 1 << 63)),
    ],
)
def test_another_manifest_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(RecordError, match="not a readable HadoopManifest"):
        hadoop_manifest(encoded(MANIFEST, **changed))


@pytest.mark.parametrize(
    "changed", [{"bucket": None}, {"destinationKey": ""}, {"uploadId": 3}, {"length": -1}]
)
def test_another_upload_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(RecordError, match="not a readable"):
        hadoop_pending(encoded(UPLOAD, **changed))
    with pytest.raises(RecordError, match="not a readable"):
        hadoop_pending_set(encoded(SET, commits=[{**UPLOAD, **changed}]))


@pytest.mark.parametrize("data", [b"", b"\xff", b"[" * 100_000, b"{}x", b'{"a": 1'])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    for read in READERS:
        with pytest.raises(RecordError):
            read(data)


@given(st.binary(max_size=40) | ANYTHING.map(lambda value: json.dumps(value).encode()))
def test_anything_else_is_refused_in_the_same_way(data: bytes) -> None:
    for read in READERS:
        with pytest.raises(RecordError):
            read(data)
