"""One of several processes that ask what is committed while others write, and log it."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import fsspec_commit as fc


def ask(request: dict[str, Any]) -> object:
    """Ask until the time is over; one line of the log for each answer. One file of each is read."""
    chance = random.Random(request["seed"])
    how = {"storage_options": request["storage_options"]} if "storage_options" in request else {}
    until = time.monotonic() + request["seconds"]
    with Path(request["log"]).open("a") as log:
        while time.monotonic() < until:
            line: dict[str, Any] = {"begun_ns": time.monotonic_ns()}
            try:
                found = fc.committed_files(request["destination"], **how)
            except fc.SnapshotUnstableError:
                line["unstable"] = True
            else:
                line |= {"ended_ns": time.monotonic_ns(), "names": found.names}
                if found and chance.random() < 0.2:
                    path = chance.choice(found.paths)
                    try:
                        line["text"] = found.filesystem.cat_file(path).decode()
                    except FileNotFoundError:
                        line["missed"] = True  # an overwrite has finished since
            log.write(json.dumps(line) + "\n")
    return None
