"""Drivers of several jobs on one loop in virtual time, and what happens at their calls.

Everything here is a coroutine: a test runs one by :func:`tests.unit.effects.virtual_time.run`.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from fsspec_commit.destination import OpenDestination, open_destination
from fsspec_commit.errors import CommitError, Reply, StoreError
from fsspec_commit.ids import IdSource
from fsspec_commit.location import locate
from fsspec_commit.names import Target
from fsspec_commit.new_job import new_job_at
from fsspec_commit.protocol.attempt import commit_attempt
from fsspec_commit.protocol.driver import Driver
from fsspec_commit.store import OpenOptions
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash
from fsspec_commit.testing.wrapped import WrappedStore

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsspec_commit.layout import StorePath
    from fsspec_commit.protocol.bound_job import BoundJob
    from fsspec_commit.records.job import TaskCommit

Call: TypeAlias = "Callable[[], Awaitable[Any]]"
Hook: TypeAlias = "Callable[[str, StorePath, Call], Awaitable[Any]]"
"""Carries a call: it may do something before, answer itself, or raise."""
BEGIN = datetime(2026, 11, 20, tzinfo=UTC)
TRIP_S = 0.01
SOME_TIME_S = 1.0
"""Longer than all calls take that are under way, and shorter than a job is silent."""


class Clock:
    """Ids of jobs in the order in which they start, and times a second apart."""

    def __init__(self) -> None:
        self.moment = BEGIN
        self.ids = IdSource(random.Random(5), self._now)

    def _now(self) -> datetime:
        return self.moment + timedelta(seconds=asyncio.get_running_loop().time())


class Stop:
    """Stops a driver before a call, once: it makes no other one, either, until it is let go.

    Attributes:
        reached: Set when it stands there.
        passed: Set to let it go on.
        calls: Every call of the driver, by verb and path.
    """

    def __init__(self, verb: str, part: str) -> None:
        self._verb, self._part = verb, part
        self.reached, self.passed = asyncio.Event(), asyncio.Event()
        self.calls: list[tuple[str, str]] = []

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        self.calls.append((verb, path))
        if verb == self._verb and self._part in path:
            self.reached.set()
        if self.reached.is_set():
            await self.passed.wait()
        return await call()


class Then:
    """Does something before a call, once."""

    def __init__(self, verb: str, part: str, do: Callable[[], Awaitable[object]]) -> None:
        self._verb, self._part, self._do = verb, part, do
        self.done = False

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        if not self.done and verb == self._verb and self._part in path:
            self.done = True
            await self._do()
        return await call()


@dataclass
class Before:
    """Each call takes a while; something is done before one of them, which then waits for that.

    Attributes:
        calls: Every call, by verb and path.
        under_way: How many are under way.
        does: What to do before the call of a verb, on a path with a part, of such a number.
    """

    calls: list[tuple[str, str]] = field(default_factory=list)
    under_way: int = 0
    does: dict[tuple[str, str, int], Callable[[], Awaitable[object]]] = field(default_factory=dict)

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        self.calls.append((verb, path))
        self.under_way += 1
        try:
            for (one, part, number), do in [*self.does.items()]:  # what is done may add more
                if one == verb and part in f"{path}/" and self.count(verb, part) == number:
                    await do()
            await asyncio.sleep(TRIP_S)
            return await call()
        finally:
            self.under_way -= 1

    async def nothing_follows(self) -> None:
        """See that no call is under way, and that none comes any more."""
        assert self.under_way == 0
        asked = len(self.calls)
        await asyncio.sleep(SOME_TIME_S)
        assert len(self.calls) == asked

    def count(self, verb: str, part: str) -> int:
        """How many calls of a verb there were on paths with a part."""
        return sum(one == verb and part in f"{path}/" for one, path in self.calls)


class Fails:
    """Fails each call of a verb, on paths with a part, in one way: by default it is refused.

    Attributes:
        verb: The verb; one that is none fails nothing.
    """

    def __init__(self, verb: str, part: str, error: BaseException | None = None) -> None:
        self.verb, self._part = verb, part
        self._error = error or StoreError("not yours", reply=Reply.REFUSED)

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        if verb == self.verb and self._part in path:
            raise self._error
        return await call()


class Hides:
    """Says that there is no file of a name, as a proxy may; listings leave it out as well.

    Args:
        by: Which calls do so.
        hidden: The names, with "_" for ".", and how often each is hidden.

    Attributes:
        hidden: What is hidden now: each call on it counts it down, until it is at 0.
    """

    def __init__(self, *by: str, **hidden: int) -> None:
        self._by = by or ("read", "stat", "list_children")
        self.hidden = Counter(hidden)

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        answer = await call()
        if verb not in self._by:
            return answer
        if verb in {"read", "stat"} and self._hides(path):
            return None
        if verb == "list_children":
            return [child for child in answer if not self._hides(child.path)]
        return answer

    def _hides(self, path: str) -> bool:
        name = path.rpartition("/")[2].replace(".", "_")
        is_hidden = self.hidden[name] > 0
        self.hidden[name] -= is_hidden
        return is_hidden


class Sleeper:
    """A driver that stops before its decision, and dies just after that."""

    def __init__(self) -> None:
        self.ended: asyncio.Future[Any] | None = None
        self.stands, self.wakes = asyncio.Event(), asyncio.Event()
        self._is_late = False

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        if verb == "create" and path.endswith("/decision"):
            self.stands.set()
            await self.wakes.wait()
            self._is_late = True
            return await call()
        if self._is_late and verb == "read" and path.endswith("/job.json"):
            raise Crash
        return await call()

    async def wake(self) -> None:
        """Let it go on, to its end."""
        self.wakes.set()
        assert self.ended is not None
        with suppress(Crash, CommitError):
            await self.ended


async def straight(verb: str, path: StorePath, call: Call) -> Any:
    """A call that nothing happens to."""
    return await call()


async def opened(url: str, clock: Clock, hook: Hook = straight) -> OpenDestination:
    """A destination, each call to which is carried by *hook*."""
    with wrapping(lambda store: WrappedStore(store, hook)):  # type: ignore[arg-type]  # one of any type
        return await open_destination(locate(url), OpenOptions(choosing=True), ids=clock.ids)


async def started(url: str, clock: Clock, hook: Hook = straight, **options: Any) -> Driver:
    """A driver of a job, by default of one that adds files; later ones have later ids."""
    clock.moment += timedelta(seconds=1)
    to = await opened(url, clock, hook)
    new = await new_job_at(to, {"mode": "append", **options}, ids=clock.ids)  # type: ignore[typeddict-item]  # as a test says
    driver = Driver()
    await driver.start(new.store, new.with_new_id)
    return driver


async def wrote(
    driver: Driver, *names: str, task: int = 0, data: bytes | None = None
) -> TaskCommit:
    """The message of a task that has written files, which hold their names, or *data*."""
    job = driver.started()
    return await attempt(job, names, task, data)


async def attempt(
    job: BoundJob, names: Iterable[str], task: int = 0, data: bytes | None = None
) -> TaskCommit:
    layout = job.layout.attempt(task, job.store.ids.attempt_id())
    output = job.committer.attempt(layout)
    for name in names:
        writer = output.writer(job.final_name(Target(name), layout))
        await writer.write(name.encode() if data is None else data)
        await writer.finish()
    return await commit_attempt(layout, output, job.store, rows=None, collect=job.record.collect)
