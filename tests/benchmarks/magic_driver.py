"""The driver of one job, a process of its own, so that what it takes is the job commit's alone.

Starts a job and prints its spec; reads the tasks' messages from standard input until it ends; then
commits, and prints what that took. Imports nothing that the library does not, unless it is asked
to watch itself.

    python -m tests.benchmarks.magic_driver '{"destination": …, "profiled": false, "options": {…}}'
"""

from __future__ import annotations

import json
import math
import sys
import time
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc

if TYPE_CHECKING:
    from pstats import Stats


def peak_mb() -> float:
    """The most memory that this process has had."""
    with open("/proc/self/status", encoding="utf-8") as status:  # noqa: PTH123  pathlib is memory
        [line] = [line for line in status if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024 / 1e6


def shares(found: Stats) -> dict[str, float]:
    """Which part of the CPU time went where, from a profile of the threads.

    What a coroutine awaits is counted to it, so a call of the SDK holds all that it does but to
    wait. Replies are read in callbacks of the loop, which are not in it.
    """
    entries: dict[tuple[str, int, str], Any] = vars(found)["stats"]

    def inside(path: str, name: str) -> float:
        return math.fsum(
            cumulative
            for (file, _, function), (_, _, _, cumulative, _) in entries.items()
            if file.endswith(path) and function == name
        )

    total = math.fsum(own for _, _, own, _, _ in entries.values())
    called = inside("aiobotocore/client.py", "_make_api_call")
    sent = inside("aiobotocore/httpsession.py", "send")
    ours = math.fsum(
        own for (file, _, _), (_, _, own, _, _) in entries.items() if "fsspec_commit" in file
    )
    return {
        "botocore": (called - sent) / total,
        "aiohttp, sending": sent / total,
        "fsspec_commit": ours / total,
    }


def main() -> None:
    request = json.loads(sys.argv[1])
    profile = None
    if request["profiled"]:
        from tests.benchmarks.profiles import ThreadProfile

        # Of the process: a profile is ended in another thread than it began in.
        profile = ThreadProfile(time.process_time)
    job = fc.Job(request["destination"], **request["options"]).start()
    print(job.spec.to_json(), flush=True)
    messages = [fc.TaskCommit.from_json(line) for line in sys.stdin]
    if profile is not None:
        profile.clear()
    before_s, cpu_before_s = time.perf_counter(), time.process_time()
    result = job.commit(messages)
    figures = {
        "seconds": time.perf_counter() - before_s,
        "cpu_s": time.process_time() - cpu_before_s,
        "peak_mb": peak_mb(),
        "files": result.file_count,
        "shares": {} if profile is None else shares(profile.statistics()),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
