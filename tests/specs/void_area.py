"""Whether an area without ``job.json`` is over or just beginning: every interleaving.

Where there are directories, a job's area is there before its ``job.json`` is. A `clean` that comes
by in between sees what it would see of a job that is over. One job starts, two times `clean` looks
at its area, again and again, and each may stop anywhere for any time. A disk puts ``job.json`` into
the directory that it has opened, wherever that is by then; HDFS and Gen2 put it where it was to be,
and make the directory once more if they have to. A job whose ``job.json`` is refused, or is not
where it looks for it, begins under another id.

`clean` removes an empty area on condition that it is empty, and one with anything else in it as
that of a job that is over, since ``job.json`` is the first thing in an area: on Gen2 where it is,
on a disk and HDFS by a rename. A listing may come in two pages, and the second one shows what came
after the first: so `clean` looks for ``job.json`` once more after it has listed what is in the
area. No area of a living job is ever away.

Where no directory can be removed so, `clean` renames every such area away to look into it, and so
did the first versions on disks and HDFS. Beside these the job looks where its ``job.json`` is, and
its area may be away for as long as such a `clean` takes.

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
WeakenedIfEmpty: TypeAlias = Literal[
    "deleted_in_place",  # an area that was seen empty is deleted with what is in it by then
    "record_first",  # another record may come into an area before job.json
    "not_looked_after",  # nobody looks for job.json after the area is listed
]
Creating: TypeAlias = Literal["by handle", "by path"]
Removing: TypeAlias = Literal["by rename", "if empty", "if empty, or by rename"]
RenamingCall: TypeAlias = Literal["list", "look", "take", "look into", "put back", "delete"]
Call: TypeAlias = RenamingCall | Literal["list the rest", "look after", "remove"]
AREA = "area"
EARLIER = "another clean"
"""Where two versions meet, that of the earlier one."""


@dataclass(frozen=True)
class Directory:
    """One directory: where it is now, whether it was opened for ``job.json``, and what it has."""

    path: str
    is_opened: bool = False
    has_job: bool = False
    has_record: bool = False


@dataclass(frozen=True)
class Cleaner:
    """A `clean`: its next call, and the directory that it is about."""

    name: str
    at: Call = "list"
    path: str = ""
    sees_record: bool = False


@dataclass(frozen=True)
class World:
    """What stands, how far the job is, and who cleans."""

    directories: frozenset[Directory] = frozenset()
    starter: Literal["make", "put", "confirm", "began", "ended", "gave up"] = "make"
    cleaners: tuple[Cleaner, ...] = (Cleaner("clean"), Cleaner(EARLIER))

    def at(self, path: str) -> Directory | None:
        """The directory at *path*."""
        return next((one for one in self.directories if one.path == path), None)

    def put(self, old: Directory | None, new: Directory | None) -> World:
        """It changes, comes or goes."""
        came = frozenset[Directory]() if new is None else frozenset({new})
        return replace(self, directories=self.directories - {old} | came)


Step: TypeAlias = tuple[str, World]
_AWAY = "the area of a living job is away"


def search(creating: Creating, weakened: Weakened | None = None) -> Found:
    """Search, where every area is renamed, under the rules, but for one that may be *weakened*."""
    return explore(World(), _Model(creating, "by rename", weakened).steps, _wrong)


def search_if_empty(
    creating: Creating, removing: Removing, weakened: WeakenedIfEmpty | None = None
) -> Found:
    """Search, where an empty area is removed on that condition."""
    return explore(World(), _Model(creating, removing, weakened).steps, _wrong_if_empty)


def search_beside_earlier(creating: Creating) -> Found:
    """Search, where that is one `clean`, and the other one renames every area."""
    model = _Model(creating, "if empty, or by rename", None, earlier=EARLIER)
    return explore(World(), model.steps, _wrong)


def _wrong(world: World) -> str | None:
    """What is broken in this state, if anything."""
    problem = _wrong_if_empty(world)
    is_about_to_return = any(cleaner.at != "list" for cleaner in world.cleaners)
    return None if problem == _AWAY and is_about_to_return else problem


def _wrong_if_empty(world: World) -> str | None:
    """What is broken in this state, where no area of a living job may be away."""
    if world.starter != "began":
        return None
    found = [one.path for one in world.directories if one.has_job]
    if not found:
        return "job.json of a living job is deleted"
    return None if found == [AREA] else _AWAY


class _Model:
    def __init__(
        self,
        creating: Creating,
        removing: Removing,
        weakened: Weakened | WeakenedIfEmpty | None,
        *,
        earlier: str | None = None,
    ) -> None:
        self._creating = creating
        self._removing = removing
        self._weakened = weakened
        self._earlier = earlier
        self._is_confirmed = removing == "by rename" or earlier is not None

    def steps(self, world: World) -> Iterator[Step]:
        """Everything that can happen next."""
        yield from self._starts(world)
        if self._removing != "by rename":
            yield from self._goes_on(world)
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
            confirms = self._is_confirmed and self._weakened != "start_not_confirmed"
            opened = next((one for one in world.directories if one.is_opened), None)
            into = opened if self._creating == "by handle" else area or Directory(AREA)
            if into is None:
                yield "the job's area is gone", replace(world, starter="gave up")
            else:
                put = world.put(into, replace(into, is_opened=False, has_job=True))
                began: Literal["began", "confirm"] = "confirm" if confirms else "began"
                yield f"the job creates job.json: {into.path}", replace(put, starter=began)
        elif world.starter == "confirm":
            stands = area is not None and area.has_job
            label = f"the job looks for job.json: {stands}"
            yield label, replace(world, starter="began" if stands else "gave up")

    def _goes_on(self, world: World) -> Iterator[Step]:
        """The job ends; its records come while it lives, and late, where they make their area."""
        area = world.at(AREA)
        if world.starter == "began" and area is not None:
            yield "the job ends", replace(world.put(area, None), starter="ended")
            without = world.put(area, replace(area, has_job=False))
            yield (
                "the job ends, and dies before its area has gone",
                replace(without, starter="ended"),
            )
        is_first = world.starter == "put" and self._weakened == "record_first"
        if is_first or world.starter in {"began", "ended"}:
            # On Gen2 it makes its area; on a disk and HDFS that must be there.
            into = area or Directory(AREA) if self._removing == "if empty" else area
            if into is not None:
                yield "a record comes", world.put(area, replace(into, has_record=True))

    def _cleans(self, world: World, me: Cleaner) -> Iterator[tuple[str, World, Cleaner]]:
        over = Cleaner(me.name)
        there = world.at(me.path)
        if me.at == "list":
            yield from self._lists(world, me)
        elif me.at == "look":
            is_void = there is None or not there.has_job
            after = replace(me, at=self._after_look(me)) if is_void else over
            yield f"looks for job.json: {not is_void}", world, after
        elif me.at == "take":
            taken = _taken(me)
            if there is None or world.at(taken) is not None:
                yield "finds nothing to take", world, over
            else:
                then: Call = "delete" if self._weakened == "not_looked_into" else "look into"
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
        elif me.at == "delete":
            yield "deletes it", world.put(there, None), over
        else:
            yield self._removes_if_empty(world, me)

    def _removes_if_empty(self, world: World, me: Cleaner) -> tuple[str, World, Cleaner]:
        there = world.at(me.path)
        has_job = there is not None and there.has_job
        has_record = there is not None and there.has_record
        if me.at == "list the rest":
            seen = replace(me, at="look after", sees_record=has_record)
            is_enough = self._weakened == "not_looked_after"
            after = self._sentenced(seen) if is_enough else seen
            return f"lists the rest: {has_record}", world, after
        if me.at == "look after":
            after = Cleaner(me.name) if has_job else self._sentenced(me)
            return f"looks once more: {has_job}", world, after
        is_empty = there is not None and not (has_job or has_record)
        removed = world.put(there, None) if is_empty else world
        return f"removes it if empty: {is_empty}", removed, Cleaner(me.name)

    def _after_look(self, me: Cleaner) -> Call:
        if self._weakened == "deleted_in_place":
            return "delete"
        renames = self._removing == "by rename" or me.name == self._earlier
        return "take" if renames else "list the rest"

    def _sentenced(self, me: Cleaner) -> Cleaner:
        if not me.sees_record:
            return replace(me, at="remove")
        return replace(me, at="delete" if self._removing == "if empty" else "take")

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
