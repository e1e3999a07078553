"""The driver of one job, a process of its own, so that what it takes is the job commit's alone.

Starts a job and prints its spec; reads the tasks' messages from standard input until it ends; then
commits, and prints what that took. Imports nothing that the library does not, unless it is asked
to watch itself.

    python -m tests.benchmarks.commit_driver \
        '{"destination": …, "layers": null, "streamed": false, "processes": 0, "on_spark": false,
        "options": {…}}'

With `layers`, names of what a request goes through and where in the source it begins, outermost
first, it is watched; see `shares`. Messages that are streamed are handed over one by one. So many
processes publish beside it, of a pool or of Spark, which have begun, and have imported the store's
SDK.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc
from fsspec_commit.sync import afterwards, bridge
from tests.benchmarks.processes import waited_s

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import ProcessPoolExecutor
    from pstats import Stats


def peak_mb() -> float:
    """The most memory that this process has had."""
    with open("/proc/self/status", encoding="utf-8") as status:  # noqa: PTH123  pathlib is memory
        [line] = [line for line in status if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024 / 1e6


# The profile's clock is the process's: a thread that waits is shown what the others take.
WAITING = (
    "<method 'poll' of 'select.epoll' objects>",
    "<method 'acquire' of '_thread.lock' objects>",
    "<method 'get' of '_queue.SimpleQueue' objects>",
)


def shares(found: Stats, layers: list[tuple[str, str, str]]) -> dict[str, float]:
    """Which part of the CPU time went where, from a profile of the threads.

    What a coroutine awaits is counted to it, so a layer holds all that it does but to wait, without
    what the next one does. Replies are read in callbacks of the loop, which are in none of them.
    True of one thread: of those that work side by side each is shown what the others take.

    Args:
        found: The profile.
        layers: A name, the end of a file's path, and the function in it that a layer begins with.
    """
    entries: dict[tuple[str, int, str], Any] = vars(found)["stats"]

    def inside(path: str, name: str) -> float:
        return math.fsum(
            cumulative
            for (file, _, function), (_, _, _, cumulative, _) in entries.items()
            if file.endswith(path) and function == name
        )

    def own(name: str) -> float:
        return math.fsum(
            own
            for (file, _, function), (_, _, own, _, _) in entries.items()
            if name in file and function not in WAITING
        )

    times = [*(inside(path, function) for _, path, function in layers), 0.0]
    split = {
        name: outer - inner
        for (name, _, _), (outer, inner) in zip(layers, pairwise(times), strict=True)
    }
    split |= {name: own(f"/{name}/") for name in ("fsspec_commit_stores", "fsspec_commit")}
    total = own("")
    return {name: time_s / total for name, time_s in split.items()}


def publishers(count: int, destination: str) -> ProcessPoolExecutor | None:
    """So many processes, which are ready to publish there; none if none is wanted."""
    if not count:
        return None
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    processes = ProcessPoolExecutor(count, mp_context=get_context("spawn"))
    for ready in [processes.submit(_ready, destination) for _ in range(count)]:
        ready.result()
    return processes


def workers_of_spark(count: int, destination: str) -> fc.Publisher:
    """A session of so many workers, on this machine, which are ready as well."""
    from pyspark.sql import SparkSession

    from tests.spark.conftest import PLAIN_SETTINGS

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{count}]")
    spark = builder.config(map={**PLAIN_SETTINGS}).getOrCreate()
    publisher = fc.spark.publisher(spark)

    def ready(place: str) -> str:
        _ready(place)
        return place

    assert len(list(publisher.map(ready, [destination] * count))) == count
    return publisher


def _ready(destination: str) -> None:
    import fsspec.core

    fsspec.get_filesystem_class(fsspec.core.split_protocol(destination)[0] or "file")
    time.sleep(0.5)  # so that each process gets one


def main() -> None:
    request = json.loads(sys.argv[1])
    imported_mb = peak_mb()
    profile, layers = None, request["layers"]
    if layers is not None:
        from tests.benchmarks.profiles import ThreadProfile

        # Of the process: a profile is ended in another thread than it began in.
        profile = ThreadProfile(time.process_time)
    ready = workers_of_spark if request["on_spark"] else publishers
    publisher = ready(request["processes"], request["destination"])
    job = fc.Job(request["destination"], publisher=publisher, **request["options"]).start()
    print(job.spec.to_json(), flush=True)
    messages: Iterable[fc.TaskCommit] = (fc.TaskCommit.from_json(line) for line in sys.stdin)
    if not request["streamed"]:
        messages = list(messages)
    if profile is not None:
        profile.clear()
    started_mb, waited_before_s = peak_mb(), waited_s()
    before_s, cpu_before_s = time.perf_counter(), time.process_time()
    result = job.commit(messages)
    seconds = time.perf_counter() - before_s
    bridge.run(afterwards.all_quiet())  # What goes on is not waited for, but it costs as much.
    figures = {
        "seconds": seconds,
        "cpu_s": time.process_time() - cpu_before_s,
        "waited_s": waited_s() - waited_before_s,
        "imported_mb": imported_mb,
        "started_mb": started_mb,
        "peak_mb": peak_mb(),
        "files": result.file_count,
        "replaced": result.replaced_count,
        "shares": {} if profile is None else shares(profile.statistics(), layers),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
