"""What tasks send to a store in memory, held back and counted, and what is there in the end."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore
from tests.scenes.waiting import until

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from concurrent.futures import Future

    import fsspec_commit as fc
    from fsspec_commit.layout import StorePath
    from tests.flat.bucket import Bucket

T = TypeVar("T")
WRITING = {"start", "put_part", "write", "finish"}


def write(task: fc.Task, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        with task.open(name) as file:
            file.write(data)


def content(bucket: Bucket) -> dict[str, bytes]:
    found = {key.removeprefix(f"{bucket.name}/out/"): bucket.get(key) for key in bucket.keys("")}
    return {
        name: one.data
        for name, one in found.items()
        if one is not None and not name.startswith("_")
    }


class Gate:
    """What a task sends waits here, once the gate is shut, until it is opened.

    Attributes:
        sent: How often each request was sent, by its verb.
        most: The most files that were on their way at once.
        refused: A part of names: the last request of such a file is refused.
        is_down: Whether the store refuses whatever it is asked.
        verbs: The requests that wait.
    """

    def __init__(self) -> None:
        self.sent = Counter[str]()
        self.most = 0
        self.refused = ""
        self.reply = Reply.REFUSED
        self.is_down = False
        self.verbs = WRITING
        self._is_open = threading.Event()
        self._is_open.set()
        self._now = Counter[str]()

    def shut(self) -> None:
        self._is_open.clear()

    def open(self) -> None:
        self._is_open.set()

    def write(self, task: fc.Task, files: dict[str, bytes]) -> None:
        """Write *files*, of which none has failed before the last is closed."""
        self.shut()
        write(task, files)
        self.open()

    @property
    def waiting(self) -> int:
        """How many files wait at the gate."""
        return len(self._now)

    def wait_for(self, files: int) -> None:
        """Until so many wait here."""
        until(lambda: self.waiting == files)

    @contextmanager
    def in_place(self) -> Iterator[Gate]:
        with wrapping(lambda store: WrappedStore(store, self._carry)):
            try:
                yield self
            finally:
                self.open()

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb not in WRITING or path.endswith("_SUCCESS"):
            self._refuse_if_down(path)
            return await call()
        self.sent[verb] += 1
        self._now[path] += 1
        self.most = max(self.most, self.waiting)
        try:
            while verb in self.verbs and not self._is_open.is_set():  # noqa: ASYNC110  # of threads
                await asyncio.sleep(0.001)
            self._refuse_if_down(path)
            if self.refused and self.refused in path and verb in {"put_part", "finish"}:
                raise StoreError("there is no room", reply=self.reply, path=path)
            return await call()
        finally:
            self._now[path] -= 1
            self._now += Counter()

    def _refuse_if_down(self, path: StorePath) -> None:
        if self.is_down:
            raise StoreError("the store is down", reply=Reply.REFUSED, path=path)


@contextmanager
def meanwhile(call: Callable[[], T]) -> Iterator[Future[T]]:
    """What *call* returns, which goes on in another thread during the block."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(call)


def still_waits(future: Future[Any]) -> bool:
    """Whether it has not ended after a while in which it would have."""
    threading.Event().wait(0.05)
    return not future.done()
