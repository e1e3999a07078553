"""One of several processes that ask what is committed while others write, and log it."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc
from fsspec_commit.destination import OpenDestination, open_destination
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.location import locate
from fsspec_commit.protocol import seen_jobs, snapshot
from fsspec_commit.store import OpenOptions
from fsspec_commit.sync import bridge
from fsspec_commit.sync.reading import reader_of
from tests.integration.storm import how_of

if TYPE_CHECKING:
    from collections.abc import Callable

Line = dict[str, Any]
OPENED_EVERY = 20


def ask(request: Line) -> object:
    """Ask until the time is over; one line of the log for each answer. One file of some is read.

    To open a bucket takes longer than to list it, so most of the answers are of one that is open.
    """
    planted = request.get("planted", "nothing")
    PLANTED[planted]()
    # A reader with a bug may stumble over its own mistakes as well.
    unanswered = fc.SnapshotUnstableError if planted == "nothing" else fc.CommitError
    chance = random.Random(request["seed"])
    destination, how = request["destination"], how_of(request)
    until = time.monotonic() + request["seconds"]
    location = locate(destination, how.get("storage_options"), None)
    to = bridge.run(open_destination(location, OpenOptions(), ids=SYSTEM_IDS))
    count = 0
    with Path(request["log"]).open("a") as log:
        while time.monotonic() < until:
            line: Line = {"begun_ns": time.monotonic_ns()}
            try:
                if count % OPENED_EVERY:
                    line["names"] = bridge.run(_names(to))
                    line["ended_ns"] = time.monotonic_ns()
                else:
                    found = fc.committed_files(destination, **how)
                    line |= {"ended_ns": time.monotonic_ns(), "names": found.names}
                    line |= _read(found, chance) if found else {}
            except unanswered:
                line["unstable"] = True
            log.write(json.dumps(line) + "\n")
            count += 1
    bridge.run(to.store.close())
    return None


async def _names(to: OpenDestination) -> list[str]:
    """What `committed_files` does with the destination that it has opened."""
    to.list_without_versions()
    return (await snapshot.committed_files(reader_of(to))).names


def _read(found: fc.CommittedFiles, chance: random.Random) -> Line:
    try:
        return {"text": found.filesystem.cat_file(chance.choice(found.paths)).decode()}
    except FileNotFoundError:
        return {"missed": True}  # an overwrite has finished since


def _look_once() -> None:
    """Whatever the second look shows, the list counts."""
    seen_jobs.Look.agrees_with = lambda *_: True  # type: ignore[method-assign]


PLANTED: dict[str, Callable[[], None]] = {
    "nothing": lambda: None,
    "one look": _look_once,
}
"""Bugs of a reader that the tests must notice; smaller ones are the simulator's."""
