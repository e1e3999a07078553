"""Bytes a second of our task's files on S3, beside s3fs's own, one file of 2 GiB and many of 1 MiB.

Each side writes the same bytes to the project's own server (`tests/servers/slow_s3`), in turn: once
as fast as it can be, once with 20 ms a call. Ours is timed until `task.commit()` returns, when all
bytes are stored and nothing is visible yet; what `job.commit()` takes after it is told beside it.
Each side keeps the part sizes and the concurrency that it has by itself; many files are written by
16 threads.

    python -m tests.benchmarks.bench_s3_throughput [--quick] [--rounds N]
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import s3fs

import fsspec_commit as fc
from tests.benchmarks.interleaved import Report, Sample, arguments, interleave, seconds_of
from tests.servers.slow_s3.server import SlowS3

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1 << 20
LATENCIES_S = (0.0, 0.02)
THREADS = 16
# What a writer hands over at a time, as Arrow's buffered streams do.
BLOCK = bytes(range(256)) * (MIB // 256)


@dataclass(frozen=True)
class Shape:
    """So many files of so many MiB."""

    files: int
    size_mib: int

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

    def __init__(self, server: SlowS3, shape: Shape, threads: ThreadPoolExecutor) -> None:
        self._server = server
        self._shape = shape
        self._threads = threads
        self._s3fs = s3fs.S3FileSystem(**server.storage_options, use_listings_cache=False)
        self.job_commits: list[float] = []

    def all(self) -> dict[str, Callable[[], float]]:
        return {"ours": self.ours, "s3fs open": self.opened, "s3fs pipe_file": self.piped}

    def ours(self) -> float:
        destination = f"s3://{self._server.new_bucket()}/out"
        job = fc.Job(destination, storage_options=self._server.storage_options).start()

        def write() -> None:
            with job.task() as task:
                self._for_each_name(lambda name: self._write(task.open(name)))

        seconds = seconds_of(write)
        self.job_commits.append(seconds_of(job.commit))
        assert job.result is not None
        assert job.result.bytes == self._shape.total_mib * MIB
        return self._rate(seconds)

    def opened(self) -> float:
        bucket = self._server.new_bucket()

        def write() -> None:
            self._for_each_name(lambda name: self._write(self._s3fs.open(f"{bucket}/{name}", "wb")))

        return self._checked(bucket, seconds_of(write))

    def piped(self) -> float:
        """From memory: the whole content is there before the time begins."""
        bucket = self._server.new_bucket()
        content = BLOCK * self._shape.size_mib

        def write() -> None:
            self._for_each_name(lambda name: self._s3fs.pipe_file(f"{bucket}/{name}", content))

        return self._checked(bucket, seconds_of(write))

    def _for_each_name(self, write: Callable[[str], object]) -> None:
        list(self._threads.map(write, self._shape.names()))

    def _write(self, opened: Any) -> None:
        with opened as file:
            for _ in range(self._shape.size_mib):
                file.write(BLOCK)

    def _checked(self, bucket: str, seconds: float) -> float:
        stored = self._s3fs.find(bucket, detail=True).values()
        assert sum(one["size"] for one in stored) == self._shape.total_mib * MIB
        return self._rate(seconds)

    def _rate(self, seconds: float) -> float:
        self._server.forget()
        return self._shape.total_mib / seconds


def measure(report: Report, server: SlowS3, shape: Shape, *, latency_s: float, rounds: int) -> None:
    """Add one shape's figures at one latency."""
    server.set_load(latency_s=latency_s)
    before = server.statistics()
    with ThreadPoolExecutor(THREADS) as threads:
        sides = Sides(server, shape, threads)
        samples = interleave(sides.all(), rounds=rounds, warmups=0)
    full = f"{shape}, {latency_s * 1000:g} ms"
    for name, sample in samples.items():
        report.add(f"{full}: {name}", sample, unit="MiB/s")
    for name in ("s3fs open", "s3fs pipe_file"):
        report.compare(f"{full}: ours / {name}", samples["ours"], samples[name])
    report.add(f"{full}: job commit after it", Sample(tuple(sides.job_commits)), unit="s")
    seen = server.statistics().since(before)
    report.note(f"{full}: the server took {seen.cpu_share:.2f} of a core")


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("s3_throughput", options.quick)
    rounds = options.rounds or (1 if options.quick else 3)
    shapes = [Shape(1, 12), Shape(4, 1)] if options.quick else [Shape(1, 2048), Shape(1000, 1)]
    with SlowS3() as server:
        for latency_s in LATENCIES_S:
            if not options.quick:  # what every side does once in a process, timed by nobody
                measure(Report("warm", quick=True), server, Shape(4, 1), latency_s=0, rounds=1)
            for shape in shapes:
                measure(report, server, shape, latency_s=latency_s, rounds=rounds)
    report.finish()


if __name__ == "__main__":
    main()
