"""The list of an attempt's files: Hadoop's fields, and no way to name another place with them."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit.errors import RecordError, RequestError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import AttemptLayout, DestinationLayout, StorePath
from fsspec_commit.names import Target, target
from fsspec_commit.records.task_manifest import TaskManifest, WorkingFile

NONCE = Nonce("0123456789abcdef" * 2)
JOB = "20261120T140355-9c1e5f00a1b2c3d4"
LAYOUT = DestinationLayout(StorePath("/data/out")).job(JOB).attempt(3, "0123456789abcdef")
DIRECTORY = "committed/3/0123456789abcdef"
TYPE = "org.apache.hadoop.mapreduce.lib.output.committer.manifest.files.TaskManifest/1"


def working_file(name: str, size: int = 1, token: str = "t") -> WorkingFile:
    checked = target(name)
    return WorkingFile(checked, size, token)


def manifest(*names: str, rows: int | None = None) -> TaskManifest:
    files = [working_file(name) for name in names]
    return TaskManifest(LAYOUT, NONCE, files, rows, directory=DIRECTORY)


def decode(data: bytes) -> TaskManifest:
    return TaskManifest.decode(data, LAYOUT, directory=DIRECTORY)


def accepted(text: str) -> Target | None:
    try:
        return target(text)
    except RequestError:
        return None


NAMES = st.text(min_size=1, max_size=40).map(accepted).filter(bool)
FILES = st.lists(
    st.builds(
        working_file,
        NAMES,
        st.integers(min_value=0, max_value=(1 << 63) - 1),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    ),
    max_size=5,
    unique_by=lambda file: file.target,
)
ROWS = st.none() | st.integers(min_value=0, max_value=10**19 - 1)
GOOD = manifest("a.parquet", "day=1/b c.parquet", "é", rows=7)


@given(FILES, ROWS, st.booleans())
def test_a_manifest_comes_back(files: list[WorkingFile], rows: int | None, adopted: bool) -> None:
    given_manifest = TaskManifest(LAYOUT, NONCE, files, rows, directory=DIRECTORY, adopted=adopted)
    data = given_manifest.encode()
    read = decode(data)
    assert read == given_manifest
    assert read.encode() == data


def test_it_has_hadoops_fields() -> None:
    assert json.loads(GOOD.encode()) == {
        "extraData": {"nonce": NONCE, "rows": "7"},
        "type": TYPE,
        "version": 1,
        "jobId": JOB,
        "jobAttemptNumber": 0,
        "taskID": "3",
        "taskAttemptID": "0123456789abcdef",
        "taskAttemptDir": "committed/3/0123456789abcdef",
        "files": [
            {"s": "a.parquet.pending", "d": "a.parquet", "z": 1, "e": "t"},
            {"s": "day=1/b%20c.parquet.pending", "d": "day=1/b%20c.parquet", "z": 1, "e": "t"},
            {"s": "%C3%A9.pending", "d": "%C3%A9", "z": 1, "e": "t"},
        ],
        "directories": [{"d": "day=1", "t": 0, "l": 1}],
    }


def test_directories_are_those_of_the_files_and_those_above() -> None:
    """As Hadoop lists them, those above first; ``l`` is the depth, ``t`` is not looked at."""
    names = ["b/é/y=2/1", "b/é/y=1/1", "b/é/y=1/2", "a/1", "1"]
    assert json.loads(manifest(*names).encode())["directories"] == [
        {"d": "a", "t": 0, "l": 1},
        {"d": "b", "t": 0, "l": 1},
        {"d": "b/%C3%A9", "t": 0, "l": 2},
        {"d": "b/%C3%A9/y=1", "t": 0, "l": 3},
        {"d": "b/%C3%A9/y=2", "t": 0, "l": 3},
    ]


def test_files_that_stay_where_they_are() -> None:
    """The committer says where an attempt leaves its files, and takes no other word for it."""
    files = [working_file("day=1/a")]
    data = TaskManifest(LAYOUT, NONCE, files, directory=LAYOUT.working_name).encode()
    read = TaskManifest.decode(data, LAYOUT, directory="tasks/3/0123456789abcdef")
    assert read.sources(read.files) == [LAYOUT.working_file(target("day=1/a"))]
    with pytest.raises(RecordError, match="another attempt"):
        decode(data)


@given(st.data())
def test_a_damaged_manifest_is_refused_or_equal(data: st.DataObject) -> None:
    good = GOOD.encode()
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, min(len(good), start + 8)))
    damaged = good[:start] + data.draw(st.binary(max_size=8)) + good[end:]
    try:
        read = decode(damaged)
    except RecordError:
        return
    assert read.encode() == damaged


@given(st.binary(max_size=200) | st.text().map(lambda text: text.encode(errors="surrogatepass")))
def test_any_bytes_are_refused_by_type(data: bytes) -> None:
    with pytest.raises(RecordError):
        decode(data)


def changed(**fields: Any) -> bytes:
    return compact(json.loads(GOOD.encode()) | fields)


def compact(fields: Any) -> bytes:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()


def with_file(**fields: Any) -> bytes:
    good = {"s": "a.parquet.pending", "d": "a.parquet", "z": 1, "e": "t"}
    return changed(files=[good | fields], directories=[])


def test_the_way_hostile_manifests_are_made_here_makes_good_ones() -> None:
    assert changed() == GOOD.encode()
    assert len(decode(with_file()).files) == 1


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "a/../../b",
        "%2e%2e/%2e%2e/etc",
        "..%2F..%2Fetc",
        "a%2F..%2F..%2Fb",
        "%2Fetc",
        "_commit/job.json",
        "_SUCCESS",
        "_COMMIT/x",
        "s3://elsewhere/x",
        "",
        "a//b",
        "%00",
        "%FF",
        "%ED%A0%80",
        "x" * 300,
    ],
)
def test_no_file_is_published_elsewhere(name: str) -> None:
    with pytest.raises(RecordError):
        decode(with_file(d=name, s=f"{name}.pending"))


@pytest.mark.parametrize(
    "source",
    ["b.parquet.pending", "../a.parquet.pending", "a.parquet", "/a.parquet.pending", "", "%2e%2e"],
)
def test_no_file_is_taken_from_elsewhere(source: str) -> None:
    with pytest.raises(RecordError):
        decode(with_file(s=source))


HOSTILE = {
    "another type": changed(type="x"),
    "a later version": changed(version=2),
    "another job's": changed(jobId="20261120T140355-0000000000000000"),
    "another task's": changed(taskID="4"),
    "a padded task": changed(taskID="03"),
    "another attempt's": changed(taskAttemptID="f" * 16),
    "another directory": changed(taskAttemptDir="/etc"),
    "a second job attempt": changed(jobAttemptNumber=1),
    "an unknown field": changed(x=1),
    "no nonce": changed(extraData={"rows": "7"}),
    "padded rows": changed(extraData={"nonce": NONCE, "rows": "007"}),
    "rows with a line feed": changed(extraData={"nonce": NONCE, "rows": "7\n"}),
    "rows in other digits": changed(extraData={"nonce": NONCE, "rows": "\u0667"}),
    "negative rows": changed(extraData={"nonce": NONCE, "rows": "-1"}),
    "a negative size": with_file(z=-1),
    "a size that is no integer": with_file(z=1.0),
    "a huge size": with_file(z=1 << 64),
    "a name encoded without need": with_file(d="%61.parquet"),
    "a name encoded in small letters": with_file(d="%c3%a9", s="%c3%a9.pending"),
    "a name that is not encoded": with_file(d="é", s="é.pending"),
    "one file twice": changed(
        files=[{"s": "a.pending", "d": "a", "z": 1, "e": "t"}] * 2, directories=[]
    ),
    "a directory too few": changed(directories=[]),
    "a directory elsewhere": changed(directories=[{"d": "../day=1", "t": 0, "l": 1}]),
    "a directory looked at": changed(directories=[{"d": "day=1", "t": 3, "l": 1}]),
    "a directory at another depth": changed(directories=[{"d": "day=1", "t": 0, "l": 2}]),
    "white space": json.dumps(json.loads(GOOD.encode())).encode(),
    "a duplicate key": GOOD.encode()[:-1] + b',"version":1}',
    "a depth bomb": b"[" * 100_000,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_encoding_does_not_write_is_refused(what: str) -> None:
    with pytest.raises(RecordError):
        decode(HOSTILE[what])


def test_a_manifest_is_its_own_attempts_only() -> None:
    other = AttemptLayout(LAYOUT.job, 4, LAYOUT.attempt_id)
    with pytest.raises(RecordError, match="another attempt"):
        TaskManifest.decode(GOOD.encode(), other, directory=DIRECTORY)


def test_a_manifest_over_its_cap_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TaskManifest, "limit_bytes", 100)
    with pytest.raises(RecordError, match="over its cap"):
        decode(GOOD.encode())


def test_memory_stays_within_a_few_times_the_input() -> None:
    names = [f"day={number % 365}/part-{number:06}.parquet" for number in range(5_000)]
    good = manifest(*names).encode()
    hostile = [
        changed(files=[{"s": "", "d": "", "z": 0, "e": ""}] * 20_000),
        GOOD.encode()[:-2] + b"," + b"{}," * 300_000,
        GOOD.encode()[:-1] + b',"x":' + b"[" * 800_000,
    ]
    for data in (good, *hostile):
        tracemalloc.start()
        try:
            if data is good:
                assert len(decode(data).files) == len(names)
            else:
                with pytest.raises(RecordError):
                    decode(data)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 8 * len(data)
