"""A clean of a bucket, in virtual time, and what is put there for it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.protocol.clean import CleanReport, clean
from fsspec_commit.records.upload import UploadRecord
from fsspec_commit.selection import leftover_uploads, retiring
from fsspec_commit.store import AtomicRename, Expect
from fsspec_commit.testing import Crash
from tests.protocol.in_virtual_time import BEGIN, Fails, opened, started, straight, wrote

if TYPE_CHECKING:
    from fsspec_commit.destination import OpenDestination
    from fsspec_commit.layout import JobLayout
    from fsspec_commit.protocol.bound_job import BoundJob
    from fsspec_commit.store import PendingUpload
    from tests.flat.bucket import Bucket
    from tests.protocol.in_virtual_time import Clock, Hook

DEAD = "20261101T000000-0123456789abcdef"
"""A job of which nothing is known."""
NONCES = NONCE, OTHER_NONCE = Nonce("0" * 32), Nonce("1" * 32)


def url(bucket: Bucket) -> str:
    return f"flat://{bucket.name}/out"


def destination(bucket: Bucket) -> DestinationLayout:
    return DestinationLayout(StorePath(f"{bucket.name}/out"))


def put(bucket: Bucket, path: StorePath | str, data: bytes = b"12345") -> None:
    if bucket.habits.renames is AtomicRename.DIRECTORY:
        bucket.make_directory(StorePath(path.rpartition("/")[0]))
    bucket.put(StorePath(path), data, None, Expect.ANYTHING)


def size_of(bucket: Bucket, layout: JobLayout) -> int:
    """The bytes of an area."""
    found = (bucket.get(path) for path in bucket.keys(f"{layout.area}/"))
    return sum(len(one.data) for one in found if one is not None)


def recorded(
    bucket: Bucket, layout: JobLayout, upload: PendingUpload, name: str, version: int = 1
) -> None:
    """Have a job record an upload, maybe as this version cannot read it."""
    record = UploadRecord(
        nonce=NONCE, job_id=layout.job_id, name=name, upload_id=upload.upload_id
    ).encode()
    data = record.replace(b'"version":1', b'"version":%d' % version)
    put(bucket, layout.attempt(0, "0" * 16).upload_record(NONCE), data)


async def dead(bucket: Bucket, clock: Clock, count: int = 1) -> list[JobLayout]:
    """Jobs whose drivers have died."""
    return [(await started(url(bucket), clock)).started().layout for _ in range(count)]


async def void(bucket: Bucket, clock: Clock) -> JobLayout:
    """The area of a job that is over, to which a late task has written."""
    [layout] = await dead(bucket, clock)
    bucket.delete(layout.spec, Expect.ANYTHING)
    put(bucket, f"{layout.area}/tasks/0/left")
    return layout


def old_marker(bucket: Bucket, at: str = "out") -> None:
    """An upload of the marker that nobody has recorded, older than all jobs."""
    upload = bucket.start(StorePath(f"{bucket.name}/{at}/_SUCCESS"), NONCE)
    bucket.uploads[upload.upload_id].begun = BEGIN - timedelta(days=1)


async def decided(bucket: Bucket, clock: Clock) -> BoundJob:
    """A job that is committed, and whose driver died before it was finished."""
    driver = await started(url(bucket), clock, Fails("create", "/published", Crash()))
    message = await wrote(driver, "a.txt")
    with pytest.raises(Crash):
        await driver.commit([message], wait_s=0)
    return (await opened(url(bucket), clock)).bind(driver.started().record)


async def cleaned(
    bucket: Bucket, clock: Clock, hook: Hook = straight, *, age_s: float = 0, **how: Any
) -> CleanReport:
    """A clean of what is older than *age_s*; by default it removes that."""
    return await cleaned_at(await opened(url(bucket), clock, hook), age_s=age_s, **how)


async def cleaned_at(to: OpenDestination, *, age_s: float = 0, **how: Any) -> CleanReport:
    """The same of a destination that is open."""
    facts = to.store.capabilities
    return await clean(
        to.store,
        older_than=timedelta(seconds=age_s),
        bind=to.bind,
        check=to.check,
        retirement=retiring(to.store, facts),
        leftovers=leftover_uploads(to.store, facts),
        **{"dry_run": False, **how},
    )
