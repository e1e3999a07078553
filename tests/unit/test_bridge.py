"""Where synchronous callers meet the loop: forks, nested calls, cancellation, Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.sync import bridge

if TYPE_CHECKING:
    from collections.abc import Callable


async def double(number: int) -> int:
    """Twice as much."""
    await asyncio.sleep(0)
    return number * 2


async def fail(error: BaseException) -> None:
    await asyncio.sleep(0)
    raise error


async def thread_name() -> str:
    return threading.current_thread().name


def test_it_returns_what_the_call_returns() -> None:
    assert bridge.run(double(4)) == 8
    assert bridge.run(thread_name()) == "fsspec-commit"
    assert bridge.loop() is bridge.loop()


@pytest.mark.parametrize(
    "error",
    [KeyError("x"), asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt(), GeneratorExit()],
    ids=lambda error: type(error).__name__,
)
def test_it_raises_what_the_call_raises_and_lives_on(error: BaseException) -> None:
    with pytest.raises(type(error)):
        bridge.run(fail(error))
    assert bridge.run(double(4)) == 8


def test_a_cancelled_call_raises_instead_of_answering_none() -> None:
    async def cancel_itself() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)

    with pytest.raises(asyncio.CancelledError):
        bridge.run(cancel_itself())


def test_a_blocking_function_keeps_its_signature() -> None:
    synchronous = bridge.blocking(double)
    assert synchronous(number=4) == 8
    assert (synchronous.__name__, synchronous.__doc__) == ("double", "Twice as much.")


def test_many_threads_share_one_loop() -> None:
    """Another version of the library in this process would have one of its own, called the same."""

    async def double_where(number: int) -> tuple[int, threading.Thread]:
        return await double(number), threading.current_thread()

    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda n: bridge.run(double_where(n)), range(200)))
    assert [doubled for doubled, _ in found] == [2 * n for n in range(200)]
    (thread,) = {where for _, where in found}
    assert thread.name == "fsspec-commit"


@pytest.mark.parametrize("name", ["fsspec-commit", "fsspecIO"])
def test_calling_from_a_loops_thread_is_refused_at_once(name: str) -> None:
    raised: list[BaseException] = []

    def nested() -> None:
        try:
            bridge.run(double(1))
        except RuntimeError as error:
            raised.append(error)

    thread = threading.Thread(target=nested, name=name)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert "would deadlock" in str(raised[0])
    assert "asyncio.to_thread" in str(raised[0])


def test_a_nested_call_is_refused_and_the_outer_one_goes_on() -> None:
    async def outer() -> str:
        with pytest.raises(RuntimeError, match="would deadlock"):
            bridge.run(double(1))
        return "done"

    assert bridge.run(outer()) == "done"


def test_it_works_inside_another_running_loop() -> None:
    """Jupyter and FastAPI have one; ours blocks it, as it must."""

    async def notebook() -> tuple[int, int]:
        return bridge.run(double(1)), await asyncio.to_thread(bridge.run, double(2))

    assert asyncio.run(notebook()) == (2, 4)


def test_a_call_waits_for_no_lock_that_it_may_be_interrupting() -> None:
    """The collector, or a signal, may make one while its own thread is at :func:`bridge.loop`."""
    bridge.loop()
    with ThreadPoolExecutor(1) as threads, bridge._lock:
        assert threads.submit(bridge.run, double(1)).result(10) == 2


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("used_before", [False, True])
def test_a_forked_child_has_its_own_loop(used_before: bool) -> None:
    if used_before:
        bridge.run(double(1))
    mine = bridge.loop()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if bridge.run(double(4)) == 8 and bridge.loop() is not mine:
                status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert bridge.run(double(5)) == 10


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_while_the_lock_is_held_does_not_hang_the_child() -> None:
    with bridge._lock:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(10)
                status = 0 if bridge.run(double(4)) == 8 else 1
            finally:
                os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


PROGRAM = """
import asyncio, sys
from fsspec_commit.sync import bridge

async def work():
    print("begun", flush=True)
    try:
        {body}
    except asyncio.CancelledError:
        print("cancelled", flush=True)
        await asyncio.sleep(0.1)
        print("cleaned up", flush=True)
        raise
    print("finished", flush=True)
    return "answer"

try:
    print(bridge.run(work(), may_interrupt=lambda: {may_interrupt}), flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
except ValueError as error:
    print("error:", error, flush=True)
print("after:", bridge.run(asyncio.sleep(0, "usable")), flush=True)
"""


def interrupted(
    body: str, *, may_interrupt: bool, presses: int = 1, after: Callable[[str], bool] | None = None
) -> list[str]:
    """What a program prints in which Ctrl-C is pressed while a call is under way."""
    program = PROGRAM.format(
        body=textwrap.dedent(body).strip().replace("\n", "\n        "), may_interrupt=may_interrupt
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip()]
        assert lines == ["begun"]
        for _ in range(presses):
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return rest.split("\n")[:-1]


def test_ctrl_c_cancels_the_call_and_awaits_its_end() -> None:
    assert interrupted("await asyncio.sleep(60)", may_interrupt=True) == [
        "cancelled",
        "cleaned up",
        "interrupted",
        "after: usable",
    ]


def test_ctrl_c_where_it_must_not_cancel_waits_for_the_end() -> None:
    assert interrupted("await asyncio.sleep(1)", may_interrupt=False) == [
        "finished",
        "interrupted",
        "after: usable",
    ]


def test_a_second_ctrl_c_cancels_in_any_case() -> None:
    assert interrupted("await asyncio.sleep(60)", may_interrupt=False, presses=2) == [
        "cancelled",
        "cleaned up",
        "interrupted",
        "after: usable",
    ]


def test_an_error_of_the_call_outranks_the_interrupt() -> None:
    body = """
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        raise ValueError("half done")
    """
    assert interrupted(body, may_interrupt=True) == ["error: half done", "after: usable"]


@pytest.mark.parametrize("exit_", [SystemExit, KeyboardInterrupt])
def test_an_exit_in_a_task_that_a_call_has_begun_does_not_end_the_loop(
    exit_: type[BaseException],
) -> None:
    """asyncio lets exits through to whoever runs the loop; other callers would wait for ever."""

    async def leave() -> None:
        raise exit_

    async def call() -> None:
        await asyncio.create_task(leave())

    with pytest.raises(exit_):
        bridge.run(call())

    async def answer() -> int:
        return 1

    assert bridge.run(answer()) == 1
