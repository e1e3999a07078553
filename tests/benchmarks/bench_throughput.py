"""Bytes a second of our task's files, beside s3fs, gcsfs and adlfs: one of 2 GiB, many of 1 MiB.

Each side writes the same bytes to a server of the project's own, in turn: once as fast as it can
be, once with 20 ms a call. Ours is timed until `task.commit()` returns, when all bytes are stored
and nothing is visible yet; what `job.commit()` takes after it is told beside it. Each side keeps
the part sizes and the concurrency that it has by itself; many files are written by 16 threads.

The servers speak plain http. There our requests to Azure carry the MD5 of what they bring, which
the server compares, and adlfs sends none; `--as-https` leaves it out, as we do wherever TLS keeps
what is sent.

    python -m tests.benchmarks.bench_throughput [--quick] [--rounds N] [--on S3] [--as-https]
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import fsspec

import fsspec_commit as fc
from fsspec_commit.sync import afterwards, bridge
from tests.benchmarks.interleaved import Report, Sample, arguments, interleave, seconds_of
from tests.benchmarks.slow_servers import slow_gcs, slow_gen2, slow_s3

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.benchmarks.slow_servers import SlowServer

MIB = 1 << 20
LATENCIES_S = (0.0, 0.02)
SERVERS = {"S3": slow_s3, "GCS": slow_gcs, "Gen2": slow_gen2}
THREADS = 16
_MD5 = "fsspec_commit_stores.azure.connections._checksum_of"
# What a writer hands over at a time, as Arrow's buffered streams do.
BLOCK = bytes(range(256)) * (MIB // 256)


@dataclass(frozen=True)
class Shape:
    """So many files of so many MiB, and how many times as fast as a peer we are to be."""

    files: int
    size_mib: int
    goal: float

    def __str__(self) -> str:
        if self.files == 1:
            return f"one file of {self.size_mib:,} MiB"
        return f"{self.files:,} files of {self.size_mib} MiB"

    @property
    def total_mib(self) -> int:
        return self.files * self.size_mib

    def names(self) -> list[str]:
        return [f"part-{i:05d}" for i in range(self.files)]


class Sides:
    """The ways to write one shape; each returns MiB a second, and leaves nothing."""

    def __init__(self, server: SlowServer, shape: Shape, threads: ThreadPoolExecutor) -> None:
        self._server = server
        self._shape = shape
        self._threads = threads
        url, _ = server.new_destinations()
        self._peer: Any = fsspec.filesystem(
            url.partition("://")[0], **server.storage_options, use_listings_cache=False
        )
        peer = type(self._peer).__module__.partition(".")[0]
        self.peers = {f"{peer} open": self.opened, f"{peer} pipe_file": self.piped}
        self.job_commits: list[float] = []
        self.costs: list[tuple[float, float]] = []
        """Of each time that one was called: CPU of this process and of the server, in ms a MiB."""

    def all(self) -> dict[str, Callable[[], float]]:
        return {"ours": self.ours, **self.peers}

    def ours(self) -> float:
        destination, _ = self._server.new_destinations()
        job = fc.Job(destination, storage_options=self._server.storage_options).start()

        def write() -> None:
            with job.task() as task:
                self._for_each_name(lambda name: self._write(task.open(name)))

        seconds = self._seconds_of(write)
        self.job_commits.append(seconds_of(job.commit))
        bridge.run(afterwards.all_quiet())  # So that nothing goes on beside the next one.
        assert job.result is not None
        assert job.result.bytes == self._shape.total_mib * MIB
        return self._rate(seconds)

    def opened(self) -> float:
        url, _ = self._server.new_destinations()

        def write() -> None:
            self._for_each_name(lambda name: self._write(self._peer.open(f"{url}/{name}", "wb")))

        return self._checked(url, self._seconds_of(write))

    def piped(self) -> float:
        """From memory: the whole content is there before the time begins."""
        url, _ = self._server.new_destinations()
        content = BLOCK * self._shape.size_mib

        def write() -> None:
            self._for_each_name(lambda name: self._peer.pipe_file(f"{url}/{name}", content))

        return self._checked(url, self._seconds_of(write))

    def _for_each_name(self, write: Callable[[str], object]) -> None:
        list(self._threads.map(write, self._shape.names()))

    def _write(self, opened: Any) -> None:
        with opened as file:
            for _ in range(self._shape.size_mib):
                file.write(BLOCK)

    def _seconds_of(self, write: Callable[[], None]) -> float:
        before, before_s = self._server.control.statistics(), time.process_time()
        seconds = seconds_of(write)
        here_s = time.process_time() - before_s
        there_s = self._server.control.statistics().since(before).cpu_s
        per_mib = 1000 / self._shape.total_mib
        self.costs.append((here_s * per_mib, there_s * per_mib))
        return seconds

    def _checked(self, url: str, seconds: float) -> float:
        stored = self._peer.find(url, detail=True).values()
        assert sum(one["size"] for one in stored) == self._shape.total_mib * MIB
        return self._rate(seconds)

    def _rate(self, seconds: float) -> float:
        self._server.control.forget()
        return self._shape.total_mib / seconds


def measure(
    report: Report, name: str, server: SlowServer, shape: Shape, *, latency_s: float, rounds: int
) -> None:
    """Add one shape's figures at one latency."""
    server.control.set_load(latency_s=latency_s)
    before = server.control.statistics()
    with ThreadPoolExecutor(THREADS) as threads:
        sides = Sides(server, shape, threads)
        samples = interleave(sides.all(), rounds=rounds, warmups=0)
    full = f"{name}, {shape}, {latency_s * 1000:g} ms"
    for side, sample in samples.items():
        report.add(f"{full}: {side}", sample, unit="MiB/s")
    for peer in sides.peers:
        goal = shape.goal if peer.endswith("pipe_file") else None
        report.compare(f"{full}: ours / {peer}", samples["ours"], samples[peer], at_least=goal)
    report.add(f"{full}: job commit after it", Sample(tuple(sides.job_commits)), unit="s")
    seen = server.control.statistics().since(before)
    report.note(f"{full}: the server took {seen.cpu_share:.2f} of a core")
    for number, side in enumerate(samples):
        spent = sides.costs[number :: len(samples)]
        here, there = (median(one) for one in zip(*spent, strict=True))
        report.note(f"{full}: {side}: {here:.2f} ms of CPU a MiB, and {there:.2f} of the server's")


