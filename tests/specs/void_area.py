"""Whether an area without ``job.json`` is over or just beginning: every interleaving.

Where there are directories, a job's area is there before its ``job.json`` is. A `clean` that comes
by in between sees what it would see of a job that is over. One job starts, two times `clean` looks
at its area, again and again, and each may stop anywhere for any time. A disk puts ``job.json`` into
the directory that it has opened, wherever that is by then; HDFS and Gen2 put it where it was to be,
and make the directory once more if they have to.

Every step is one call. Who dies is who never takes another step: that is in it, since what must not
be is looked for in every state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from tests.specs.explore import Found, explore

if TYPE_CHECKING:
    from collections.abc import Iterator

Weakened: TypeAlias = Literal[
    "deleted_in_place",  # the area is looked into, then deleted, under its own name
    "not_looked_into",  # it is renamed away, and deleted without another look
    "not_put_back",  # one with job.json stays where it was taken to
    "start_not_confirmed",  # a job has begun when job.json is created, wherever that is
]
Creating: TypeAlias = Literal["by handle", "by path"]
Call: TypeAlias = Literal["list", "look", "take", "look into", "put back", "delete"]
AREA = "area"


@dataclass(frozen=True)
class Directory:
    """One directory: where it is now, whether it was opened for ``job.json``, and has it."""

    path: str
    is_opened: bool = False
    has_job: bool = False


@dataclass(frozen=True)
class Cleaner:
    """A `clean`: its next call, and the directory that it is about."""

    name: str
    at: Call = "list"
    path: str = ""


@dataclass(frozen=True)
class World:
    """What stands, how far the job is, and who cleans."""

    directories: frozenset[Directory] = frozenset()
    starter: Literal["make", "put", "confirm", "began", "gave up"] = "make"
    cleaners: tuple[Cleaner, ...] = (Cleaner("clean"), Cleaner("another clean"))

    def at(self, path: str) -> Directory | None:
        """The directory at *path*."""
        return next((one for one in self.directories if one.path == path), None)

    def put(self, old: Directory | None, new: Directory | None) -> World:
        """It changes, comes or goes."""
        came = frozenset[Directory]() if new is None else frozenset({new})
        return replace(self, directories=self.directories - {old} | came)


Step: TypeAlias = tuple[str, World]


def search(creating: Creating, weakened: Weakened | None = None) -> Found:
    """Search every interleaving under the rules, but for one that may be *weakened*."""
    return explore(World(), _Model(creating, weakened).steps, _wrong)


def _wrong(world: World) -> str | None:
    """What is broken in this state, if anything."""
    if world.starter != "began":
        return None
    found = [one.path for one in world.directories if one.has_job]
    if not found:
        return "job.json of a living job is deleted"
    if found != [AREA] and all(cleaner.at == "list" for cleaner in world.cleaners):
        return "the area of a living job is away, and nobody is about to put it back"
    return None


class _Model:
    def __init__(self, creating: Creating, weakened: Weakened | None) -> None:
        self._creating = creating
        self._weakened = weakened

    def steps(self, world: World) -> Iterator[Step]:
        """Everything that can happen next."""
        yield from self._starts(world)
        for number, cleaner in enumerate(world.cleaners):
            for label, following, moved in self._cleans(world, cleaner):
                cleaners = (*world.cleaners[:number], moved, *world.cleaners[number + 1 :])
                yield f"{cleaner.name} {label}", replace(following, cleaners=cleaners)

    def _starts(self, world: World) -> Iterator[Step]:
        area = world.at(AREA)
        if world.starter == "make":
            made = world.put(None, Directory(AREA, is_opened=True))
            yield "the job makes its area", replace(made, starter="put")
        elif world.starter == "put":
            confirmed = self._weakened == "start_not_confirmed"
            opened = next((one for one in world.directories if one.is_opened), None)
            into = opened if self._creating == "by handle" else area or Directory(AREA)
            if into is None:
                yield "the job's area is gone", replace(world, starter="gave up")
            else:
                put = world.put(into, replace(into, is_opened=False, has_job=True))
                began: Literal["began", "confirm"] = "began" if confirmed else "confirm"
                yield f"the job creates job.json: {into.path}", replace(put, starter=began)
        elif world.starter == "confirm":
            stands = area is not None and area.has_job
            label = f"the job looks for job.json: {stands}"
            yield label, replace(world, starter="began" if stands else "gave up")

    def _cleans(self, world: World, me: Cleaner) -> Iterator[tuple[str, World, Cleaner]]:
        over = Cleaner(me.name)
        there = world.at(me.path)
        if me.at == "list":
            yield from self._lists(world, me)
        elif me.at == "look":
            is_void = there is None or not there.has_job
            then: Call = "delete" if self._weakened == "deleted_in_place" else "take"
            after = replace(me, at=then) if is_void else over
            yield f"looks for job.json: {not is_void}", world, after
        elif me.at == "take":
            taken = _taken(me)
            if there is None or world.at(taken) is not None:
                yield "finds nothing to take", world, over
            else:
                then = "delete" if self._weakened == "not_looked_into" else "look into"
                moved = world.put(there, replace(there, path=taken))
                yield f"takes away: {me.path}", moved, Cleaner(me.name, then, taken)
        elif me.at == "look into":
            begun = there is not None and there.has_job
            yield f"looks into it: {begun}", world, self._decides(me, begun=begun)
        elif me.at == "put back":
            back = world
            if there is not None and world.at(AREA) is None:
                back = world.put(there, replace(there, path=AREA))
            yield "puts it back", back, over
        else:
            yield "deletes it", world.put(there, None), over

    def _decides(self, me: Cleaner, *, begun: bool) -> Cleaner:
        if not begun:
            return replace(me, at="delete")
        return Cleaner(me.name) if self._weakened == "not_put_back" else replace(me, at="put back")

    def _lists(self, world: World, me: Cleaner) -> Iterator[tuple[str, World, Cleaner]]:
        """It finds the area without a record, or what somebody who died has taken away."""
        for one in world.directories:
            if one.path != AREA:
                yield f"finds one taken away: {one.path}", world, Cleaner(me.name, "take", one.path)
            elif not one.has_job:
                yield "finds the area void", world, Cleaner(me.name, "look", AREA)


def _taken(me: Cleaner) -> str:
    # A name is never used again; here, each has two.
    first = f"taken by {me.name}"
    return f"{first}, again" if me.path == first else first
