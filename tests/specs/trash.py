"""What may be taken away for an old file, where a file can only be renamed: every interleaving.

A job has published, and an old file is to go: it is renamed into the trash of the job's work area,
and goes with the area. A driver and a resumer both do that, each as slowly as it likes, and each
may die anywhere; somebody else replaces the file under its name meanwhile, twice at most; a `clean`
comes by. Whatever else than the old file was taken is put back before anything is deleted.

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
    "nothing_put_back",  # what was taken in the old file's place stays in the trash
    "not_looked_at_the_end",  # it is put back where it was taken, and not once more with the area
    "looked_at_the_end_only_in_place",  # before the area goes, not when nobody finds it any more
    "looked_under_the_name_of_remains",  # where a `clean` deletes without a look
    "taken_over_what_was_taken",  # a rename into the trash replaces what is there
    "put_back_over_what_came",  # a rename out of it replaces what is there
]
File: TypeAlias = Literal["", "old", "newer", "newest"]
Place: TypeAlias = str
"""``area``, ``taken by`` somebody (a name of their own), ``remains`` or ``gone``."""
_NEXT: dict[File, File] = {"": "newer", "old": "newer", "newer": "newest"}


@dataclass(frozen=True)
class Driver:
    """One who finishes the job: the next call, and what was seen that it will go by.

    ``missed`` is whether it took something else than the old file, or found the old file gone.
    """

    name: str
    at: str = "look"
    missed: bool = False


@dataclass(frozen=True)
class Disk:
    """What stands under the file's name, what lies in the trash, and where the work area is.

    ``written`` is the model's own knowledge: what somebody else wrote last.
    """

    file: File = "old"
    trash: File = ""
    area: Place = "area"
    written: File = ""
    lost: File = ""
    cleaning: Place = ""
    drivers: tuple[Driver, ...] = (Driver("driver"), Driver("resumer"))


Step: TypeAlias = tuple[str, Disk]


def search(weakened: Weakened | None = None) -> Found:
    """Search every interleaving under the rules, but for one that may be *weakened*."""
    return explore(Disk(), _Model(weakened).steps, _wrong)


def _wrong(disk: Disk) -> str | None:
    if disk.lost:
        return f"the {disk.lost} file of somebody else is lost"
    told = {driver.at for driver in disk.drivers}
    if "committed" in told and disk.written and disk.file != disk.written:
        return "the job is over, and the file that somebody else wrote is not under its name"
    return None


class _Model:
    def __init__(self, weakened: Weakened | None) -> None:
        self._weakened = weakened

    def steps(self, disk: Disk) -> Iterator[Step]:
        """Everything that can happen next."""
        if disk.written != "newest":
            new = _NEXT[disk.written]
            yield f"somebody else writes a {new} file", replace(disk, file=new, written=new)
        yield from _cleans(disk)
        for number, driver in enumerate(disk.drivers):
            for label, following, moved in self._acts(disk, driver):
                drivers = (*disk.drivers[:number], moved, *disk.drivers[number + 1 :])
                yield f"{driver.name} {label}", replace(following, drivers=drivers)

    def _acts(self, disk: Disk, me: Driver) -> Iterator[tuple[str, Disk, Driver]]:
        in_place = disk.area == "area"
        if me.at == "look":
            at = "take" if disk.file == "old" else "see"
            yield f"looks: {disk.file or 'nothing'}", disk, replace(me, at=at)
        elif me.at == "take":
            over = self._weakened == "taken_over_what_was_taken"
            moved = disk
            if in_place and disk.file and (over or not disk.trash):
                moved = replace(_replaced(disk), file="", trash=disk.file)
            yield f"takes: {disk.file or 'nothing'}", moved, replace(me, at="see")
        elif me.at == "see":
            in_trash = disk.trash if in_place else ""
            missed = in_trash != "old"
            at = "give back" if missed and in_trash and not self._keeps() else "retire"
            yield f"sees in the trash: {in_trash or 'nothing'}", disk, Driver(me.name, at, missed)
        elif me.at == "give back":
            yield "puts back", *self._puts_back(disk, me, "area", then="retire")
        else:
            yield from self._retires(disk, me)

    def _keeps(self) -> bool:
        return self._weakened == "nothing_put_back"

    def _puts_back(self, disk: Disk, me: Driver, place: Place, *, then: str) -> tuple[Disk, Driver]:
        """One rename that is refused when the name is taken; then this driver gives up."""
        if disk.area != place or disk.trash in {"", "old"}:
            return disk, replace(me, at=then)
        if disk.file and self._weakened != "put_back_over_what_came":
            failed = "failed" if place == "area" else "bring the area back"
            return disk, replace(me, at=failed)
        lost = disk.file if disk.file != "old" else ""
        return replace(disk, file=disk.trash, trash="", lost=lost), replace(me, at=then)

    def _retires(self, disk: Disk, me: Driver) -> Iterator[tuple[str, Disk, Driver]]:
        if me.at == "retire":
            if me.missed and not self._keeps() and self._weakened != "not_looked_at_the_end":
                yield "looks at the end", *self._puts_back(disk, me, "area", then="take away")
            else:
                yield "goes on", disk, replace(me, at="discard area")
        elif me.at == "take away":
            yield self._takes_away(disk, me)
        elif me.at.startswith("look there"):
            place = me.at.removeprefix("look there: ")
            then = "delete" if place == "remains" else f"discard {place}"
            yield "looks there", *self._puts_back(disk, me, place, then=then)
        elif me.at == "bring the area back":
            back = replace(disk, area="area") if disk.area == _taken_by(me.name) else disk
            yield "brings the area back", back, replace(me, at="failed")
        elif me.at.startswith("discard"):
            if disk.area == me.at.removeprefix("discard "):
                yield "discards the area", replace(disk, area="remains"), replace(me, at="delete")
            else:
                yield "finds no area", disk, replace(me, at="over")
        elif me.at == "delete":
            yield "deletes what remains", _deleted(disk), replace(me, at="committed")

    def _takes_away(self, disk: Disk, me: Driver) -> tuple[str, Disk, Driver]:
        """Where nobody else acts on it, there is a last look."""
        if self._weakened == "looked_at_the_end_only_in_place":
            return "goes on", disk, replace(me, at="discard area")
        if disk.area != "area":
            return "finds no area", disk, replace(me, at="over")
        late = self._weakened == "looked_under_the_name_of_remains"
        place = "remains" if late else _taken_by(me.name)
        away = replace(disk, area=place)
        return "takes the area away", away, replace(me, at=f"look there: {place}")


def _cleans(disk: Disk) -> Iterator[Step]:
    """`clean` goes by what it has listed, which may not be so any more."""
    if not disk.cleaning:
        if disk.area == "remains" or disk.area.startswith("taken"):
            yield f"clean lists the area: {disk.area}", replace(disk, cleaning=disk.area)
    elif disk.cleaning == "remains":
        yield "clean deletes what remains", replace(_deleted(disk), cleaning="")
    elif disk.cleaning == _taken_by("clean"):
        # There is a job.json in it.
        back = replace(disk, area="area") if disk.area == disk.cleaning else disk
        yield "clean puts the area back", replace(back, cleaning="")
    elif disk.area == disk.cleaning:
        taken = _taken_by("clean")
        yield "clean takes the area in its turn", replace(disk, area=taken, cleaning=taken)
    else:
        yield "clean finds it gone", replace(disk, cleaning="")


def _taken_by(name: str) -> Place:
    return f"taken by {name}"


def _deleted(disk: Disk) -> Disk:
    if disk.area != "remains":
        return disk
    return replace(_replaced(disk), area="gone", trash="")


def _replaced(disk: Disk) -> Disk:
    """What lies in the trash goes for ever."""
    return replace(disk, lost=disk.trash if disk.trash != "old" else "")
