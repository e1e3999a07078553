"""Seconds of one task that writes many small files, beside fsspec's own way to write them.

Each side writes the same files to a server of the project's own, 50 ms a call away, one after the
other as a library does. Ours is timed from the first `task.open` until `task.commit()` returns: all
is stored then, and nothing is visible. Beside it stand ours with `write_behind=False`, and
`pipe_file` of the store's own fsspec filesystem (s3fs, gcsfs, adlfs).

    python -m tests.benchmarks.bench_small_files [--quick] [--rounds N] [--on S3]
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import fsspec

import fsspec_commit as fc
from fsspec_commit.sync import afterwards, bridge
from tests.benchmarks.interleaved import Report, arguments, interleave, seconds_of
from tests.benchmarks.slow_servers import slow_gcs, slow_gen2, slow_s3

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.benchmarks.slow_servers import SlowServer

LATENCY_S = 0.05
DATA = bytes(range(250)) * 4
SERVERS = {"S3": slow_s3, "GCS": slow_gcs, "Gen2": slow_gen2}
ROUND_TRIPS = {"S3": 8, "GCS": 5, "Gen2": 5}
"""Of a hundred files, to which CPU comes."""


class Sides:
    """The ways to write the files; each returns its seconds."""

    def __init__(self, server: SlowServer, names: list[str]) -> None:
        self._server = server
        self._names = names
        url, _ = server.new_destinations()
        self._peer: Any = fsspec.filesystem(
            url.partition("://")[0], **server.storage_options, use_listings_cache=False
        )
        self.peer = f"{type(self._peer).__module__.partition('.')[0]} pipe_file"

    def all(self) -> dict[str, Callable[[], float]]:
        return {
            "ours": self.ours,
            "ours, write_behind=False": lambda: self.ours(write_behind=False),
            self.peer: self.piped,
        }

    def ours(self, *, write_behind: bool = True) -> float:
        url, _ = self._server.new_destinations()
        job = fc.Job(
            url,
            mode="append",
            write_behind=write_behind,
            storage_options=self._server.storage_options,
        ).start()

        def write() -> None:
            with job.task() as task:
                for name in self._names:
                    with task.open(name) as file:
                        file.write(DATA)

        seconds = seconds_of(write)
        assert job.commit().file_count == len(self._names)
        bridge.run(afterwards.all_quiet())  # So that nothing goes on beside the next one.
        return seconds

    def piped(self) -> float:
        url, _ = self._server.new_destinations()

        def write() -> None:
            for name in self._names:
                self._peer.pipe_file(f"{url}/{name}", DATA)

        seconds = seconds_of(write)
        assert len(self._peer.find(url)) == len(self._names)
        return seconds


def measure(report: Report, name: str, *, files: int, latency_s: float, rounds: int) -> None:
    """Add the figures of one store."""
    with ExitStack() as stack:
        server = SERVERS[name](stack)
        sides = Sides(server, [f"part-{number:03d}.txt" for number in range(files)])
        server.control.set_load(latency_s=latency_s)
        samples = interleave(sides.all(), rounds=rounds)
    for side, sample in samples.items():
        report.add(f"{name}: {side}", sample, unit="s")
    ours = samples["ours"]
    report.compare(f"{name}: ours / {sides.peer}", ours, samples[sides.peer], at_most=0.2)
    trips = ours.median / latency_s
    goal = ROUND_TRIPS[name]
    report.note(
        f"{name}: ours is {trips:.1f} round trips with its CPU, of which {goal} are allowed"
    )


def main() -> None:
    # gcsfs would ask for the kind of the bucket by gRPC, for a minute.
    os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    parser = arguments(__doc__)
    parser.add_argument("--on", choices=SERVERS, help="one store instead of all")
    options = parser.parse_args()
    report = Report("small_files", options.quick)
    rounds = options.rounds or (1 if options.quick else 3)
    files, latency_s = (5, 0.001) if options.quick else (100, LATENCY_S)
    for name in [options.on] if options.on else SERVERS:
        measure(report, name, files=files, latency_s=latency_s, rounds=rounds)
    report.finish()


if __name__ == "__main__":
    main()
