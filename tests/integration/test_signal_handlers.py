"""What the handler of a signal raises, such as an exit or a time limit, stops a job as Ctrl-C does.

It is raised in the thread that waits. Left to itself the job would go on behind it: what was told
to be aborted would be committed, or half of it when the program ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.assertions import assert_committed, assert_no_leftovers
from fsspec_commit.testing.committer_contract.given import write
from fsspec_commit.testing.wrapped import WrappedStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from fsspec_commit.layout import StorePath

T = TypeVar("T")

FILES = {f"{number}.txt": b"x" for number in range(2)}


class TimeLimitError(Exception):
    """As task queues raise it."""


@pytest.fixture(params=[SystemExit, TimeLimitError])
def raised(request: pytest.FixtureRequest) -> Iterator[type[BaseException]]:
    """What the signal raises."""
    kind: type[BaseException] = request.param

    def handler(*_: object) -> None:
        raise kind

    before = signal.signal(signal.SIGUSR1, handler)
    yield kind
    signal.signal(signal.SIGUSR1, before)


class Signal:
    """Sends the signal at the first creation of a file whose path holds *part*."""

    def __init__(self, part: str) -> None:
        self._part = part
        self.sent = 0

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "create" and self._part in path and not self.sent:
            self.sent += 1
            os.kill(os.getpid(), signal.SIGUSR1)
            await asyncio.sleep(0.3)
        return await call()


def run(destination: Path, sent: Signal) -> None:
    with (
        wrapping(lambda store: WrappedStore(store, sent.carry)),
        fc.Job(destination, mode="append") as job,
        job.task() as task,
    ):
        write(task, FILES)


@pytest.mark.guarantees("P5")
@pytest.mark.parametrize("part", ["/job.json", "/manifests/", "/claim-"])
def test_before_the_decision_it_aborts(
    tmp_path: Path, raised: type[BaseException], part: str
) -> None:
    destination, sent = tmp_path / "out", Signal(part)
    with pytest.raises(raised):
        run(destination, sent)
    assert sent.sent
    assert {path.name for path in destination.rglob("*")} <= {"_commit"}


@pytest.mark.guarantees("P1")
@pytest.mark.parametrize("part", ["/decision", "/published"])
def test_after_the_decision_it_finishes_and_says_so(
    tmp_path: Path, raised: type[BaseException], part: str
) -> None:
    destination, sent = tmp_path / "out", Signal(part)
    with pytest.raises(raised) as caught:
        run(destination, sent)
    assert sent.sent
    (note,) = caught.value.__notes__
    assert note.startswith("committed:")
    assert_committed(destination, file_count=len(FILES))
    assert_no_leftovers(destination)
