"""CPU time of the request that publishes a file on GCS and Gen2, as an exchange and as aiohttp's.

On the project's own servers, processes of their own that answer at once; in turn, in one process.
What is measured is the thread in which the client runs, in the store's own verb `rename`, with an
account key on Gen2, and without one on GCS. The other way is that of `short_requests=False`. Beside
the time stand function calls, which a busy machine does not change.

    python -m tests.benchmarks.bench_short_requests [--quick] [--rounds N] [--on GCS|Gen2]
"""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, ExitStack
from typing import TYPE_CHECKING, Any

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, OpenOptions, Store
from fsspec_commit_stores.azure import AzureStore
from fsspec_commit_stores.gcs import GcsStore
from tests.benchmarks.interleaved import Report, Sample, arguments
from tests.benchmarks.request_costs import cpu_us, function_calls
from tests.benchmarks.slow_servers import SlowServer, slow_gcs, slow_gen2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.benchmarks.request_costs import Measure

FILES, ROUNDS, IN_FLIGHT = 60, 4, 16
SERVERS: dict[str, Any] = {"GCS": (slow_gcs, GcsStore), "Gen2": (slow_gen2, AzureStore)}
WAYS = {"as exchanges": True, "by aiohttp": False}
MEASURES: dict[str, Measure] = {"us of CPU": cpu_us, "calls": function_calls}
_DATA = bytes(100)


async def renamed(store: Store, name: str, files: int, measure: Measure) -> float:
    """What it costs to rename one of so many files."""
    assert store.files is not None
    root = store.root
    written = [StorePath(f"{root}/_commit/{name}/{number:05d}") for number in range(files)]
    published = [StorePath(f"{root}/day=1/{name}-{number:05d}") for number in range(files)]
    tokens = [
        await store.put(path, _DATA, expecting=Expect.ABSENT, within=None) for path in written
    ]
    renames = [
        store.files.rename(source, target, token=token, expecting=Expect.ABSENT, within=root)
        for source, target, token in zip(written, published, tokens, strict=True)
    ]
    cost, _ = await measure(asyncio.gather(*renames))
    return cost / files


async def costs_of(
    server: SlowServer,
    adapter: Any,
    files: int,
    rounds: int,
    *,
    measures: Mapping[str, Measure] = MEASURES,
) -> dict[str, dict[str, list[float]]]:
    """By measure and way; a round before, in which signatures are compared."""
    url, _ = server.new_destinations()
    costs: dict[str, dict[str, list[float]]] = {
        unit: {way: [] for way in WAYS} for unit in measures
    }
    async with AsyncExitStack() as stack:
        stores = {}
        for way, is_short in WAYS.items():
            options = {**server.storage_options, "short_requests": is_short}
            given = OpenOptions(storage_options=options, concurrency=IN_FLIGHT)
            stores[way] = await adapter.open(url, given)
            stack.push_async_callback(stores[way].close)
        for number in range(1 + rounds):
            for way, store in stores.items():
                for unit, measure in measures.items():
                    name = f"{number}-{len(way)}-{len(unit)}"
                    cost = await renamed(store, name, files, measure)
                    if number:
                        costs[unit][way].append(cost)
    return costs


def compare(report: Report, name: str, *, files: int, rounds: int) -> None:
    """Add the figures of one store."""
    with ExitStack() as stack:
        make, adapter = SERVERS[name]
        costs = asyncio.run(costs_of(make(stack), adapter, files, rounds))
    exchanges, whole = WAYS
    for unit, by_way in costs.items():
        samples = {way: Sample(tuple(found)) for way, found in by_way.items()}
        for way, sample in samples.items():
            report.add(f"{name}: rename, {way}", sample, unit=unit)
        ratio = f"{name}: rename, {unit}, {exchanges} / {whole}"
        report.compare(ratio, samples[exchanges], samples[whole])


def main() -> None:
    # gcsfs would ask for the kind of the bucket by gRPC, for a minute.
    os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    parser = arguments(__doc__)
    parser.add_argument("--on", choices=SERVERS, help="one store instead of both")
    options = parser.parse_args()
    report = Report("short_requests", options.quick)
    rounds = options.rounds or (1 if options.quick else ROUNDS)
    for name in [options.on] if options.on else SERVERS:
        compare(report, name, files=5 if options.quick else FILES, rounds=rounds)
    report.finish()


if __name__ == "__main__":
    main()
