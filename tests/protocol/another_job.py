"""Another job that is past its claim, and what a job must not miss that it leaves."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import DestinationExistsError
from tests.flat.bucket import Bucket
from tests.protocol.cleaning import destination, url
from tests.protocol.in_virtual_time import SOME_TIME_S, Before, Clock, Stop, started, wrote

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from fsspec_commit.layout import StorePath
    from fsspec_commit.protocol.driver import Driver
    from fsspec_commit.store import Directory, Entry
    from tests.flat.store import FlatStore
    from tests.protocol.in_virtual_time import Call


class KeepsItsMarker(Stop):
    """Holds back the call that publishes the marker, and no other one."""

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        if verb in {"rename", "complete"} and "/_SUCCESS" in path:
            self.reached.set()
            await self.passed.wait()
        return await call()


class ByPages(Before):
    """One listing of the areas is of two pages, between which something is done.

    Args:
        number: Which one.
        kinds: What is on each page.
        between: What is done.
    """

    def __init__(
        self,
        number: int,
        kinds: Sequence[type[Entry | Directory]],
        between: Callable[[], Awaitable[object]],
    ) -> None:
        super().__init__()
        self._listing = ("list_children", "/out/_commit/", number)
        self._kinds = kinds
        self._between = between

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        listing, part, number = self._listing
        is_it = verb == listing and part in f"{path}/" and self.count(verb, part) == number - 1
        return await super().__call__(verb, path, await self._begun(call) if is_it else call)

    async def _begun(self, call: Call) -> Call:
        """The first page is given at once; nobody asks for more of what was to be one."""
        first = await call()
        await self._between()

        async def all_of_it() -> Any:
            if first is None:
                return None
            pages = zip(self._kinds, (first, await call()), strict=True)
            return [child for kind, page in pages for child in page if isinstance(child, kind)]

        return all_of_it


class InOrder:
    """Shows all files of some directories on one page."""

    def __init__(self, store: FlatStore) -> None:
        self._bucket = store.bucket

    async def list_in_order(
        self, path: StorePath, first: StorePath, last: StorePath
    ) -> tuple[list[StorePath], bool]:
        keys = self._bucket.keys(f"{path}/")
        return [key for key in keys if f"{first}/" <= key < f"{last}0"], True


@dataclass
class Other:
    """Another job, which stops before its decision, or later, until it is let go."""

    bucket: Bucket
    clock: Clock
    options: dict[str, Any]
    stop: Stop = field(default_factory=lambda: Stop("create", "/decision"))
    job_id: str = ""
    committing: asyncio.Task[None] | None = None

    async def begins(self) -> None:
        driver = await started(url(self.bucket), self.clock, self.stop, **self.options)
        self.job_id = driver.started().layout.job_id
        self.committing = asyncio.create_task(commit(driver, "b.txt"))
        await self.stop.reached.wait()

    async def ends(self) -> None:
        assert self.committing is not None
        await asyncio.sleep(SOME_TIME_S)
        self.stop.passed.set()
        await self.committing


async def commit(driver: Driver, name: str, wait_s: float = 60) -> None:
    await driver.commit([await wrote(driver, name)], wait_s=wait_s)


FIRST, SECOND = (("list_children", "/out/_commit/", number) for number in (1, 2))
"""The two listings of the areas."""
OVERWRITES = {"mode": "overwrite", "success": "json"}
KEY = {"idempotency_key": "k"}
JOBS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a marker": ({"mode": "append", "success": "json"}, OVERWRITES),
    "data": ({"mode": "error"}, OVERWRITES),
    "a key": ({"mode": "append", **KEY}, {"mode": "append", **KEY}),
}
"""What a job must not miss: how it is begun, and another one that leaves that."""


async def missed_nothing(bucket: Bucket, driver: Driver, what: str, *, name: str = "a.txt") -> None:
    """Commit a file of such a name, and see that what the other job has left was seen."""
    if what == "data":
        with pytest.raises(DestinationExistsError, match="already holds data"):
            await commit(driver, name)
        return
    job_id = driver.started().layout.job_id
    await commit(driver, name)
    if what == "a key":
        assert driver.is_skipped
        return
    marker = bucket.get(destination(bucket).success)
    assert marker is not None
    assert json.loads(marker.data)["jobId"] == job_id
