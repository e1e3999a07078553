"""Deaths in the test's own process, for stores that only requests can change.

Whoever is killed and whoever never reaches the store again leave the same in it. So a death is a
call that raises, and every later one with it; and to be stopped is to wait in a call while others
work. That costs a fifth of a process that dies; `crashing_driver.py` has those that really do.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from itertools import count
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeVar, cast

from fsspec_commit.testing.faults import Crash
from tests.integration.crashing_driver import Fate, answer, learn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store
    from tests.integration.crashing_driver import Answer, Request

T = TypeVar("T")
_WAITS_S = 60


class SeemingFate(Fate):
    """What becomes of one request at its store calls, and of no other's."""

    _met: ContextVar[Fate] = ContextVar("met")

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.killed = False
        self.stopped = Event()
        self._going_on: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        # The loop that opens its stores is shared with others, its context is not.
        self._met.set(self)

    def wrap(self, store: Store) -> Store:
        return super().wrap(store) if self._met.get() is self else store

    def before(self, verb: str) -> int:
        if self.killed:
            raise Crash(f"{verb} after its death")
        self.verbs.append(verb)
        number = len(self.verbs)
        if self.how == "before" and number == self.nth:
            self._die()
        return number

    def after(self, number: int) -> None:
        if self.killed or (self.how == "after" and number == self.nth):
            self._die()

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if self.how == "stop" and len(self.verbs) + 1 >= self.nth:
            await self._stop()
        return await super().carry(verb, path, call)

    def go_on(self) -> None:
        assert self._loop is not None
        assert self._going_on is not None
        self._loop.call_soon_threadsafe(self._going_on.set)

    def _die(self) -> None:
        self.killed = True
        raise Crash(f"at call {self.nth}")

    async def _stop(self) -> None:
        if self._going_on is None:
            self._loop = asyncio.get_running_loop()
            self._going_on = asyncio.Event()
            self.stopped.set()
        await self._going_on.wait()


class _Stopping(Thread):
    """A request that stops on its way."""

    def __init__(self, request: Request) -> None:
        super().__init__(daemon=True)
        self.fate: SeemingFate | None = None
        self.said: Answer = {}
        self._request = request

    def run(self) -> None:
        self.said = answer(self._request, self._meet)

    def _meet(self, request: Request) -> Fate:
        self.fate = SeemingFate(request)
        return self.fate

    def has_stopped(self) -> bool:
        """Wait until it has, or has ended."""
        while self.is_alive():
            if self.fate is not None and self.fate.stopped.wait(0.002):
                return True
        return False


class OneProcess:
    """What `Processes` is, for requests that come one after the other; none is really killed."""

    killed = 0

    def __init__(self) -> None:
        self._known = set[str]()
        self._stopped: dict[int, _Stopping] = {}
        self._pids = count(1)

    def ask(self, op: str, **request: object) -> Answer:
        """It may fail, or seem to die."""
        if op == "continue":
            return self._go_on(cast("int", request["pid"]))
        asked: Request = {"op": op, **request}
        self._prepare(asked)
        if (asked.get("die") or (0, ""))[1] == "stop":
            return self._stop(asked)
        fates: list[SeemingFate] = []

        def meet(one: Request) -> Fate:
            fates.append(SeemingFate(one))
            return fates[-1]

        said = answer(asked, meet)
        return {"killed": any(fate.killed for fate in fates), **said}

    def do(self, op: str, **request: object) -> Any:
        """It must succeed."""
        said = self.ask(op, **request)
        assert "result" in said, said.get("error", said)
        return said["result"]

    def series(self, *requests: Answer) -> list[Answer]:
        """One after the other."""
        return cast("list[Answer]", self.do("series", requests=requests))

    def _prepare(self, asked: Request) -> None:
        """Find out what the server does; a call of a sweep is to be the same call each time."""
        for request in asked.get("requests", [asked]):
            bucket = "/".join(request["destination"].split("/")[:3])
            if bucket not in self._known:
                asyncio.run(learn(request))
                self._known.add(bucket)

    def _stop(self, asked: Request) -> Answer:
        thread = _Stopping(asked)
        thread.start()
        if thread.has_stopped():
            pid = next(self._pids)
            self._stopped[pid] = thread
            return {"pid": pid, "stopped": True}
        return {"killed": False, **thread.said}

    def _go_on(self, pid: int) -> Answer:
        thread = self._stopped.pop(pid)
        assert thread.fate is not None
        thread.fate.go_on()
        thread.join(_WAITS_S)
        assert not thread.is_alive()
        return {"killed": False, **thread.said}
