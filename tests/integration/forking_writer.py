"""A program that forks in the midst of writing, and whose children end in one of many ways.

Run by `test_fork.py`: arguments are the destination, the storage options and the names of ways.
What a child does to what it has inherited must change nothing for its parent, which writes on. Each
way has a destination of its own, named as it is, and its name is printed when the parent has
committed.
"""

import gc
import json
import multiprocessing
import os
import sys
from collections.abc import Callable
from typing import Any

import pytest

import fsspec_commit as fc


class ChildError(Exception):
    """Raised by the child, through all blocks."""


def _nothing(*_: Any) -> None:
    """Leave the blocks as if all were well, and end as any program does."""


def _exception(*_: Any) -> None:
    raise ChildError


def _exit(*_: Any) -> None:
    sys.exit(0)


def _exit_at_once(*_: Any) -> None:
    os._exit(0)


def _close(_job: fc.Job, _task: fc.Task, files: list[Any]) -> None:
    for file in files:
        file.close()


def _discard(_job: fc.Job, _task: fc.Task, files: list[Any]) -> None:
    for file in files:
        file.discard()


def _forget(_job: fc.Job, _task: fc.Task, files: list[Any]) -> None:
    files.clear()
    gc.collect()


def _use(job: fc.Job, task: fc.Task, files: list[Any]) -> None:
    """Everything that changes something says that this is the wrong process."""
    calls: list[Callable[[], Any]] = [
        lambda: files[0].write("child"),
        lambda: files[1].write(b"child"),
        lambda: files[2].write("child"),
        lambda: task.open("child.txt"),
        lambda: task.filesystem,
        task.commit,
        task.abort,
        job.commit,
        job.abort,
        job.task,
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="fork"):
            call()


def _task_of_its_own(job: fc.Job, _task: fc.Task, files: list[Any]) -> None:
    """A child may do its part of the work in an attempt of its own."""
    del files
    options = json.loads(sys.argv[2])
    with (
        fc.Task.from_spec(job.spec, 0, storage_options=options) as own,
        own.open("speculative.txt", "w") as file,
    ):
        file.write("child")


_WAYS = {
    way.__name__.lstrip("_"): way
    for way in (
        _nothing,
        _exception,
        _exit,
        _exit_at_once,
        _close,
        _discard,
        _forget,
        _use,
        _task_of_its_own,
    )
}


def run(how: str, way: str, url: str, options: dict[str, Any]) -> None:
    """Write two tasks' files around a fork."""
    with fc.Job(url, mode="append", names="exact", storage_options=options) as job:
        with job.task(1) as first:
            for number in range(3):
                with first.open(f"whole-{number}.txt", "w") as file:
                    file.write("whole")
        with (
            job.task(0) as task,
            task.open("text.txt", "w") as text,
            task.open("bytes.txt") as binary,
            task.open("layers.txt.gz", "w", compression="gzip") as layers,
        ):
            files: list[Any] = [text, binary, layers]
            with task.open("again.txt", "w") as again:
                again.write("again")
            text.write("parent 1\n")
            binary.write(b"parent 1\n")
            layers.write("parent 1\n")
            _FORKS[how](lambda: _WAYS[way](job, task, files))
            text.write("parent 2\n")
            binary.write(b"parent 2\n")
            layers.write("parent 2\n")


def by_os(act: Callable[[], None]) -> None:
    """The child unwinds what its parent is in, up to the end of the program."""
    child = os.fork()
    if child == 0:
        act()
        raise SystemExit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status


def by_multiprocessing(act: Callable[[], None]) -> None:
    """The child runs a function, and ends as `multiprocessing` ends it."""
    process = multiprocessing.get_context("fork").Process(target=act)
    process.start()
    process.join()
    assert process.exitcode == 0, process.exitcode


_ODD = {("multiprocessing", "exception"), ("multiprocessing", "exit_at_once")}
"""What `multiprocessing` takes for a failure, or never hears of."""
_FORKS = {"os": by_os, "multiprocessing": by_multiprocessing}
ALL = [f"{how}-{way}" for how in _FORKS for way in _WAYS if (how, way) not in _ODD]


def main() -> None:
    """Fork in each of the ways."""
    url, options, names = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
    parent = os.getpid()
    for name in names:
        how, _, way = name.partition("-")
        try:
            run(how, way, f"{url}/{name}", options)
        except ChildError:
            if os.getpid() == parent:
                raise
            sys.exit(0)
        print(name, flush=True)


if __name__ == "__main__":
    main()
