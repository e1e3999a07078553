"""What the tests have a worker of Dask do: a slice, and something that goes wrong in it."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from distributed import Status, get_client

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore
from tests.dask.seen import until

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Sequence

    from distributed import Worker

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store

T = TypeVar("T")
Function = Callable[[str], str]

TASKS = 5
FILES_PER_TASK = 6


def write(destination: object, **options: Any) -> fc.CommitResult:
    with fc.Job(destination, **options) as job:  # type: ignore[arg-type]  # a path or a URL
        for task_id in range(TASKS):
            with job.task(task_id) as task:
                for number in range(FILES_PER_TASK):
                    with task.open(f"p={number}/a.txt", "w") as file:
                        file.write(f"{job.mode} {task_id} {number}")
    return job.result


def expected(mode: str) -> list[str]:
    return sorted(
        f"{mode} {task_id} {number}" for task_id in range(TASKS) for number in range(FILES_PER_TASK)
    )


class Spoilt:
    """A publisher that has its calls go wrong.

    Args:
        real: Who runs them.
        spoil: Makes of what is called what is called instead.
    """

    def __init__(self, real: fc.Publisher, spoil: Callable[[Function], Function]) -> None:
        self._real = real
        self._spoil = spoil

    def map(self, function: Function, texts: Sequence[str], /) -> Iterator[str]:
        yield from self._real.map(self._spoil(function), texts)


@dataclass(frozen=True)
class Noted:
    """Notes each of its runs, and the process, in a file."""

    function: Function
    notes: Path

    def __call__(self, text: str) -> str:
        with self.notes.open("a") as notes:
            notes.write(f"{os.getpid()}\n")
        return self.function(text)


@dataclass(frozen=True)
class KilledWithin:
    """The worker that is first to rename its third file is killed."""

    function: Function
    mark: Path

    def __call__(self, text: str) -> str:
        renames = 0

        async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
            nonlocal renames
            renames += verb == "rename"
            if renames == 3 and _is_first(self.mark):
                os.kill(os.getpid(), signal.SIGKILL)
            return await call()

        with wrapping(lambda store: WrappedStore(store, carry)):
            return self.function(text)


def _is_first(mark: Path) -> bool:
    """Whether nobody else has made *mark*."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


@dataclass(frozen=True)
class Raising:
    """Raises in place of a slice, or as soon as a slice has opened its store."""

    function: Function
    text: str
    opened: bool

    def __call__(self, text: str) -> str:
        if not self.opened:
            raise ValueError(self.text)

        def raising(_: Store) -> Store:
            raise ValueError(self.text)

        with wrapping(raising):
            return self.function(text)


class Unreadable:
    """What only a machine with another package could read."""

    def __init__(self, _: Function) -> None: ...

    def __call__(self, text: str) -> str:
        raise AssertionError("it could be read")

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, ("not_installed_anywhere",)


@dataclass(frozen=True)
class Dead:
    """Kills each worker that runs it."""

    function: Function

    def __call__(self, text: str) -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        return self.function(text)


@dataclass(frozen=True)
class Slow:
    """Takes its time, once it has said that it has begun."""

    function: Function
    mark: Path
    seconds: float

    def __call__(self, text: str) -> str:
        self.mark.touch()
        time.sleep(self.seconds)
        return self.function(text)


@dataclass(frozen=True)
class Held:
    """One run goes on; the others wait until *let_go* is there."""

    function: Function
    mark: Path
    let_go: Path

    def __call__(self, text: str) -> str:
        if not _is_first(self.mark):
            until(self.let_go.exists)
        return self.function(text)


def upper(text: str) -> str:
    return text.upper()


def set_status(name: str, dask_worker: Worker) -> None:
    """As a worker does whose memory is full, or has room again."""
    dask_worker.status = Status[name]


def commit_inside(destination: Path) -> int:
    """A task that commits, and keeps its thread."""
    publisher = fc.dask.publisher(get_client())
    return write(destination, mode="append", publisher=publisher).file_count


async def comes_late(*_: object, **__: object) -> list[str]:
    """In place of fetching answers, which have been lost."""
    await asyncio.sleep(3)
    return ["late"]
