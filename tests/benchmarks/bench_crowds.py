"""Committed appends a second on one destination, by drivers that share nothing but the store.

Each driver starts a job, writes one file of 100 bytes, commits the task and the job, and begins
again, until the time is up: what counts is the whole, from the start of a job to the return of its
commit. The server is the project's own, a process on loopback that answers each call after 50 ms.
The drivers are threads of as many processes as there are cores.

Beside it, on the same server, as many clients add to a log as table formats do: each reads one
object and puts it again, on condition that nobody has meanwhile; who comes too late begins again.

Of each side it is said what a commit cost in CPU of the clients and of the server, and how many a
second that leaves room for on the cores of this machine.

Goal, of the issue: 100 commits a second, of 100 drivers.

    python -m tests.benchmarks.bench_crowds [--quick] [--rounds N]
        [--on S3]            one store instead of both
        [--drivers N …]      other numbers of them
        [--seconds N]        for which is counted
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc
from fsspec_commit.errors import StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, OpenOptions
from fsspec_commit.store.registry import open_store
from tests.benchmarks.interleaved import Report, arguments, interleave
from tests.benchmarks.slow_servers import slow_gcs, slow_s3

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.benchmarks.slow_servers import SlowServer

LATENCY_S = 0.05
SERVERS = {"S3": slow_s3, "GCS": slow_gcs}
DRIVERS = (1, 10, 100)
GOAL = 100
SECONDS, BEGIN_S = 10.0, 15.0
"""For how long it is counted, and how long before that the drivers begin."""
DATA = bytes(100)
LOG_BYTES_MAX = 1 << 16


@dataclass(frozen=True)
class Window:
    """When commits count, by the wall clock, which all processes share."""

    begins: float
    ends: float

    def cpu_s(self) -> float:
        """What this process takes in it; returns when it is over."""
        time.sleep(max(0.0, self.begins - time.time()))
        before = time.process_time()
        time.sleep(max(0.0, self.ends - time.time()))
        return time.process_time() - before

    def counts(self) -> bool:
        """Whether what has just ended counts."""
        return self.begins <= time.time() < self.ends

    def is_over(self) -> bool:
        return time.time() >= self.ends


@dataclass(frozen=True)
class Done:
    """What some drivers of one process have done in the window."""

    commits: int
    cpu_s: float


def drive(url: str, storage_options: dict[str, Any], drivers: int, window: Window) -> Done:
    """Commit one job after the other, in so many threads."""
    counted: list[int] = []
    failed: list[BaseException] = []

    def append() -> None:
        with (
            fc.Job(url, mode="append", storage_options=storage_options) as job,
            job.task() as task,
            task.open("part.txt") as file,
        ):
            file.write(DATA)

    def one() -> None:
        try:
            while not window.is_over():
                append()
                if window.counts():
                    counted.append(1)
        except BaseException as error:
            failed.append(error)
            raise

    append()  # Whoever comes first in a process tries the server out.
    threads = [threading.Thread(target=one) for _ in range(drivers)]
    for thread in threads:
        thread.start()
    cpu_s = window.cpu_s()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return Done(len(counted), cpu_s)


def swap(url: str, storage_options: dict[str, Any], clients: int, window: Window) -> Done:
    """Add to one object, by as many clients as were drivers."""
    return asyncio.run(_swap(url, storage_options, clients, window))


async def _swap(url: str, storage_options: dict[str, Any], clients: int, window: Window) -> Done:
    store = await open_store(url, OpenOptions(storage_options=storage_options))
    path = StorePath(f"{store.root}/log")
    counted = 0

    async def one() -> None:
        nonlocal counted
        while not window.is_over():
            there = await store.read(path, limit_bytes=LOG_BYTES_MAX)
            data = os.urandom(len(DATA))
            token = Expect.ABSENT if there is None else there.entry.token
            try:
                await store.put(path, data, expecting=token, within=None)
            except StoreError:
                continue  # Somebody was faster.
            counted += window.counts()

    watching = asyncio.get_running_loop().run_in_executor(None, window.cpu_s)
    await asyncio.gather(*(one() for _ in range(clients)))
    await store.close()
    return Done(counted, await watching)


class Crowd:
    """Commits a second of one side after the other, on one server."""

    def __init__(
        self, server: SlowServer, report: Report, *, seconds: float, begin_s: float
    ) -> None:
        self._server = server
        self._report = report
        self._seconds = seconds
        self._begin_s = begin_s

    def measure(
        self, do: Callable[[str, dict[str, Any], int, Window], Done], drivers: int, title: str
    ) -> float:
        """How many there were a second; what they cost is noted."""
        processes = min(drivers, os.cpu_count() or 1)
        shares = [len(range(first, drivers, processes)) for first in range(processes)]
        url, _ = self._server.new_destinations()
        control, context = self._server.control, get_context("spawn")
        with ProcessPoolExecutor(processes, mp_context=context) as pool:
            begins = time.time() + self._begin_s
            window = Window(begins, begins + self._seconds)
            options = self._server.storage_options
            working = [pool.submit(do, url, options, share, window) for share in shares]
            time.sleep(self._begin_s)
            before = control.statistics()
            time.sleep(self._seconds)
            after = control.statistics()
            done = [one.result() for one in working]
        control.forget()
        commits = sum(one.commits for one in done)
        assert commits, "none has committed in time"
        client_s = sum(one.cpu_s for one in done) / commits
        server_s = (after.cpu_s - before.cpu_s) / commits
        requests = (after.requests.total() - before.requests.total()) / commits
        cores = os.cpu_count() or 1
        busy = (client_s + server_s) * commits / self._seconds / cores
        self._report.note(
            f"{title}: a commit costs {client_s * 1000:.1f} ms of CPU of the clients, "
            f"{server_s * 1000:.1f} of the server, {requests:.1f} requests; {cores} cores would be "
            f"full at {cores / (client_s + server_s):.0f} a second, and were busy to {busy:.0%}"
        )
        return commits / self._seconds


def measure(report: Report, name: str, options: Any) -> None:
    """Add the figures of one store."""
    with ExitStack() as stack:
        server = SERVERS[name](stack)
        seconds, begin_s = (1.0, 10.0) if options.quick else (options.seconds, BEGIN_S)
        crowd = Crowd(server, report, seconds=seconds, begin_s=begin_s)
        server.control.set_load(latency_s=LATENCY_S / 50 if options.quick else LATENCY_S)
        for drivers in [2] if options.quick else options.drivers:
            ours, theirs = f"{name}: {drivers} drivers", f"{name}: {drivers} swap one object"
            samples = interleave(
                {
                    ours: lambda ours=ours, drivers=drivers: crowd.measure(  # type: ignore[misc]  # bound
                        drive, drivers, ours
                    ),
                    theirs: lambda theirs=theirs, drivers=drivers: crowd.measure(  # type: ignore[misc]  # bound
                        swap, drivers, theirs
                    ),
                },
                rounds=options.rounds or 1,
                warmups=0,
            )
            goal = GOAL if drivers == max(DRIVERS) else None
            report.add(ours, samples[ours], unit="commits/s", at_least=goal)
            report.add(theirs, samples[theirs], unit="commits/s")
            report.compare(f"{ours} / swapping", samples[ours], samples[theirs])


def main() -> None:
    # gcsfs would ask for the kind of the bucket by gRPC, for a minute.
    os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    parser = arguments(__doc__)
    parser.add_argument("--on", choices=SERVERS, help="one store instead of both")
    parser.add_argument("--drivers", type=int, nargs="+", default=list(DRIVERS))
    parser.add_argument("--seconds", type=float, default=SECONDS)
    options = parser.parse_args()
    report = Report("crowds", options.quick)
    report.note(f"{os.cpu_count()} cores; each call is answered after {LATENCY_S * 1000:g} ms")
    for name in [options.on] if options.on else SERVERS:
        measure(report, name, options)
    report.finish()


if __name__ == "__main__":
    main()
