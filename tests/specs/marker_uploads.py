"""Which pending uploads of a marker may be aborted, though no name says whose: every interleaving.

All jobs upload their markers under one name. A driver begins an upload, perhaps without an answer,
so that it begins another; records it in its job's area, and stores a part without a byte, in any
order; and decides, naming it. It may stop anywhere. When the job is over, what is recorded goes
with it; nobody knows of the rest. `clean` lists the uploads, then looks for jobs that have not
decided, then reads all records: an upload that no record names is of a driver that can decide
nothing any more, if no job is undecided.

One job has two drivers; whoever resumes or aborts it does so at any moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from tests.specs.explore import Found, explore

if TYPE_CHECKING:
    from collections.abc import Iterator

Weakened: TypeAlias = Literal[
    "undecided_jobs_do_not_count",  # what no record names goes whatever job stands
    "jobs_looked_for_first",  # and then the uploads are listed
    "records_read_first",  # before it is looked whether a job is undecided
    "records_do_not_count",  # all uploads go if no job is undecided
    "unrecorded_ones_stay",  # as nothing says whose they are
]
_NONE = frozenset({"none, since a job was undecided"})
Look: TypeAlias = Literal["uploads", "jobs", "records", "abort"]


class Driver(NamedTuple):
    """One driver: its next call, whether one was not answered, and the upload it knows of."""

    at: Literal["upload", "both", "record", "put", "decide", "end"] = "upload"
    upload: str = ""


class Clean(NamedTuple):
    """A `clean`: what is left to look at, what it may abort, and whether all was over before."""

    looks: tuple[Look, ...]
    found: frozenset[str] = frozenset()
    is_last: bool = False


class World(NamedTuple):
    """What stands: the job, pending uploads and the records of them; ``named`` in the decision."""

    clean: Clean
    job: Literal["not begun", "undecided", "decided", "over"] = "not begun"
    drivers: tuple[Driver, ...] = (Driver(), Driver())
    begun: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    recorded: frozenset[str] = frozenset()
    named: str = ""
    wrong: str | None = None


Step: TypeAlias = tuple[str, World]


def search(weakened: Weakened | None = None) -> Found:
    """Search every interleaving under the rules, but for one that may be *weakened*."""
    model = _Model(weakened)
    return explore(World(model.clean), model.steps, lambda now: now.wrong)


class _Model:
    def __init__(self, weakened: Weakened | None) -> None:
        self._weakened = weakened
        looks: tuple[Look, ...] = ("uploads", "jobs", "records", "abort")
        if weakened == "jobs_looked_for_first":
            looks = ("jobs", "uploads", "records", "abort")
        elif weakened == "records_read_first":
            looks = ("uploads", "records", "jobs", "abort")
        self.clean = Clean(looks)

    def steps(self, now: World) -> Iterator[Step]:
        if now.job == "not begun":
            yield "the job begins", now._replace(job="undecided")
        elif now.job == "undecided":
            yield "somebody aborts the job", _over(now)
        elif now.job == "decided":
            yield from _finishes(now)
        for number, driver in enumerate(now.drivers):
            for label, left, moved in _drives(now, number, driver):
                drivers = (*left.drivers[:number], moved, *left.drivers[number + 1 :])
                yield f"driver {number} {label}", left._replace(drivers=drivers)
        yield self._cleans(now, now.clean)

    def _cleans(self, now: World, me: Clean) -> Step:
        """Looks are taken in turn; a job that is undecided spares all."""
        look, after = me.looks[0], me._replace(looks=me.looks[1:])
        if me == self.clean:
            idle = all(driver.at == "end" for driver in now.drivers)
            after = after._replace(is_last=now.job == "over" and idle)
        if look == "uploads":
            after = after._replace(found=frozenset() if me.found == _NONE else now.pending)
        elif look == "jobs" and now.job == "undecided":
            if self._weakened != "undecided_jobs_do_not_count":
                is_first = self._weakened == "jobs_looked_for_first"
                after = after._replace(found=_NONE if is_first else frozenset())
        elif look == "records" and self._weakened != "records_do_not_count":
            after = after._replace(found=after.found - now.recorded)
        elif look == "abort":
            gone = frozenset() if self._weakened == "unrecorded_ones_stay" else me.found
            left = now.pending - gone
            stays = "an upload stays for ever" if me.is_last and left else None
            return "clean aborts", now._replace(clean=self.clean, pending=left, wrong=stays)
        return f"clean looks at the {look}", now._replace(clean=after)


def _drives(now: World, number: int, me: Driver) -> Iterator[tuple[str, World, Driver]]:
    if me.at == "upload" and now.job != "not begun":
        for label, name in (("", f"{number}"), (", unanswered", f"{number}, unanswered")):
            if name not in now.begun:
                begun = now._replace(begun=now.begun | {name}, pending=now.pending | {name})
                moved = me if label else Driver("both", name)
                yield f"begins an upload{label}", begun, moved
    if me.at in {"both", "record"}:
        if now.job == "over":
            yield "finds its job over", now, Driver("end")
        else:
            recorded = now._replace(recorded=now.recorded | {me.upload})
            following = me._replace(at="put" if me.at == "both" else "decide")
            yield "records its upload", recorded, following
    if me.at in {"both", "put"}:
        stands = me.upload in now.pending
        following = me._replace(at="record" if me.at == "both" else "decide")
        yield "stores a part", now, following if stands else Driver("end")
    if me.at == "decide":
        if now.job == "undecided":
            decided = now._replace(job="decided", named=me.upload)
            yield "decides", decided, Driver("end")
        else:
            yield "comes too late", now, Driver("end")


def _finishes(now: World) -> Iterator[Step]:
    """Whoever does it: the marker is published, then the job is over."""
    if now.named in now.pending:
        yield "the marker is published", now._replace(pending=now.pending - {now.named}, named="")
    elif now.named:
        lost = "a marker that a decision names is gone, and nobody can publish it"
        yield "the marker is looked for", now._replace(wrong=lost)
    else:
        yield "the job is finished", _over(now)


def _over(now: World) -> World:
    """What is recorded goes with the job, and with it the records."""
    return now._replace(job="over", pending=now.pending - now.recorded, recorded=frozenset())
