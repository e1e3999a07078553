"""How long it takes to list what an overwrite replaces, beside one listing of everything.

The servers are the project's own: processes on loopback that answer each call after 50 ms. A
destination holds old files in partitions, or in one directory; each side lists all of it, through
the adapter. The bound is that of its pages, as many at a time as branches are listed at once, after
the five round trips that show that it is long, and into what: T = 5 L + L pages / at once + CPU,
where the CPU is what this process took.

    python -m tests.benchmarks.bench_listing [--quick] [--rounds N]
        [--on S3 GCS]       these servers only
        [--files N]         other sizes
        [--partitions N]    other numbers of them
"""

from __future__ import annotations

import asyncio
import http.client
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import quote

from fsspec_commit.destination import open_destination
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.layout import DestinationLayout
from fsspec_commit.location import locate
from fsspec_commit.protocol.branches import AT_ONCE_MAX, Branches
from fsspec_commit.store import OpenOptions
from tests.benchmarks.commit_driver import peak_mb
from tests.benchmarks.interleaved import Report, Sample, arguments, interleave
from tests.benchmarks.slow_servers import slow_gcs, slow_s3

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from fsspec_commit.effects.confirmed.store import ConfirmedStore
    from fsspec_commit.store import Entry
    from tests.benchmarks.slow_servers import SlowServer

LATENCY_S = 0.05
PAGE = 1_000
FIRST_TRIPS = 5
FILES, PARTITIONS = 100_000, 50
GOAL = 0.5
SERVERS = {"S3": slow_s3, "GCS": slow_gcs}
Lists: TypeAlias = "Callable[[ConfirmedStore], AsyncIterator[Entry]]"


class Size(NamedTuple):
    """How much there is."""

    files: int
    partitions: int

    def __str__(self) -> str:
        where = f"in {self.partitions} partitions" if self.partitions else "in one directory"
        return f"{self.files:,} files {where}"


class Side:
    """One way to list a destination, and what that took.

    Attributes:
        requests: Of the last listing.
        cpu_s: Of this process, in the last listing.
        peak_mb: The most memory that this process had taken after the first.
    """

    def __init__(self, server: SlowServer, url: str, files: int, lists: Lists) -> None:
        self.requests = 0
        self.cpu_s = self.peak_mb = 0.0
        self._server = server
        self._location = locate(url, server.storage_options)
        self._files = files
        self._lists = lists

    def seconds(self) -> float:
        """How long one listing takes, which must show every file."""
        took = asyncio.run(self._seconds())
        self.peak_mb = self.peak_mb or peak_mb()
        return took

    async def _seconds(self) -> float:
        to = await open_destination(self._location, OpenOptions(), ids=SYSTEM_IDS)
        try:
            await to.store.stat(to.store.root)
            before = self._server.control.statistics()
            began, cpu_began = time.perf_counter(), time.process_time()
            found = 0
            async for _ in self._lists(to.store):
                found += 1
            took, self.cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
            self.requests = self._server.control.statistics().since(before).requests.total()
        finally:
            await to.store.close()
        if found != self._files:
            message = f"{found} of {self._files} files were listed"
            raise RuntimeError(message)
        return took


def _as_one(store: ConfirmedStore) -> AsyncIterator[Entry]:
    return store.list_tree(store.root, without=DestinationLayout(store.root).areas)


def _by_branches(store: ConfirmedStore) -> AsyncIterator[Entry]:
    return Branches(store, without=DestinationLayout(store.root).areas).files_below(store.root)


def fill(server: SlowServer, url: str, files: int, partitions: int) -> None:
    """Put empty files there, one after the other on one connection, as the server sorts them."""
    bucket, _, out = url.partition("://")[2].partition("/")
    connection = http.client.HTTPConnection("127.0.0.1", server.control.port)
    for number in range(files):
        above = f"day={number * partitions // files:05d}/" if partitions else ""
        name = f"{out}/{above}part-{number:07d}.parquet"
        if url.startswith("gs:"):
            target = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(name, safe='')}"
            connection.request("POST", target, b"")
        else:
            connection.request("PUT", f"/{bucket}/{name}", b"")
        answer = connection.getresponse()
        answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(f"{name} was answered with {answer.status}")
    connection.close()


def compare(report: Report, server: SlowServer, size: Size, on: str, rounds: int) -> None:
    """List one destination by its branches, and as one, in turn."""
    control = server.control
    url, _ = server.new_destinations()
    control.set_load()
    fill(server, url, size.files, size.partitions)
    control.set_load(latency_s=LATENCY_S)
    sides = {
        "as one listing": Side(server, url, size.files, _as_one),
        "by branches": Side(server, url, size.files, _by_branches),
    }
    samples = interleave(
        {name: side.seconds for name, side in sides.items()}, rounds=rounds, warmups=0
    )
    title = f"{on}: {size}"
    for name, sample in samples.items():
        side = sides[name]
        report.add(f"{title}, {name}", sample, unit="s")
        report.note(f"{title}, {name}: {side.requests} requests, {side.cpu_s:.2f} s of CPU")
    as_one, branches = samples.values()
    is_long = size.partitions > 0
    report.compare(
        f"{title}: by branches / as one", branches, as_one, at_most=GOAL if is_long else 1.1
    )
    if is_long:
        one, many = sides.values()
        more = Sample((many.peak_mb - one.peak_mb,))
        report.add(f"{title}, by branches: memory, over one listing", more, unit="MB")
        trips = FIRST_TRIPS + size.files / PAGE / AT_ONCE_MAX
        bound = Sample((LATENCY_S * trips + many.cpu_s,) * rounds)
        report.compare(f"{title}: by branches / bound", branches, bound)
    control.set_load()
    control.forget()


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--on", nargs="+", choices=SERVERS, default=list(SERVERS))
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    options = parser.parse_args()
    report = Report("listing", options.quick)
    wide = Size(6_000, 4) if options.quick else Size(options.files, options.partitions)
    report.note(f"{LATENCY_S * 1000:g} ms, {PAGE:,} files a page, {AT_ONCE_MAX} branches at once")
    rounds = options.rounds or (1 if options.quick else 3)
    for on in options.on:
        with ExitStack() as stack:
            server = SERVERS[on](stack)
            for size in (wide, Size(wide.files // 5, 0)):
                compare(report, server, size, on, rounds)
    report.finish()


if __name__ == "__main__":
    main()
