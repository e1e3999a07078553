"""A part that is stored once more when its upload is over: the same bytes, under another etag.

An etag is that of what is stored. With a key of KMS it is not that of the bytes, so that of the
same part, sent twice, may be two; and of two requests the one that was given up may come last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.testing import Fault, inject
from tests.flat.bucket import AWS, MINIO, VERSIONED, Bucket, make_bucket, remove_bucket
from tests.protocol.in_buckets import started, url, write

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=[AWS, VERSIONED, MINIO], ids=["unversioned", "versioned", "minio"])
def encrypting(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(replace(request.param, encrypts=True))
    yield bucket
    remove_bucket(bucket)


def texts(bucket: Bucket) -> dict[str, bytes]:
    """The files of jobs by the beginnings of their names, and the marker."""
    out = f"{bucket.name}/out/"
    names = {path.removeprefix(out): found.data for path, found in bucket.objects.items()}
    return {
        name.partition("-")[0]: data for name, data in names.items() if not name.startswith("_c")
    }


# The first part is that of a file; the second is the marker's.
@pytest.mark.parametrize("nth", [1, 2])
def test_p8_one_that_was_sent_twice_loses_no_file(encrypting: Bucket, nth: int) -> None:
    with inject(Fault("put_part", nth, "applied_late")) as fired:
        job = started(encrypting)
        result = job.commit([write(job.task(), "a.txt").commit()])
    assert fired
    assert result.warnings == ()
    assert texts(encrypting) == {"a": b"a.txt", "_SUCCESS": b""}
    assert fc.jobs(url(encrypting)) == []
    assert encrypting.uploads == {}
