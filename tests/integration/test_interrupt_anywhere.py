"""Ctrl-C between any two steps of the thread that waits: all or nothing, and nobody hangs.

The interpreter hears signals after calls, at the beginning of functions and when it jumps back.
Each such point of a job is tried, deterministically, by a tracing function that raises there; and
real signals come in a storm, several to a job.
"""

from __future__ import annotations

import asyncio
import dis
import faulthandler
import gc
import random
import signal
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec
import pytest

import fsspec_commit as fc
from fsspec_commit.sync import bridge
from tests.flat import store as _flat  # noqa: F401  # the protocol of `flat://`
from tests.flat.bucket import AWS, make_bucket
from tests.integration.tracing import traced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

FILES = {"a.txt", "b.txt"}
_HEARD_S = 60.0
ROOT = str(Path(fc.__file__).parent)
_LOOP = ("asyncio/base_events.py", "asyncio/selector_events.py", "asyncio/events.py")

pytestmark = [
    pytest.mark.guarantees("P5", "P8"),
    pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:.*was abandoned:ResourceWarning"),
    # Python itself swallows what is raised while it collects an object: that interrupt is lost.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*was never awaited:RuntimeWarning"),
]


class Interrupts:
    """Counts the points at which an interrupt is heard, and raises one at some of them."""

    def __init__(self, at: set[int], *, inside: Callable[[str], bool]) -> None:
        self.count = 0
        self._at = at
        self._inside = inside
        self._before: dict[FrameType, str] = {}

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if not self._inside(frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            before = self._before.get(frame, "")
            self._before[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            # After a call, not before it, where CPython hears none: else no lock is ever let go.
            if before in {"RESUME", "CALL", "CALL_FUNCTION_EX"} or "BACKWARD" in before:
                self.count += 1
                if self.count in self._at:
                    raise KeyboardInterrupt
        elif event == "return":
            self._before.pop(frame, None)
        return self


def is_ours(filename: str) -> bool:
    return filename.startswith(ROOT) or filename.endswith(_LOOP)


def write_a_job(url: str, jobs: list[fc.Job]) -> None:
    job = fc.Job(url, mode="append", names="exact")
    jobs.append(job)
    with job, job.task() as task:
        for name in FILES:
            with task.open(name, "w") as file:
                file.write(name)


def is_committed(job: fc.Job) -> bool:
    try:
        return job.result.state == "committed"
    except RuntimeError:
        return False


def wait_for_calls() -> None:
    """Wait for every call that a third interrupt left running: it is a driver that still lives."""

    async def others() -> None:
        if calls := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(calls)

    asyncio.run_coroutine_threadsafe(others(), bridge.loop()).result(_HEARD_S)


def check(
    url: str, jobs: list[fc.Job], told: BaseException | None, *, may_lack_notes: bool = False
) -> str:
    """What is there is all or nothing, and what the caller was told.

    Of several interrupts one may come while the note to another is written.
    """
    faulthandler.dump_traceback_later(_HEARD_S, exit=True)
    try:
        wait_for_calls()
        under_way = fc.jobs(url)
        names, states = shown(url), {one.state for one in under_way}
        notes = " ".join(getattr(told, "__notes__", []))
        if told is None or any(map(is_committed, jobs)) or "committed:" in notes:
            assert (names, under_way) == (FILES, []), notes
            return "committed"
        if "fsspec-commit resume" in notes or (
            may_lack_notes and states & {"decided", "published"}
        ):
            # Where the last interrupts came after all was done, there is nothing left to resume.
            for one in under_way:
                (fc.abort if one.state == "committing" else fc.resume)(url, one.job_id)
            assert shown(url) == (set() if "committing" in states else FILES)
            return "decided"
        assert names == set()
        assert states <= {"open", "committing", "aborted"}
        for one in under_way:
            fc.abort(url, one.job_id)
        assert (shown(url), fc.jobs(url)) == (set(), [])
        return "nothing"
    finally:
        faulthandler.cancel_dump_traceback_later()


def shown(url: str) -> set[str]:
    if url.startswith("flat:"):
        filesystem, root = fsspec.core.url_to_fs(url)
        found = filesystem.find(root)
        return {name.rpartition("/")[2] for name in found if name.endswith(".txt")}
    return {path.name for path in Path(url).glob("*.txt")}


@pytest.fixture(params=["disk", "paged"])
def urls(request: pytest.FixtureRequest, fast: Path) -> Callable[[int], str]:
    """Destinations by number; `paged` is reached through the loop for every file."""
    if request.param == "disk":
        return lambda number: str(fast / f"out-{number}")
    bucket = make_bucket(AWS).name
    return lambda number: f"flat://{bucket}/out-{number}"


@pytest.fixture(autouse=True)
def no_job_outlives_its_test() -> Iterator[None]:
    """Jobs that were given up are collected in the test, with the warning they are due."""
    yield
    gc.collect()


def run(url: str, at: set[int]) -> tuple[str, int]:
    """One job, interrupted at the points *at*; what became of it, and how many points it had."""
    jobs: list[fc.Job] = []
    told: BaseException | None = None
    interrupts = Interrupts(at, inside=is_ours)
    try:
        with traced(interrupts):
            write_a_job(url, jobs)
    except KeyboardInterrupt as interrupt:
        told = interrupt
    return check(url, jobs, told), interrupts.count


def test_one_interrupt_at_any_point(urls: Callable[[int], str]) -> None:
    """From the making of the job to its end."""
    outcomes: set[str] = set()
    # Some jobs have more points than others: what is collected meanwhile has some of its own.
    for point in count(1):
        outcome, points = run(urls(point), {point})
        outcomes.add(outcome)
        if points < point:
            break
    assert point > 250
    assert outcomes >= {"nothing", "committed"}


def test_a_storm_of_signals(urls: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Real ones, from a random moment on every three milliseconds."""
    source = random.Random(20)  # a sample
    on = False

    def heard(*_: object) -> None:
        if on:
            raise KeyboardInterrupt

    # An interrupt in the hook of pytest's would be told as its failure.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    before = signal.signal(signal.SIGALRM, heard)
    outcomes: list[str] = []
    try:
        for number in range(1, 61):
            jobs: list[fc.Job] = []
            told: BaseException | None = None
            try:
                on = True
                signal.setitimer(signal.ITIMER_REAL, source.uniform(2e-4, 6e-2), 3e-3)
                write_a_job(urls(number), jobs)
                on = False
            except KeyboardInterrupt as interrupt:
                on = False
                told = interrupt
            outcomes.append(check(urls(number), jobs, told, may_lack_notes=True))
    finally:
        on = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(outcomes) == 60
