"""What the requests that a file on S3 takes cost their client: by template, and by botocore.

Both ways send the same requests to the same server, in turn and in one process; in each, all files
at once. A cost is what a measure makes of the sending: CPU time, or a count of function calls,
which no other work of the machine changes.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, OpenOptions
from fsspec_commit_stores.s3 import S3Store

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from fsspec_commit.store import PendingUpload
    from tests.servers.slow_s3.server import SlowS3

REQUESTS = {
    "put": "PutObject",
    "begin an upload": "CreateMultipartUpload",
    "upload a part": "UploadPart",
    "complete": "CompleteMultipartUpload",
}
"""What the server calls each."""
BY_TEMPLATE, BY_BOTOCORE = "by template", "by botocore"
WAYS = {BY_TEMPLATE: True, BY_BOTOCORE: False}

PAGE = 1_000
"""Files on a page of a listing, as many as S3 shows at once."""

_PARTITION = 50
_DATA = bytes(100)
_NONCE = Nonce("0" * 32)

Measure: TypeAlias = "Callable[[Awaitable[Any]], Awaitable[tuple[float, Any]]]"
"""Awaits it: what that cost, and what came of it."""


@dataclass
class Costs:
    """What each way took for one file, round by round, by request."""

    by_way: dict[str, dict[str, list[float]]] = field(
        default_factory=lambda: {way: {name: [] for name in REQUESTS} for way in WAYS}
    )

    def least(self, way: str, name: str) -> float:
        return min(self.by_way[way][name])


def costs_of(server: SlowS3, measure: Measure, *, files: int, rounds: int) -> Costs:
    """What all requests cost for so many files; a round before, in which templates are learnt."""
    return asyncio.run(_costs(server, measure, files, rounds))


def costs_of_pages(server: SlowS3, measure: Measure, *, rounds: int) -> dict[str, list[float]]:
    """What a page of a listing costs each way, round by round: of `PAGE` files in partitions."""
    return asyncio.run(_costs_of_pages(server, measure, rounds))


async def _costs_of_pages(server: SlowS3, measure: Measure, rounds: int) -> dict[str, list[float]]:
    costs: dict[str, list[float]] = {way: [] for way in WAYS}
    async with AsyncExitStack() as stack:
        stores = await _stores(server, stack)
        put = partial(stores[BY_TEMPLATE].put, data=b"", expecting=Expect.ABSENT, within=None)
        root = stores[BY_TEMPLATE].root
        for above in range(PAGE // _PARTITION):
            names = (f"day={above:02d}/part-{file:05d}.parquet" for file in range(_PARTITION))
            await asyncio.gather(*(put(StorePath(f"{root}/{name}")) for name in names))
        for number in range(1 + rounds):
            for way, store in stores.items():
                cost, found = await measure(_listed(store))
                if found != PAGE:
                    message = f"{found} of {PAGE} files were listed"
                    raise RuntimeError(message)
                if number:
                    costs[way].append(cost)
    return costs


async def _listed(store: S3Store) -> int:
    return len([entry async for entry in store.list_tree(store.root, without=None)])


async def _costs(server: SlowS3, measure: Measure, files: int, rounds: int) -> Costs:
    costs = Costs()
    async with AsyncExitStack() as stack:
        stores = await _stores(server, stack)
        for number in range(1 + rounds):
            for way, store in stores.items():
                paths = [
                    StorePath(f"{store.root}/{way}/{number}/part-{file:05d}")
                    for file in range(files)
                ]
                for name, cost in (await _round(store, paths, measure)).items():
                    if number:
                        costs.by_way[way][name].append(cost / files)
    return costs


async def _stores(server: SlowS3, stack: AsyncExitStack) -> Mapping[str, S3Store]:
    """By the way that each goes, two at one new destination, which *stack* closes."""
    url = f"s3://{server.new_bucket()}/out"
    stores = {}
    for way, by_template in WAYS.items():
        options = {**server.storage_options, "request_templates": by_template}
        stores[way] = await S3Store.open(url, OpenOptions(storage_options=options))
        stack.push_async_callback(stores[way].close)
    return stores


async def _round(
    store: S3Store, paths: Sequence[StorePath], measure: Measure
) -> Mapping[str, float]:
    assert store.uploads is not None
    uploads = store.uploads
    costs: dict[str, float] = {}

    async def cost(name: str, *sending: Awaitable[Any]) -> Any:
        costs[name], came = await measure(asyncio.gather(*sending))
        return came

    # What idled too long while the other way sent was closed: opened anew before anything counts.
    await asyncio.gather(*(store.stat(path) for path in paths))
    put = [store.put(path, _DATA, expecting=Expect.ABSENT, within=None) for path in paths]
    await cost("put", *put)
    begun: list[PendingUpload] = await cost(
        "begin an upload", *(uploads.start(path, _NONCE) for path in paths)
    )
    parts = await cost("upload a part", *(uploads.put_part(one, 1, _DATA) for one in begun))
    whole = [replace(one, parts=(part,)) for one, part in zip(begun, parts, strict=True)]
    await cost("complete", *(uploads.complete(one, expecting=Expect.ANYTHING) for one in whole))
    return costs


async def cpu_us(sending: Awaitable[Any]) -> tuple[float, Any]:
    """Microseconds of CPU time of the thread in which the loop runs, and with it the client."""
    began = time.thread_time()
    came = await sending
    return (time.thread_time() - began) * 1e6, came


async def function_calls(sending: Awaitable[Any]) -> tuple[float, Any]:
    """How many functions are called in that thread, of Python's and of C's."""
    count = 0

    def note(_: object, event: str, __: object) -> None:
        nonlocal count
        if event in {"call", "c_call"}:
            count += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        came = await sending
    finally:
        sys.setprofile(before)
    return count, came
