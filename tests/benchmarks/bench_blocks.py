"""Seconds of a whole job as a user writes it, from `with Job(…)` until that block has been left.

One task of the same process writes one file of 1 KB, or a hundred, to a server of the project's own
that is 50 ms away, and called by a name of the service that it stands for (`block_driver.py`). A
later job of a process is one whose process has committed others there, the first one is the first
of its process, which has imported the store's SDK already. A later job begins with the client that
the one before has left, when the work area of that has gone, behind, which is told as well; beside
it stands one that makes its own (`kept_clients=False`).

The bound is the round trips in a row that `tests/protocol/test_round_trips.py` counts, and more
where files go in several batches; the opening of the store is not among them. What each part of a
block takes beyond its own is told, with what the server has seen.

Beside it stands Hadoop's committer, tuned, with as many files in one task: `setupJob`, the task's
files one after the other, `commitTask`, `commitJob`, on a connection that stays open from block to
block in a warm JVM. Each of its jobs has a directory of its own, for it does not make names unique;
to overwrite is nothing that it does.

Goals, of the issue, which a later job is set against: 1.2 s for a hundred files on S3, 0.9 s on GCS
and on Gen2; 0.75 s for one file.

    python -m tests.benchmarks.bench_blocks [--quick] [--rounds N]
        [--no-hadoop]        our own figures only
        [--on S3|GCS|Gen2]   one server only
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from fsspec_commit.effects.budget import FILES_BEHIND_MAX
from fsspec_commit.effects.pacing import IN_FLIGHT_MAX
from tests.benchmarks.block_driver import BYTES
from tests.benchmarks.commit_jobs import peers
from tests.benchmarks.driven_blocks import BlockDriver, Blocks, SlowBlocks
from tests.benchmarks.interleaved import Report, Sample, arguments, interleave
from tests.benchmarks.slow_servers import slow_gcs, slow_gen2, slow_s3
from tests.protocol.test_round_trips import ROUND_TRIPS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from fsspec_commit.records.job import Mode
    from tests.benchmarks.slow_servers import SlowServer

LATENCY_S, QUICK_LATENCY_S = 0.05, 0.001
SIZES = (1, 100)
LATER: dict[Mode, str] = {
    "append": "append, a later job",
    "overwrite": "overwrite, a later job",
}
FIRST = "append, the first job"
ANEW = "append, a later job with a client of its own"
FIRST_MODE: Mode = "append"
ROUNDS = 3
WARMUPS = 3


class Place(NamedTuple):
    """A server, its row in the table of round trips, and our goals in seconds.

    Attributes:
        server: Starts it.
        family: As the table has it.
        a_file: Requests in a row that a file takes in its task.
        goals_s: By the number of files.
    """

    server: Callable[[ExitStack], SlowServer]
    family: str
    a_file: int
    goals_s: dict[int, float]


PLACES = {
    "S3": Place(slow_s3, "s3", 2, {1: 0.75, 100: 1.2}),
    "GCS": Place(slow_gcs, "gcs", 1, {1: 0.75, 100: 0.9}),
    "Gen2": Place(slow_gen2, "gen2", 1, {1: 0.75, 100: 0.9}),
}


class Trips(NamedTuple):
    """Round trips in a row of the parts of a block."""

    start: int
    task: int
    commit: int

    @classmethod
    def of(cls, place: Place, files: int, mode: Mode) -> Trips:
        """Those of the table, with each further batch of files: written, published, deleted."""
        start, task, commit = ROUND_TRIPS[place.family, mode]
        further = ceil(files / IN_FLIGHT_MAX) - 1
        deleted = further if mode == "overwrite" else 0
        written = place.a_file * ceil(files / FILES_BEHIND_MAX)
        return cls(start, written + task, commit + further + deleted)


def compare(report: Report, name: str, options: argparse.Namespace) -> None:
    """Blocks of all sizes on one server."""
    latency_s = QUICK_LATENCY_S if options.quick else LATENCY_S
    rounds = options.rounds or (1 if options.quick else ROUNDS)
    with ExitStack() as stack:
        server = PLACES[name].server(stack)
        blocks, (here, there) = SlowBlocks(server, latency_s), server.new_destinations()
        driver = stack.enter_context(BlockDriver(server, here))
        anew = stack.enter_context(BlockDriver(server, here, keeps_clients=False))
        report.add(f"{name}: import of the SDK", Sample((driver.import_s,)), unit="s")
        size = (f"-Dbytes={BYTES}",)
        jvms = peers(stack, report, server, options, tuned_only=True, jvm_options=size)
        for jvm in jvms.values():
            for number in range(WARMUPS):
                jvm.write(f"{there}-warm-{number}", tasks=1, files=max(SIZES))
                jvm.commit()
        for files in SIZES:
            sides: dict[str, Callable[[Blocks], float]] = {}
            for mode, title in LATER.items():
                url = f"{here}-{files}-{mode}"
                sides[title] = partial(blocks.ours, driver, url, files, mode)
                sides[title](Blocks())  # so that each has another one before it
            url = f"{here}-{files}-{FIRST_MODE}"
            sides[ANEW] = partial(blocks.ours, anew, f"{url}-anew", files, FIRST_MODE)
            sides[ANEW](Blocks())
            sides[FIRST] = partial(first_block, blocks, server, url, files)
            for title, jvm in jvms.items():
                sides[title] = partial(blocks.theirs, jvm, f"{there}-{files}", files)
            found = {title: Blocks() for title in sides}
            samples = interleave(
                {title: partial(side, found[title]) for title, side in sides.items()},
                rounds=rounds,
                warmups=0,
            )
            describe(report, name, files, samples, found, latency_s=latency_s)


def first_block(
    blocks: SlowBlocks, server: SlowServer, url: str, files: int, found: Blocks
) -> float:
    """Seconds of the first job of a process."""
    with BlockDriver(server, url) as driver:
        return blocks.ours(driver, url, files, FIRST_MODE, found)


def describe(
    report: Report,
    name: str,
    files: int,
    samples: dict[str, Sample],
    found: dict[str, Blocks],
    *,
    latency_s: float,
) -> None:
    """What the blocks of one size took, and where."""
    place, of = PLACES[name], f"{name}, {files} {'file' if files == 1 else 'files'}"
    for title, mode in {
        **{title: mode for mode, title in LATER.items()},
        ANEW: FIRST_MODE,
        FIRST: FIRST_MODE,
    }.items():
        sample, trips = samples[title], Trips.of(place, files, mode)
        bound = Sample((sum(trips) * latency_s,) * len(sample.values))
        goal = place.goals_s[files] if title in LATER.values() else None
        report.add(f"{of}: {title}", sample, unit="s", at_most=goal)
        report.compare(f"{of}: {title} / its {sum(trips)} round trips", sample, bound)
        report.note(f"{of}: {title}: {where(found[title], trips, latency_s)}")
    ours = LATER[FIRST_MODE]
    report.compare(f"{of}: {ours} / {ANEW}", samples[ours], samples[ANEW])
    for title in samples.keys() - {ANEW, FIRST, *LATER.values()}:
        report.add(f"{of}: {title}", samples[title], unit="s")
        report.compare(f"{of}: {title} / {ours}", samples[title], samples[ours])


def where(blocks: Blocks, trips: Trips, latency_s: float) -> str:
    """Where the time of a block goes: medians of its parts."""
    parts = [
        f"{part} {seconds * 1000:.0f} ms, {(seconds - count * latency_s) * 1000:.0f} above "
        f"{count} round trips"
        for part, count in trips._asdict().items()
        for seconds in (blocks.median_of(f"{part}_s"),)
    ]
    behind_s, cpu_s, waited_s = map(blocks.median_of, ("behind_s", "cpu_s", "waited_s"))
    seen = blocks.seen[-1]
    return (
        f"{'; '.join(parts)}; behind it {behind_s * 1000:.0f} ms; "
        f"CPU {cpu_s * 1000:.0f} ms, without a core {waited_s * 1000:.0f} ms; "
        f"{seen.requests.total()} requests in {seen.steps} steps"
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--no-hadoop", action="store_true")
    parser.add_argument("--on", choices=tuple(PLACES))
    options = parser.parse_args()
    report = Report("blocks", options.quick)
    for name in [options.on] if options.on else PLACES:
        compare(report, name, options)
    report.finish()


if __name__ == "__main__":
    main()
