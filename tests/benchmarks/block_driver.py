"""A process that runs whole jobs as a user writes them, block after block.

Imports the store's SDK and prints how long that took; then each line of standard input is a block,
and a line of JSON answers it: where its time went. Every name of a host is taken for this machine's
own: so a server of the tests can be called as a service is, of which the library knows what it
does, and a job tries out nothing that it would not try there.

    python -m tests.benchmarks.block_driver '{"protocol": "s3", "options": {…}}'
"""

from __future__ import annotations

import json
import socket
import sys
import time
from typing import Any
from unittest.mock import patch

import fsspec_commit as fc
from fsspec_commit.store.registry import adapter
from fsspec_commit.sync import afterwards, bridge
from tests.benchmarks.processes import waited_s

BYTES = 1_000
_DATA = bytes(range(250)) * (BYTES // 250)

_resolve = socket.getaddrinfo


def _here(_: object, *arguments: Any, **named: Any) -> Any:
    return _resolve("127.0.0.1", *arguments, **named)


def block(url: str, files: int, **options: Any) -> dict[str, float]:
    """One job of one task; the seconds of each part of it, and the CPU time of all.

    Its work area is removed behind: the next job would wait for that.
    """
    cpu_before_s, waited_before_s = time.process_time(), waited_s()
    began_s = time.perf_counter()
    with fc.Job(url, **options) as job:
        started_s = time.perf_counter()
        with job.task() as task:
            for number in range(files):
                with task.open(f"part-{number:05d}.txt") as file:
                    file.write(_DATA)
        written_s = time.perf_counter()
    ended_s = time.perf_counter()
    bridge.run(afterwards.all_quiet())
    gone_s = time.perf_counter()
    assert job.result.file_count == files
    return {
        "seconds": ended_s - began_s,
        "start_s": started_s - began_s,
        "task_s": written_s - started_s,
        "commit_s": ended_s - written_s,
        "behind_s": gone_s - ended_s,
        "cpu_s": time.process_time() - cpu_before_s,
        "waited_s": waited_s() - waited_before_s,
    }


def main() -> None:
    request = json.loads(sys.argv[1])
    began_s = time.perf_counter()
    adapter(request["protocol"])
    print(json.dumps({"import_s": time.perf_counter() - began_s}), flush=True)
    with patch.object(socket, "getaddrinfo", _here):
        for line in sys.stdin:
            print(json.dumps(block(**json.loads(line), **request["options"])), flush=True)


if __name__ == "__main__":
    main()
