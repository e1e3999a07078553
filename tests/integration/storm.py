"""One of many processes that write jobs of all modes to one destination, and log what they did."""

from __future__ import annotations

import hashlib
import json
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc

if TYPE_CHECKING:
    from collections.abc import Callable

MODES = (
    *["append"] * 5,
    *["overwrite_partitions"] * 5,
    "overwrite",
    "overwrite",
    "error",
    "ignore",
)
MARKERS = ("json", "json", "marker", "none")
"""What jobs leave in ``_SUCCESS`` where they are asked to leave the names of their files."""
WAIT_S, FIRST_WAIT_S = 3.0, 60.0
"""How long a job waits for those that conflict, and how long the first job of a process does.

All processes begin at once. Where a round of requests takes seconds, those that wait for so little
are all refused, and nothing is committed that a test could be about.
"""
EXPECTED = (
    fc.ConcurrentJobError,
    fc.DestinationExistsError,
    fc.JobNotActiveError,
)


def content(label: str) -> str:
    """Bytes that say whose they are, and that they are whole."""
    body = f"{label} " * 200
    return f"{label}\n{body}\n{hashlib.sha256(body.encode()).hexdigest()}\n"


def storm(request: dict[str, Any]) -> object:
    """Write jobs until the time is over; one line of the log for each."""
    return write_many(request, one_job)


def write_many(
    request: dict[str, Any], one: Callable[[dict[str, Any], random.Random, str], dict[str, Any]]
) -> int:
    """Have *one* write jobs until the time is over, of which each has a line in the log."""
    chance = random.Random(request["seed"])
    until = time.monotonic() + request["seconds"]
    count = 0
    with Path(request["log"]).open("a") as log:
        # On a slow machine the time may be over before a first job is.
        while time.monotonic() < until or count == 0:
            wait_s = FIRST_WAIT_S if count == 0 else WAIT_S
            line = one({**request, "wait_s": wait_s}, chance, f"{request['seed']}.{count}")
            log.write(json.dumps(line) + "\n")
            log.flush()
            count += 1
            pause_s = chance.random() * request.get("pause_s", 0)
            time.sleep(max(0.0, min(pause_s, until - time.monotonic())))
    return count


def how_of(request: dict[str, Any]) -> dict[str, Any]:
    """The storage options of a request, if it has any, as the package takes them."""
    return {"storage_options": request["storage_options"]} if "storage_options" in request else {}


def one_job(
    request: dict[str, Any],
    chance: random.Random,
    label: str,
    begun: Callable[[dict[str, Any]], None] = lambda _: None,
) -> dict[str, Any]:
    """Write one job; *begun* hears what it is about to write when it has its id."""
    mode = chance.choice(MODES)
    options: dict[str, Any] = {"mode": mode, "wait_s": request["wait_s"]}
    how = how_of(request)
    if chance.random() < 0.4 and request.get("exact", True):
        options["names"] = "exact"
    if request.get("leaves_names"):
        options["success"] = chance.choice(MARKERS)
    if chance.random() < 0.15:
        options["idempotency_key"] = f"key {chance.randrange(10)}"
    partitions = ["a", "a/b", "c", "d"]
    if mode == "overwrite_partitions" and chance.random() < 0.3:
        options["partitions"] = [chance.choice(partitions)]
    files = {}
    for _ in range(chance.randint(1, 3)):
        name = f"{chance.choice(partitions)}/{chance.choice('xyz')}.txt"
        files[name] = content(f"{label} {name}")
    fate = request["fate"]
    fate.decided_ns = 0
    line: dict[str, Any] = {"label": label, **options, "written": files}
    line["begun_ns"] = time.monotonic_ns()
    try:
        with fc.Job(request["destination"], **options, **how) as job, job.task() as task:
            begun({**line, "job_id": job.job_id})
            for name, text in files.items():
                with task.open(name, "w", newline="") as file:
                    file.write(text)
        result = job.result
        line |= {
            "state": result.state,
            "job_id": result.job_id,
            "files": list(result.files),
            "replaced_count": result.replaced_count,
            "in_place": list(result.in_place),
            "warnings": list(result.warnings),
        }
    except EXPECTED as error:
        line |= {"state": type(error).__name__, "outcome": error.outcome}
    line["decided_ns"] = fate.decided_ns
    line["ended_ns"] = time.monotonic_ns()
    return line
