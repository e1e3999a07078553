"""Runs programs, each in a fresh fork of this process, which has imported what they all need.

The command's imports cost a second of CPU, Arrow's most of all. What it does with its arguments,
streams, signals and exit status is its own process's either way; that it starts from nothing is
seen by `test_terminal.py`, by `test_ctrl_c.py` and by each page of the documentation. A line on the
input is a request, a line on the output its answer. Started by `command.py`.
"""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from typing import Any

import pyarrow.csv
import pyarrow.dataset
import pyarrow.json
import pyarrow.parquet  # noqa: F401  # so that a fork need not
import rich.console
import rich.progress
import rich.table  # noqa: F401  # as above

import fsspec_commit.cli.application  # noqa: F401  # as above

with suppress(ImportError):
    # What Typer itself imports for the first command line, since 0.27.
    import_module("typer._adapters")
_HUNG_S = 120


def serve() -> dict[str, Any] | None:
    """Answer requests until there are no more; a fork returns with its own."""
    for line in sys.stdin.buffer:
        request: dict[str, Any] = json.loads(line)
        ours, theirs = zip(os.pipe(), os.pipe(), strict=True)
        with warnings.catch_warnings():
            # Threads of libraries: they have prepared for it.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            become(request, ours, theirs)
            return request
        for end in theirs:
            os.close(end)
        out, err = read_all(*ours)
        _, status = os.waitpid(child, 0)
        answer = [os.waitstatus_to_exitcode(status), out, err]
        print(json.dumps(answer), flush=True)
    return None


def become(request: dict[str, Any], ours: tuple[int, ...], theirs: tuple[int, ...]) -> None:
    """Be as a process is that was started so."""
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for number, end in enumerate((nowhere, *theirs)):
        os.dup2(end, number)
    for end in (nowhere, *ours, *theirs):
        os.close(end)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  # the other one has read ahead
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["directory"])
    sys.argv = ["-c", *request["arguments"]]
    signal.alarm(_HUNG_S)


def read_all(*ends: int) -> list[str]:
    """What comes from all of them, as it comes, until they are closed."""
    found = {end: bytearray() for end in ends}
    with selectors.DefaultSelector() as waiting:
        for end in ends:
            waiting.register(end, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                data = os.read(key.fd, 1 << 16)
                found[key.fd] += data
                if not data:
                    waiting.unregister(key.fd)
                    os.close(key.fd)
    return [bytes(data).decode() for data in found.values()]


if __name__ == "__main__":
    # Nothing that stands already is looked at again by each fork, not even when it ends.
    gc.freeze()
    todo = serve()
    if todo is not None:
        exec(compile(todo["program"], "<string>", "exec"), {"__name__": "__main__"})
