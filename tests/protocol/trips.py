"""Round trips in a row: destinations in virtual time, each call to which takes a millisecond."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from fsspec_commit.new_job import new_job_at
from fsspec_commit.options import JobOptions
from fsspec_commit.protocol.driver import Driver
from fsspec_commit.store import Expect
from fsspec_commit.testing.simulation import FAMILIES, Plan
from fsspec_commit.testing.simulation.loop import SimulationLoop
from fsspec_commit.testing.simulation.process import Process
from fsspec_commit.testing.simulation.store import SimulatedStore
from fsspec_commit.testing.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Coroutine

    import pytest

    from fsspec_commit.layout import StorePath
    from fsspec_commit.protocol.bound_job import BoundJob

T = TypeVar("T")
_TOP = "bucket/top/out"
_TRIP_S = 0.001
"""Short, so that no job is so slow that it has to show that it lives."""


class Trips:
    """A destination of one kind, each call to which takes a millisecond, or what is said.

    A page holds a thousand entries or so many, and what a listing has shown is deleted at once:
    with adapters, too, small directories are listed by one request, and emptied in the time of
    another.
    """

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        family: str,
        *,
        old: tuple[str, ...] = (),
        page_entries: int = 1_000,
        trip_s: float = _TRIP_S,
    ) -> None:
        self._trip_s = trip_s
        patch.setattr(Process, "_travel_s", lambda _: trip_s / 2)
        kind = FAMILIES[family]
        if kind.page_entries is not None:
            patch.setitem(FAMILIES, family, replace(kind, page_entries=page_entries))
            if not kind.deletes_trees:
                patch.setattr(SimulatedStore, "delete_tree", _delete_at_once)
        self.loop = SimulationLoop()
        self._world = World(Plan(family=family, old=old), self.loop)
        self._forgotten = 0

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        try:
            return self.loop.run_until_complete(doing)
        finally:
            self.loop.close()

    @property
    def taken(self) -> int:
        """How many round trips have passed."""
        return round(self.loop.now / self._trip_s)

    async def sleep(self, trips: float) -> None:
        """Do nothing for so many round trips."""
        await asyncio.sleep(trips * self._trip_s)

    async def begun(self, **options: Any) -> Driver:
        """A driver of a job, by default of one that adds files."""
        to = self._world.open(self._world.process(f"p{len(self._world.processes)}"))
        chosen = JobOptions(**{"mode": "append", **options})  # type: ignore[typeddict-item]  # as a test says
        new = await new_job_at(to, chosen, ids=to.ids)
        driver = Driver()
        await driver.start(new.store, new.with_new_id)
        return driver

    async def started(self) -> BoundJob:
        return (await self.begun()).started()

    def listed(self, since: int) -> list[tuple[int, str]]:
        """The directories of data that were listed after so many round trips, a page each time.

        Beside each is the round trip in which it was, counted from the first of them.
        """
        found = [
            (int(event.time_s / self._trip_s), event.path.removeprefix(_TOP).removeprefix("/"))
            for event in self._world.trace.events
            if event.what in {"list_tree", "list_children"} and event.path.startswith(_TOP)
        ]
        data = [one for one in found if one[0] >= since and not f"{one[1]}/".startswith("_commit/")]
        first = min((trip for trip, _ in data), default=0)
        return [(trip - first + 1, name) for trip, name in data]

    def deleted(self, since: int) -> list[int]:
        """The round trips in which files of data were deleted, one for each file."""
        return [
            int(event.time_s / self._trip_s)
            for event in self._world.trace.events
            if event.what == "delete"
            and not event.path.startswith(f"{_TOP}/_commit/")
            and event.time_s >= since * self._trip_s
        ]

    def calls(self) -> Counter[str]:
        """How often each verb was called since :meth:`forget`."""
        events = self._world.trace.events[self._forgotten :]
        return Counter(event.what for event in events if event.path)

    def forget(self) -> None:
        """Count calls from now on."""
        self._forgotten = len(self._world.trace.events)

    def asked(self, since: int) -> list[str]:
        """What was asked after so many round trips, a line for each of them."""
        trips: dict[int, list[str]] = {}
        for event in self._world.trace.events:
            number = int(event.time_s / self._trip_s)
            if number >= since and event.path:
                said = f"{event.what} {event.path.removeprefix('bucket/top/')}"
                trips.setdefault(number, []).append(said)
        return [f"{number - since + 1:3} {', '.join(trips[number])}" for number in sorted(trips)]


async def _delete_at_once(store: SimulatedStore, path: StorePath) -> None:
    keys = [entry.path async for entry in store.list_tree(path)]
    await asyncio.gather(*(store.delete(key, expecting=Expect.ANYTHING) for key in keys))