def main() -> None:
    # gcsfs would ask for the kind of the bucket by gRPC, for a minute.
    os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    parser = arguments(__doc__)
    parser.add_argument("--on", choices=SERVERS, help="one store instead of all")
    parser.add_argument("--as-https", action="store_true", help="Azure: send no MD5")
    options = parser.parse_args()
    report = Report("throughput", options.quick)
    rounds = options.rounds or (1 if options.quick else 3)
    large, small = Shape(1, 2048, goal=1.5), Shape(1000, 1, goal=1.0)
    shapes = [Shape(1, 12, goal=1.5), Shape(4, 1, goal=1.0)] if options.quick else [large, small]
    for name in [options.on] if options.on else SERVERS:
        with ExitStack() as stack:
            if options.as_https:
                stack.enter_context(patch(_MD5, new=lambda *_: {}))
            server = SERVERS[name](stack)
            for latency_s in LATENCIES_S:
                if not options.quick:  # what every side does once in a process, timed by nobody
                    warm = Shape(4, 1, goal=1.0)
                    measure(Report("", quick=True), name, server, warm, latency_s=0, rounds=1)
                for shape in shapes:
                    measure(report, name, server, shape, latency_s=latency_s, rounds=rounds)
    report.finish()


if __name__ == "__main__":
    main()
