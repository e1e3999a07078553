"""A program that forks at every store call of a job; its children try all they can.

Run by `test_forks_at_calls.py`: arguments are what becomes of the job, a directory on a disk or the
habits of a bucket in memory, and what the first child tries. The job is written by a thread of its
own. Whenever its store is called, that call waits until the main thread has forked, and the child
has ended. A child that reaches a store is heard of, and its call is carried out: on a disk its
parent's files would show it as well. When the parent's job is over it is looked at, and how often
it has forked is printed.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import queue
import re
import sys
import threading
from collections import Counter
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import assert_committed, assert_no_leftovers
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat import store as _flat  # noqa: F401  # the protocol of `flat://`
from tests.flat.bucket import ALL_HABITS, make_bucket

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from fsspec_commit.layout import StorePath

T = TypeVar("T")

PARENT = os.getpid()
_HUNG_S = 60


class Held:
    """What the parent's thread has at the moment; a child inherits it."""

    def __init__(self, job: fc.Job) -> None:
        self.job = job
        self.task: fc.Task | None = None
        self.files: list[Any] = []
        self.local: Any = None


class GivenUpError(Exception):
    """Raised by the parent, whose job is aborted then; and by a child, in its parent's blocks."""


def tell_all(held: Held) -> None:
    """Everything that changes something says that this is the wrong process."""
    calls: list[Callable[[], Any]] = [
        held.job.start,
        held.job.task,
        lambda: held.job.adopt(0, "0" * 16, []),
        held.job.commit,
        held.job.abort,
    ]
    task = held.task
    if task is not None:
        calls += [
            lambda: task.open("child.txt"),
            lambda: task.local_file("child.db"),
            lambda: task.filesystem,
        ]
        # Of what is over nothing is changed any more, by whomever it is asked.
        is_over = "committed" in repr(task) or "aborted" in repr(task)
        calls += [] if is_over else [task.commit, task.abort]
    for call in calls:
        refused(call, "fork")
    for one in held.files:
        # Of one that its parent is closing just now nothing more is said than that it is closed.
        refused(partial(one.write, one_line(one, "child")), "fork|closed file")


def refused(call: Callable[[], object], why: str) -> None:
    """*call* raises, and says why; without pytest, which would make forks slow."""
    said = "nothing"
    try:
        call()
    except (RuntimeError, ValueError) as error:
        said = str(error)
    assert re.search(why, said), said


def leave_well(held: Held) -> None:
    """The blocks are left as if all were well, the innermost first."""
    for block in blocks(held):
        block.__exit__(None, None, None)


def leave_failing(held: Held) -> None:
    """The blocks are left by an exception."""
    error = GivenUpError()
    for block in blocks(held):
        block.__exit__(type(error), error, None)


def drop(held: Held) -> None:
    """Files are closed and discarded by hand, and everything becomes garbage."""
    for one in held.files:
        one.discard()
        one.close()
    for name in ("job", "task", "files", "local"):
        setattr(held, name, None)
    gc.collect()


WAYS = (tell_all, leave_well, leave_failing, drop)


def blocks(held: Held) -> Iterator[Any]:
    yield from reversed(held.files)
    if held.local is not None:
        yield held.local
    if held.task is not None:
        yield held.task
    yield held.job


def one_line(file: Any, who: str) -> Any:
    text = f"{who}\n"
    return text.encode() if "b" in file.mode else text


class Forks:
    """Has each store call wait for a child, which ends before it is carried out.

    Args:
        held: What a child inherits.
        turn: What the first child tries; the next ones try what follows in `WAYS`.
    """

    def __init__(self, held: Held, turn: int) -> None:
        self.made = Counter[str]()
        self.wrong: list[str] = []
        self._held = held
        self._turn = turn
        self._heard, self._told = os.pipe()
        self._asking = queue.SimpleQueue[str]()
        self._may_go_on = queue.SimpleQueue[None]()

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        """One call, on the loop's thread."""
        if os.getpid() != PARENT:
            os.write(self._told, f"a child calls {verb} {path}\n".encode())
            return await call()
        self._asking.put(verb)
        self._may_go_on.get()
        return await call()

    def over(self) -> None:
        """The parent's job is over."""
        self._asking.put("")

    def serve(self) -> None:
        """Fork whenever a call asks for it, until the parent's job is over."""
        for turn in count(self._turn):
            if not (verb := self._asking.get()):
                break
            # One way at a time: what one does could keep the next from doing anything.
            self._fork(WAYS[turn % len(WAYS)], verb)
            self.made[verb] += 1
            self._may_go_on.put(None)
        os.close(self._told)
        with os.fdopen(self._heard) as heard:
            self.wrong += heard

    def _fork(self, way: Callable[[Held], None], verb: str) -> None:
        child = os.fork()
        if child == 0:
            faulthandler.dump_traceback_later(_HUNG_S, exit=True)
            way(self._held)
            if way is not drop:
                os._exit(0)  # As `multiprocessing` ends it. An end of the interpreter takes long.
            raise SystemExit(0)
        _, status = os.waitpid(child, 0)
        if status != 0:
            self.wrong.append(f"{way.__name__} at {verb}: {status}")


def write(held: Held, *, gives_up: bool) -> None:
    """Write the files of a task, as a program does that knows nothing of forks."""
    with held.job:
        with held.job.task() as held.task:
            with held.task.open("text.txt", "w") as text, held.task.open("bytes.txt") as binary:
                held.files = [text, binary]
                for one in held.files:
                    one.write(one_line(one, "parent 1"))
                for one in held.files:
                    one.write(one_line(one, "parent 2"))
            held.files = []
            held.local = held.task.local_file("local.db")
            with held.local as path, open(path, "wb") as local:  # noqa: PTH123  # a text
                local.write(b"parent")
            held.local = None
        if gives_up:
            raise GivenUpError


def main() -> None:
    """Write, fork at each call, and look at what has come of it."""
    what, where, turn = sys.argv[1:]
    is_disk = where.startswith("/")
    url = where if is_disk else f"flat://{make_bucket(ALL_HABITS[where]).name}/top/out"
    # A file is stored when it is closed: so it is known at which call which thread is where.
    held = Held(fc.Job(url, mode="append", names="exact", write_behind=False))
    forks = Forks(held, int(turn))
    failures: list[BaseException] = []

    def act() -> None:
        try:
            with wrapping(lambda store: WrappedStore(store, forks.carry)):
                write(held, gives_up=what == "aborts")
        except GivenUpError:
            pass
        except BaseException as error:  # noqa: BLE001  # raised where it is waited for
            failures.append(error)
        finally:
            forks.over()

    thread = threading.Thread(target=act)
    thread.start()
    forks.serve()
    thread.join()
    if failures:
        raise failures[0]
    assert not forks.wrong, forks.wrong
    if what == "commits":
        assert_committed(url, file_count=3)
    else:
        assert not fc.committed_files(url).names
    assert_no_leftovers(url)
    print(json.dumps(forks.made))


if __name__ == "__main__":
    main()
