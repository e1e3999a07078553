"""A job that replaces files of a simulated bucket, and what may happen to it, in virtual time."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect
from tests.flat.bucket import ALL_HABITS, make_bucket, remove_bucket
from tests.protocol.cleaning import put, url
from tests.protocol.in_virtual_time import Before, Clock, started, wrote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.flat.bucket import Bucket

HABITS = ("gcs", "versioned", "gen2")
"""The kinds of buckets in which lists are written ahead."""
LISTED, LOOKED = ("list_tree", "/out/", 1), ("list_tree", "/out/", 2)
"""The listing beside the claim, and the look."""
CLAIM, LIST, DECISION = "/claim-", "/replaced-", "/decision"
SUCCESS = "/_SUCCESS"
UUID = "6a0d9b8e-5c0f-4a55-9f0e-0123456789ab"
ONE, TWO = f"one-{UUID}.txt", f"two-{UUID}.txt"
NEW = "a.txt"


class Overwrite:
    """A job that replaces what stands, and its driver's calls."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket, self.clock, self.hook = bucket, Clock(), Before()

    async def commit(self, **options: Any) -> None:
        """Replace the files of the bucket by a new one."""
        how = {"mode": "overwrite", **options}
        driver = await started(url(self.bucket), self.clock, self.hook, **how)
        message = await wrote(driver, NEW)
        self.hook.calls.clear()
        await driver.commit([message], wait_s=0)

    def count(self, part: str, verb: str = "create") -> int:
        return self.hook.count(verb, part)

    def old(self) -> set[str]:
        """The files that stand, but for the new one."""
        found = {name.removeprefix(f"{self.bucket.name}/out/") for name in self.bucket.keys("")}
        data = {name for name in found if not name.startswith("_") and "/_commit/" not in name}
        new = {name for name in data if name.startswith("a-")}
        assert len(new) == 1, found
        return data - new

    def path(self, name: str) -> StorePath:
        return StorePath(f"{self.bucket.name}/out/{name}")


@contextmanager
def overwrite_in(habits: str) -> Iterator[Overwrite]:
    """A job in a bucket of that kind."""
    bucket = make_bucket(ALL_HABITS[habits])
    try:
        yield Overwrite(bucket)
    finally:
        remove_bucket(bucket)


async def forever() -> None:
    await asyncio.sleep(1_000)


async def refuse() -> None:
    raise StoreError("not yours", reply=Reply.REFUSED)


def adds(job: Overwrite) -> None:
    put(job.bucket, job.path(TWO))


def removes(job: Overwrite) -> None:
    job.bucket.delete(job.path(ONE), Expect.ANYTHING)


def rewrites(job: Overwrite) -> None:
    put(job.bucket, job.path(ONE), b"another")
