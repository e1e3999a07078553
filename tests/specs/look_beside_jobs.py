"""The jobs in the model of a look beside the listings: what each does when it has decided.

A job removes the marker that it saw, publishes its file, deletes what it replaces, and leaves its
marker, the mark of its key and its epoch, in the orders that there are; then its area goes.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE, OLD, DONE, MARKER = "file ", "old", "done", "marker "


class Listing(NamedTuple):
    """What one listing has shown so far."""

    areas: frozenset[int] | None = None
    epochs: frozenset[int] | None = None
    pages: int = 0

    @property
    def is_done(self) -> bool:
        """Whether it has shown all."""
        return self.areas is not None and self.epochs is not None


IN_VAIN = Listing(frozenset(), frozenset(), pages=2)
"""Its first page was not all, and nobody asks for more."""


class Driver(NamedTuple):
    """Where a driver is; what its two listings and its look have shown so far; what is left.

    The jobs in `doubted` were not passed by the names in their areas.
    """

    at: str = "start"
    claimed: bool = False
    first: Listing = Listing()
    second: Listing = Listing()
    looked: int = 0
    seen: frozenset[str] = frozenset()
    todo: tuple[object, ...] = ()
    begun: frozenset[int] | None = None
    doubted: frozenset[int] = frozenset()


class State(NamedTuple):
    """The drivers, who resumes the jobs, and what stands at the destination and beside it."""

    drivers: tuple[Driver, ...]
    resumer: tuple[int, Driver]
    areas: frozenset[int]
    claims: frozenset[int]
    decided: tuple[str, ...]
    epochs: frozenset[int]
    unpublished: frozenset[int]
    there: frozenset[str]
    replaced: tuple[frozenset[str], ...]
    stands_for_half: str = ""
    was_lied_to: bool = False


Step: TypeAlias = tuple[str, State]
Act: TypeAlias = tuple[str, Driver, State]
DEAD, NOBODY = Driver("dead"), (-1, Driver("idle"))


class Jobs:
    """Two jobs and more.

    Args:
        modes: What they do, oldest first, by letters of the model.
        epoch_comes_late: Whether an epoch is written when the job is over.
    """

    def __init__(self, modes: str, *, epoch_comes_late: bool) -> None:
        self._modes = modes
        self._jobs = range(len(modes))
        self._epoch_comes_late = epoch_comes_late
        self._markers = frozenset(f"{MARKER}{job}" for job in self._jobs)

    def start(self) -> State:
        nothing: frozenset[str] = frozenset()
        there = nothing if "E" in self._modes else frozenset({OLD})
        return State(
            (Driver(),) * len(self._modes), NOBODY, frozenset(), frozenset(),
            ("",) * len(self._modes), frozenset(), frozenset(self._jobs), there,
            (nothing,) * len(self._modes),
        )  # fmt: skip

    def _conflict(self, one: int, other: int) -> bool:
        modes = {self._modes[one], self._modes[other]}
        return modes == {"K"} or not modes <= {"A", "K"}

    def _finishes(self, now: State, job: int, driver: Driver) -> Iterator[Act]:
        """What the driver and whoever resumes the job do alike."""
        late = self._epoch_comes_late
        if driver.at == "late epoch":
            yield "begins an epoch", Driver("over"), now._replace(epochs=now.epochs | {job})
        elif job not in now.areas:
            yield "finds it over", Driver("over"), now
        elif driver.at == "remove":
            stale = now.replaced[job] & self._markers
            left = now._replace(there=now.there - stale)
            yield "removes the marker that it saw", Driver("publish"), left
        elif driver.at == "publish":
            goes = sorted(now.replaced[job] - self._markers)
            yield "publishes", Driver("delete", todo=tuple(goes)), self._published(now, job)
        elif driver.at == "delete" and driver.todo:
            name, *rest = driver.todo
            left = now._replace(there=now.there - {str(name)})
            yield f"deletes {name}", driver._replace(todo=tuple(rest)), left
        elif driver.at == "delete":
            marks = ("marker", *(("mark",) if self._modes[job] == "K" else ()))
            todo = (*marks, *(() if late else ("epoch",)))
            yield "has deleted", Driver("end", todo=todo), now
        elif driver.todo:
            yield from self._ends(now, job, driver)
        else:
            over = now._replace(areas=now.areas - {job}, claims=now.claims - {job})
            yield "ends", Driver("late epoch" if late else "over"), over

    def _published(self, now: State, job: int) -> State:
        """All files of *job* are in place, and those before the last were when a marker stood."""
        if job not in now.unpublished:
            return now
        for other in self._jobs:
            if f"{MARKER}{other}" in now.there and self._conflict(job, other):
                now = now._replace(stands_for_half=f"P1: the marker of {other} for half of {job}")
        there = now.there | {f"{FILE}{job}"}
        return now._replace(unpublished=now.unpublished - {job}, there=there)

    def _ends(self, now: State, job: int, driver: Driver) -> Iterator[Act]:
        """The marker and then the mark of the key, and the epoch before, between or after them."""
        marks = [one for one in driver.todo if one != "epoch"]
        for what in (*marks[:1], *(["epoch"] if "epoch" in driver.todo else ())):
            left = now
            if what == "epoch":
                left = now._replace(epochs=now.epochs | {job})
            elif what == "mark":
                left = now._replace(there=now.there | {DONE})
            elif not self._markers & now.there:
                left = now._replace(there=now.there | {f"{MARKER}{job}"})
            rest = tuple(one for one in driver.todo if one != what)
            yield f"leaves its {what}", driver._replace(todo=rest), left

    def _decides(self, now: State, job: int, decision: str) -> State:
        decided = (*now.decided[:job], decision, *now.decided[job + 1 :])
        return now._replace(decided=decided)

    def _to(self, now: State, job: int, driver: Driver) -> State:
        return now._replace(drivers=(*now.drivers[:job], driver, *now.drivers[job + 1 :]))

    def wrong(self, now: State) -> str | None:
        """What is wrong, most of it when all is over."""
        if now.stands_for_half:
            return now.stands_for_half
        committed = [job for job in self._jobs if now.decided[job] == "C"]
        if any(one.at not in {"dead", "over"} for one in now.drivers) or now.resumer != NOBODY:
            return None
        if now.areas & frozenset(committed):
            return None
        if sum(self._modes[job] == "K" for job in committed) > 1:
            return f"P7: of {committed} two have one key"
        there = now.there - {DONE} - self._markers
        if any(self._serial(order) == there for order in permutations(committed)):
            return None
        return f"P11: no order of {committed} gives {sorted(there)}"

    def _serial(self, order: tuple[int, ...]) -> frozenset[str] | None:
        there = self.start().there
        for job in order:
            if self._modes[job] == "E" and there:
                return None
            there = (frozenset() if self._modes[job] in "OL" else there) | {f"{FILE}{job}"}
        return there
