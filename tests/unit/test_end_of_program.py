"""What goes on when the main thread of a program has come to its end, and how long it may."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest


def at_its_end(program: str) -> list[str]:
    """What a program says that has something go on at its end."""
    text = f"""
import asyncio, os, signal, sys, threading, time
from fsspec_commit.sync import bridge

async def end():
    await asyncio.sleep(SECONDS)
    print("has ended", flush=True)

def given_up():
    print("given up", flush=True)

SECONDS = 0.3
bridge.loop()
{textwrap.dedent(program)}
print("main ends", flush=True)
"""
    ran = subprocess.run(
        [sys.executable, "-c", text], check=True, capture_output=True, text=True, timeout=60
    )
    assert ran.stderr == ""
    return ran.stdout.splitlines()


def test_the_end_of_a_program_waits() -> None:
    program = "assert bridge.wait_at_exit(end, given_up) and bridge.wait_at_exit(end, given_up)"
    assert at_its_end(program) == ["main ends", "has ended"]


def test_what_begins_at_the_end_of_a_program_is_not_waited_for() -> None:
    """Threads run on when the program has waited; so what they begin must not be left behind."""
    program = """
    def late():
        time.sleep(1)
        print("waits:", bridge.wait_at_exit(end, given_up), flush=True)

    assert bridge.wait_at_exit(end, given_up)
    threading.Thread(target=late).start()
    """
    assert at_its_end(program) == ["main ends", "has ended", "waits: False"]


def test_a_program_that_says_so_is_about_to_end() -> None:
    program = """
    with bridge.about_to_end():
        with bridge.about_to_end():
            pass
        assert not bridge.wait_at_exit(end, given_up)
    assert bridge.wait_at_exit(end, given_up)
    """
    assert at_its_end(program) == ["main ends", "has ended"]


def test_a_thread_may_work_when_the_main_one_has_ended() -> None:
    """Python waits for it, and ends all pools of threads before: no host was found by its name."""
    program = """
    async def looked_up():
        return await asyncio.to_thread(lambda: "done")

    async def failed():
        await asyncio.to_thread(int, "x")

    def late():
        threading.main_thread().join()
        print(bridge.run(looked_up()), flush=True)
        try:
            bridge.run(failed())
        except ValueError:
            print("failed", flush=True)

    threading.Thread(target=late).start()
    """
    assert at_its_end(program) == ["main ends", "done", "failed"]


def test_a_signal_may_come_while_the_loop_is_made() -> None:
    """Whoever handles it may use the library: that waited for its own thread, for ever."""
    program = """
    async def answer():
        return 1

    def make():
        asyncio.new_event_loop = new
        os.kill(os.getpid(), signal.SIGTERM)
        return new()

    signal.alarm(30)
    signal.signal(signal.SIGTERM, lambda *_: print("handled", bridge.run(answer()), flush=True))
    new, asyncio.new_event_loop = asyncio.new_event_loop, make
    bridge._loop = None
    first = bridge.loop()
    assert first is bridge.loop() and bridge.run(answer()) == 1
    """
    assert at_its_end(program) == ["handled 1", "main ends"]


def test_the_end_of_a_program_does_not_wait_for_ever() -> None:
    program = """
    SECONDS, bridge._WAIT_AT_EXIT_S = 60, 0.2
    assert bridge.wait_at_exit(end, given_up)
    """
    assert at_its_end(program) == ["main ends", "given up"]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_the_wait_and_nothing_else(name: str) -> None:
    """Other threads, and the pools, have work to do that a program ends with."""
    program = f"""
    def work():
        time.sleep(1.5)
        print("work is done", flush=True)

    def interrupt():
        time.sleep(0.5)
        os.kill(os.getpid(), signal.{name})

    SECONDS = 60
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
    assert bridge.wait_at_exit(end, given_up)
    threading.Thread(target=interrupt, daemon=True).start()
    threading.Thread(target=work).start()
    """
    assert at_its_end(program) == ["main ends", "given up", "work is done"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process can be forked here")
def test_a_child_that_is_forked_at_the_end_is_not_ending() -> None:
    program = """
    with bridge.about_to_end():
        child = os.fork()
        if not child:
            waits = bridge.wait_at_exit(end, given_up)
            os._exit(0 if waits else 1)
        assert os.waitpid(child, 0)[1] == 0
    """
    assert at_its_end(program) == ["main ends"]
