"""When may a name come back whose old file was deleted on condition of a token that repeats?

An exhaustive model, by the standard library. A job has published and deletes the old file of one
name. Its driver and a resumer both finish it, each may stop anywhere and for any time, and each
request to delete may be carried out late. Another job then wants to write equal bytes, which have
the token of the old file, under the same name. What it wrote must never be deleted.

Time is kept as ages, so the model has an end though time has none. A request lands at most
``LANDS`` after it was signed; a finisher sends none later than ``LASTS`` after it saw ``job.json``;
and it retires its job at most ``WITHIN`` after it left its record. The rest follows: see ``QUIET``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from tests.specs.explore import Found, explore

if TYPE_CHECKING:
    from collections.abc import Iterator

Weakened: TypeAlias = Literal[
    "no record",
    "a record only of what was not answered",
    "a record after job.json",
    "a record by the first finisher only",
    "a record that is old when the job is retired",
    "a delete long after job.json was seen",
    "a listing from before the wait",
    "not quiet long enough",
]
LANDS, LASTS, WITHIN = 1, 1, 0
QUIET = WITHIN + LANDS + LASTS + LANDS
"""So long after the record the last request lands: ``job.json`` goes after ``WITHIN + LANDS``."""
_PENDING_MAX = 2
Pending: TypeAlias = tuple[tuple[Literal["delete", "job.json"], int], ...]


@dataclass(frozen=True, slots=True, order=True)
class Finisher:
    """A driver or a resumer: what it does next, and for how long it has not.

    Attributes:
        does: The next step.
        since: How long ago it looked for ``job.json``, or left its record.
        in_doubt: Whether a request of its own was not answered.
    """

    does: Literal["look", "send", "leave", "retire", "leave late", "over"] = "look"
    since: int = 0
    in_doubt: bool = False


@dataclass(frozen=True, slots=True)
class Exact:
    """The job that would write the name again, and how old a record its listing has shown."""

    does: Literal["claim", "wait", "look", "publish", "done"] = "claim"
    listed: int | None = None


@dataclass(frozen=True, slots=True)
class World:
    """The store, the network, and everybody; *record* is how old the youngest one is."""

    job_json: bool = True
    file: Literal["old", "new", ""] = "old"
    record: int | None = None
    pending: Pending = ()
    finishers: tuple[Finisher, ...] = (Finisher(), Finisher())
    exact: Exact = Exact()


def search(weakened: Weakened | None = None) -> Found:
    """Search every interleaving under the rules, but for one that may be *weakened*."""
    return explore(World(), lambda world: _steps(world, weakened), _wrong)


def _wrong(world: World) -> str | None:
    lost = world.exact.does == "done" and world.file != "new"
    return "what the other job published is lost" if lost else None


def _steps(world: World, weakened: Weakened | None) -> Iterator[tuple[str, World]]:
    yield "time passes", _older(world)
    for one in set(world.pending):
        rest = list(world.pending)
        rest.remove(one)
        after = replace(world, pending=tuple(rest))
        if one[0] == "delete":
            yield "a delete lands", replace(after, file="")
        else:
            yield "job.json goes, late", replace(after, job_json=False)
    for number, finisher in enumerate(world.finishers):
        for what, after, changed in _finish(world, finisher, weakened):
            other = world.finishers[1 - number]
            # Which of the two is which makes no difference.
            both = (min(changed, other), max(changed, other))
            yield f"a finisher {what}", replace(after, finishers=both)
    yield from _write(world, weakened)


def _older(world: World) -> World:
    return World(
        job_json=world.job_json,
        file=world.file,
        record=_aged(world.record),
        pending=tuple((what, age + 1) for what, age in world.pending if age < LANDS),
        finishers=tuple(
            replace(one, since=min(one.since + 1, QUIET)) if one.does in {"send", "retire"} else one
            for one in world.finishers
        ),
        exact=replace(world.exact, listed=_aged(world.exact.listed)),
    )


def _aged(age: int | None) -> int | None:
    return None if age is None else min(age + 1, QUIET + 1)


def _sent(world: World, what: Literal["delete", "job.json"]) -> World:
    return replace(world, pending=tuple(sorted({*world.pending, (what, 0)})))


def _finish(
    world: World, me: Finisher, weakened: Weakened | None
) -> Iterator[tuple[str, World, Finisher]]:
    may_be_unanswered = len(world.pending) < _PENDING_MAX
    if me.does == "look":
        does: Literal["send", "over"] = "send" if world.job_json else "over"
        yield "looks for job.json", world, Finisher(does, 0, me.in_doubt and does == "send")
    elif me.does == "send":
        forgetful = weakened == "a delete long after job.json was seen"
        if me.since > LASTS and not forgetful:
            yield "has not looked for long", world, Finisher("look", 0, me.in_doubt)
            return
        yield "deletes", replace(world, file=""), Finisher("leave", 0, me.in_doubt)
        if may_be_unanswered:
            yield "is not answered", _sent(world, "delete"), replace(me, in_doubt=True)
        if me.in_doubt and world.file != "old":
            yield "finds the file gone", world, Finisher("leave", 0, me.in_doubt)
    elif me.does in {"leave", "leave late"}:
        late = weakened == "a record after job.json"
        left = (
            weakened != "no record"
            and (weakened != "a record only of what was not answered" or me.in_doubt)
            and (weakened != "a record by the first finisher only" or world.record is None)
            and (not late or me.does == "leave late")
        )
        record = 0 if left else world.record
        does_next: Literal["over", "retire"] = "over" if me.does == "leave late" else "retire"
        in_doubt = me.in_doubt and does_next == "retire"
        yield "leaves its record", replace(world, record=record), Finisher(does_next, 0, in_doubt)
    elif me.does == "retire":
        if me.since > WITHIN and weakened != "a record that is old when the job is retired":
            yield "has left its record long ago", world, Finisher("leave", 0, me.in_doubt)
            return
        over = "leave late" if weakened == "a record after job.json" else "over"
        after = Finisher(over)  # type: ignore[arg-type]  # one of the two
        yield "retires the job", replace(world, job_json=False), after
        if may_be_unanswered:
            yield "retires it, not answered", _sent(world, "job.json"), me


def _write(world: World, weakened: Weakened | None) -> Iterator[tuple[str, World]]:
    me = world.exact
    if me.does == "claim":
        # Alone, it goes by this listing; else it waits for the other, and lists again.
        does: Literal["wait", "look"] = "wait" if world.job_json else "look"
        yield "another job claims", replace(world, exact=Exact(does, world.record))
    elif me.does == "wait" and not world.job_json:
        stale = weakened == "a listing from before the wait"
        listed = me.listed if stale else world.record
        yield "the other job is over", replace(world, exact=Exact("look", listed))
    elif me.does == "look":
        quiet = QUIET - (weakened == "not quiet long enough")
        if me.listed is None or me.listed > quiet:
            yield "the other job decides", replace(world, exact=Exact("publish"))
        else:
            yield "the other job is refused", replace(world, exact=Exact())
    elif me.does == "publish":
        yield "the other job publishes", replace(world, file="new", exact=Exact("done"))
