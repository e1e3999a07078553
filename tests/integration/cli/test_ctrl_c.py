"""Ctrl-C: before the decision nothing is committed, after it nothing is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.integration.cli.command import Ran, command, files_of
from tests.integration.cli.drivers import left_behind
from tests.integration.cli.rows import TABLE, rows_of

if TYPE_CHECKING:
    from pathlib import Path

# The first reading of a file tells its schema, the second its rows: that one takes for ever.
SLOW_SOURCE = """
import io, sys, time
import fsspec
from fsspec.implementations.memory import MemoryFileSystem

class Slow(MemoryFileSystem):
    protocol = "slow"
    store, pseudo_dirs, opened = {}, [""], 0

    @classmethod
    def _strip_protocol(cls, path):
        return "/" + path.removeprefix("slow://").strip("/")

    def _open(self, path, mode="rb", **options):
        Slow.opened += 1
        return super()._open(path, mode, **options) if Slow.opened < 3 else Endless()

class Endless(io.RawIOBase):
    begun = False

    def readable(self):
        return True

    def read(self, size=-1):
        if not self.begun:
            print("reading", file=sys.stderr, flush=True)
            self.begun = True
        time.sleep(0.05)
        return b'{"n": 1}\\n' * 1000

fsspec.register_implementation("slow", Slow)
fsspec.filesystem("slow").pipe("/in.jsonl", b'{"n": 1}\\n')
from fsspec_commit.cli import main
main()
"""


def interrupted(
    program: str, *arguments: object, after: str, times: int = 1, by: int = signal.SIGINT
) -> Ran:
    """Run a command and press Ctrl-C, or send another signal, once it has said *after*."""
    with subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if after in line:
                break
        else:
            pytest.fail(f"{after!r} was never said: {said}")
        for number in range(times):
            # Two that are meant to be two, then as fast as fingers are.
            time.sleep(0.3 if number < 2 else 0.02)
            process.send_signal(by)
        began = time.monotonic()
        out, err = process.communicate(timeout=60)
        assert time.monotonic() - began < 10
    return Ran(process.returncode, out, said + err)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_before_the_decision_writes_nothing(destination: Path, by: int) -> None:
    """SIGTERM is how schedulers end a process."""
    ran = interrupted(SLOW_SOURCE, "write", "slow://in.jsonl", destination, after="reading", by=by)
    assert ran.status == 1
    assert ran.err == "reading\nerror: interrupted; nothing was committed\n"
    assert files_of(destination) == []
    assert command("jobs", destination).rows == []


# Each file takes so long to be published.
SLOW_STORE = """
import asyncio, sys
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore

seconds = float(sys.argv.pop(1))

async def carry(verb, path, call):
    if verb == "rename":
        print("publishing", file=sys.stderr, flush=True)
        await asyncio.sleep(seconds)
    return await call()

from fsspec_commit.cli import main
with wrapping(lambda store: WrappedStore(store, carry)):
    main()
"""


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_after_the_decision_finishes_the_job(
    source: Path, destination: Path, by: int
) -> None:
    ran = interrupted(SLOW_STORE, 2, "write", source, destination, after="publishing", by=by)
    assert ran.status == 0
    assert "warning: interrupted; committed" in ran.err
    assert rows_of(destination) == TABLE.to_pylist()
    assert command("jobs", destination).rows == []


def test_the_second_ctrl_c_stops_and_says_how_to_go_on(source: Path, destination: Path) -> None:
    ran = interrupted(SLOW_STORE, 60, "write", source, destination, after="publishing", times=60)
    assert ran.status == 3
    assert files_of(destination) == []
    [[job, state, *_]] = command("jobs", destination).rows
    assert state == "decided"
    assert f"fsspec-commit resume '{destination}' {job}" in ran.err
    assert command("resume", destination, job).status == 0
    assert rows_of(destination) == TABLE.to_pylist()


def test_ctrl_c_while_resuming_finishes_the_job(destination: Path) -> None:
    """And says so: what it has waited for has been done."""
    job = left_behind(destination, "decided")
    ran = interrupted(SLOW_STORE, 2, "resume", destination, job, after="publishing")
    assert ran.status == 0, ran.err
    assert "warning: interrupted; committed" in ran.err
    assert (destination / "_SUCCESS").exists()
    assert command("jobs", destination).rows == []


def test_ctrl_c_while_resuming_says_how_to_go_on(destination: Path) -> None:
    job = left_behind(destination, "decided")
    again = SLOW_STORE.replace('verb == "rename"', 'verb == "stat"')
    ran = interrupted(again, 60, "resume", destination, job, after="publishing", times=60)
    assert ran.status == 3
    assert f"fsspec-commit resume '{destination}' {job}" in ran.err
    assert command("resume", destination, job).status == 0
