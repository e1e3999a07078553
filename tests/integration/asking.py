"""One of several processes that ask what is committed while others write, and log it."""

from __future__ import annotations

import json
import random
import time
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc
from fsspec_commit.cli import main
from fsspec_commit.destination import OpenDestination, open_destination
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.location import locate
from fsspec_commit.protocol import seen_jobs, snapshot, verify
from fsspec_commit.store import OpenOptions
from fsspec_commit.sync import bridge
from fsspec_commit.sync.reading import reader_of
from tests.integration.storm import how_of

if TYPE_CHECKING:
    from collections.abc import Callable

Line = dict[str, Any]
OPENED_EVERY = 20


def ask(request: Line) -> object:
    """Ask until the time is over, as often as there is time; one line of the log for each answer.

    Of four processes that ask, each has one of the `WAYS`. To open a bucket takes longer than to
    list it, so the first of every `OPENED_EVERY` answers is asked for in that way, by the public
    function or the command, which opens it. The others are of a store that is kept open: in the
    process of `verify` what it compares, and in the other three the list of `committed_files`, on
    which `dataset` and `ls` rest as well. So if all were as fast, one answer in four would be a
    comparison; and the call of each public function, or of the command, one in eighty.
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
    # One process in four imports Arrow. An answer that takes as long as what a way imports at first
    # may be of too many moments to check: that one is thrown away.
    way = [*WAYS][request["seed"] % len(WAYS)]
    if way in {"dataset", "ls"}:
        with suppress(unanswered):
            WAYS[way](destination, how, chance)
    of_open = _compared if way == "verify" else _names
    with Path(request["log"]).open("a") as log:
        # What is imported may take all the time there is.
        while time.monotonic() < until or not count:
            line: Line = {"begun_ns": time.monotonic_ns()}
            try:
                if count % OPENED_EVERY:
                    line |= bridge.run(of_open(to))
                    line["ended_ns"] = time.monotonic_ns()
                else:
                    line["way"] = way
                    line |= WAYS[way](destination, how, chance)
            except unanswered:
                line["unstable"] = True
            log.write(json.dumps(line) + "\n")
            count += 1
    bridge.run(to.store.close())
    return None


async def _names(to: OpenDestination) -> Line:
    """What `committed_files` does with the destination that it has opened."""
    to.list_without_versions()
    return {"names": (await snapshot.committed_files(reader_of(to))).names}


async def _compared(to: OpenDestination) -> Line:
    """What `verify` does at first with the destination that it has opened."""
    return _of_comparison(await verify.compare(reader_of(to)))


def _of_comparison(found: verify.Comparison | fc.VerifyReport) -> Line:
    return {
        "missing": list(found.missing),
        "changed": list(found.changed),
        "checked_count": found.checked_count,
        "file_count": found.file_count,
    }


def _by_call(destination: str, how: Line, chance: random.Random) -> Line:
    """By `committed_files`; and what one of the files holds."""
    found = fc.committed_files(destination, **how)
    line: Line = {"ended_ns": time.monotonic_ns(), "names": found.names}
    if found:
        try:
            line["text"] = found.filesystem.cat_file(chance.choice(found.paths)).decode()
        except FileNotFoundError:
            line["missed"] = True
    return line


def _by_dataset(destination: str, how: Line, _: random.Random) -> Line:
    """By `dataset`; Arrow, which is given a schema, opens none of the files."""
    import pyarrow as pa

    schema = pa.schema({"line": pa.string()})
    try:
        found = fc.dataset(destination, format="csv", schema=schema, **how)
    except FileNotFoundError:
        return {"missed": True}  # Arrow looks for each: an overwrite has finished since
    ended_ns = time.monotonic_ns()
    directory = destination.partition("://")[2] or destination
    files: list[str] = getattr(found, "files", [])  # without files it is a table
    return {"ended_ns": ended_ns, "names": _below(directory, files)}


def _by_command(destination: str, how: Line, _: random.Random) -> Line:
    """By the command `fsspec-commit ls`, in this process."""
    options = how.get("storage_options", {})
    texts = {
        name: one if isinstance(one, str) else json.dumps(one) for name, one in options.items()
    }
    given = [f"--storage-option={name}={text}" for name, text in texts.items()]
    with redirect_stdout(StringIO()) as out, suppress(SystemExit):
        main(["ls", destination, "--json", *given])
    ended_ns = time.monotonic_ns()
    document = json.loads(out.getvalue())
    if "error" in document:
        error = document["error"]
        raise getattr(fc, error["class"])(error["message"], stage="read")
    return {"ended_ns": ended_ns, "names": _below(destination, document["files"])}


def _by_verify(destination: str, how: Line, _: random.Random) -> Line:
    """By `verify`; and what jobs have left, which it looks for afterwards."""
    found = fc.verify(destination, **how)
    ended_ns = time.monotonic_ns()
    return {"ended_ns": ended_ns, **_of_comparison(found), "leftovers": list(found.leftovers)}


def _below(directory: str, files: list[str]) -> list[str]:
    assert all(file.startswith(f"{directory}/") for file in files), (directory, files)
    return sorted(file.removeprefix(f"{directory}/") for file in files)


WAYS: dict[str, Callable[[str, Line, random.Random], Line]] = {
    "committed_files": _by_call,
    "verify": _by_verify,
    "dataset": _by_dataset,
    "ls": _by_command,
}


def _look_once() -> None:
    """Whatever the second look shows, the list counts."""
    seen_jobs.Look.agrees_with = lambda *_: True  # type: ignore[method-assign]


PLANTED: dict[str, Callable[[], None]] = {
    "nothing": lambda: None,
    "one look": _look_once,
}
"""Bugs of a reader that the tests must notice; smaller ones are the simulator's."""
