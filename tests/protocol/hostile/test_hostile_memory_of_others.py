"""Records of others fill no memory either: Hadoop's, and the marker, which any program may write.

They stand outside of the areas of jobs, and whoever looks at a destination reads them, not in parts
as those of jobs are read: so one takes more of its length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.layout import StorePath
from fsspec_commit.records import RECORD_BYTES_MAX
from fsspec_commit.store import Expect
from tests.flat.bucket import AWS, Bucket, make_bucket, remove_bucket
from tests.flat.store import FLAT
from tests.protocol.hostile.long_records import (
    BY_DAY_BYTES,
    OWN,
    SHAPES,
    grown,
    most_bytes,
    peak_bytes,
    with_more,
)
from tests.protocol.hostile.mutations import compact

if TYPE_CHECKING:
    from collections.abc import Iterator

ATTEMPT = "attempt_20260101000000_0001_m_000001_0"
HADOOPS_TASK = "task_20260101000000_0001_m_000001"
HADOOPS_TYPE = "org.apache.hadoop.mapreduce.lib.output.committer.manifest.files.TaskManifest/1"
MANIFESTS, MAGIC = "_temporary/job_1/00/manifests", "__magic_job-1/job-1/00"
WORKING = "_temporary/job_1/00/tasks/" + ATTEMPT


def pending(name: str) -> dict[str, Any]:
    """An upload as Hadoop's magic committer records it, of a bucket that is called ``b``."""
    return {"bucket": "b", "destinationKey": f"out/{name}", "uploadId": "u", "length": 3}


def manifest() -> dict[str, Any]:
    """What Hadoop's manifest committer records of a task with two files."""
    files = [
        {"s": f"s3a://b/out/{WORKING}/{name}", "d": f"s3a://b/out/{name}", "z": 3} for name in "ab"
    ]
    directory = f"s3a://b/out/{WORKING}"
    told = {"taskAttemptID": ATTEMPT, "taskAttemptDir": directory, "files": files}
    return {"type": HADOOPS_TYPE, "version": 1, **told}


def marker(bucket: Bucket) -> bytes:
    """``_SUCCESS`` as a job has written it."""
    with (
        fc.Job(f"{FLAT}://{bucket.name}/out", mode="append", success="json") as job,
        job.task() as task,
    ):
        for name in ("a.txt", "b.txt"):
            with task.open(name, "w") as file:
                file.write("a")
    return bucket.objects[StorePath(f"{bucket.name}/out/_SUCCESS")].data


def of_hadoop(record: dict[str, Any]) -> Callable[[Bucket], bytes]:
    return lambda bucket: in_bucket(bucket, compact(record))


def in_bucket(bucket: Bucket, record: bytes) -> bytes:
    name = bucket.name.encode()
    record = record.replace(b"s3a://b/", b"s3a://%b/" % name)
    return record.replace(b'"bucket":"b"', b'"bucket":"%b"' % name)


def one_of_marker(url: str) -> bool:
    return fc.verify(url).checked_count > 0


def one_of_hadoop(url: str) -> bool:
    [job] = fc.hadoop_jobs(url)
    return any(task.damage is None and task.file_count for task in job.tasks)


@dataclass(frozen=True)
class Kind:
    """A kind of record.

    Attributes:
        name: Where it stands.
        written: How one is written in a bucket.
        read: Who reads it: whether anything was found in it.
        least: The shortest further entry of its list, unlike any other.
    """

    name: str
    written: Callable[[Bucket], bytes]
    read: Callable[[str], bool]
    least: Callable[[int], bytes]


KINDS = {
    "_SUCCESS": Kind("_SUCCESS", marker, one_of_marker, lambda number: b'"%x"' % number),
    "manifest": Kind(
        f"{MANIFESTS}/{HADOOPS_TASK}-manifest.json",
        of_hadoop(manifest()),
        one_of_hadoop,
        lambda number: b'{"s":"s%x","d":"d%x","z":1}' % (number, number),
    ),
    "pending set": Kind(
        f"{MAGIC}/{HADOOPS_TASK}.pendingset",
        of_hadoop({"version": 3, "commits": [pending("a"), pending("b")]}),
        one_of_hadoop,
        lambda number: b'{"bucket":"b","destinationKey":"%x","uploadId":"u","length":1}' % number,
    ),
    "pending": Kind(
        f"{MAGIC}/tasks/{ATTEMPT}/__base/a.pending",
        of_hadoop({**pending("a"), "etags": [{"etag": "e"}]}),
        one_of_hadoop,
        lambda number: b'{"etag":"%x"}' % number,
    ),
}
LEAST = "the shortest entries, each another"
TIMES = 9
"""A string of a letter takes 50 bytes, and 4 in a record."""


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    bucket = make_bucket(AWS)
    yield bucket
    remove_bucket(bucket)


def check_memory(bucket: Bucket, of: Kind, shape: str, size_bytes: int) -> None:
    url, path = f"{FLAT}://{bucket.name}/out", StorePath(f"{bucket.name}/out/{of.name}")

    def put(data: bytes) -> None:
        bucket.put(path, data, None, Expect.ANYTHING)

    short = of.written(bucket)
    put(short)
    assert of.read(url), "nobody reads it"
    if shape == LEAST:
        data = with_more(short, lambda number: in_bucket(bucket, of.least(number)), size_bytes)
    else:
        data = grown(short, shape, size_bytes)
    put(data)
    most = most_bytes(data if len(data) <= RECORD_BYTES_MAX else b"", times=TIMES)
    assert peak_bytes(lambda: of.read(url)) < most


@pytest.mark.parametrize("shape", [*SHAPES, OWN, LEAST])
@pytest.mark.parametrize("kind", KINDS)
def test_p10_records_of_others_fill_no_memory(bucket: Bucket, kind: str, shape: str) -> None:
    check_memory(bucket, KINDS[kind], shape, BY_DAY_BYTES)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [*SHAPES, OWN, LEAST])
@pytest.mark.parametrize("kind", KINDS)
def test_p10_records_of_others_fill_no_memory_up_to_the_limit(
    bucket: Bucket, kind: str, shape: str
) -> None:
    for size_bytes in (RECORD_BYTES_MAX, RECORD_BYTES_MAX + 1):
        check_memory(bucket, KINDS[kind], shape, size_bytes)
