"""Appends that leave `published` out, and count when their own marker stands: why none does.

A job creates `published` when its files are in place, then its marker, then its area goes. Without
the first of these three an append would take a round trip less: it would count, for readers, from
the moment at which `_SUCCESS` is its own. But two appends do not wait for each other, and they have
one `_SUCCESS`. Here are two whose files are all in place, and readers, of whom each sees all at
one moment. Every job is as slow as it likes, and may die anywhere: then it takes no more steps.

What one reader was told of a job, no later one may miss (P9), and nothing may stand in the area of
a job that is over (P10).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from tests.specs.explore import Found, explore_model

if TYPE_CHECKING:
    from collections.abc import Iterator

Weakened: TypeAlias = Literal[
    "own_marker_counts",  # `published` is created beside the marker, and either may come first
    "published_for_others",  # whoever replaces a marker first creates `published` for its job
]
At: TypeAlias = Literal["in place", "ends", "over"]


class Job(NamedTuple):
    """One job, of which a request to create ``published`` for another may be on its way."""

    at: At = "in place"
    is_published: bool = False
    has_marked: bool = False
    creates_for: int | None = None


class World(NamedTuple):
    """The jobs, whose marker stands, and which jobs the last reader was told of."""

    jobs: tuple[Job, ...] = (Job(), Job())
    marker: int | None = None
    told: frozenset[int] = frozenset()
    missed: frozenset[int] = frozenset()


Step: TypeAlias = tuple[str, World]


def search(weakened: Weakened | None = None) -> Found:
    """Search every interleaving under the rules, or under one that takes a round trip less."""
    return explore_model(_Model(weakened))


class _Model:
    def __init__(self, weakened: Weakened | None) -> None:
        self._weakened = weakened

    def start(self) -> World:
        return World()

    def steps(self, now: World) -> Iterator[Step]:
        for number, job in enumerate(now.jobs):
            for label, left in self._works(now, number, job):
                yield f"job {number} {label}", left
        told = frozenset(number for number in range(len(now.jobs)) if self._counts(now, number))
        yield f"a reader is told of {[*told]}", now._replace(told=told, missed=now.told - told)

    def _works(self, now: World, number: int, job: Job) -> Iterator[Step]:
        if job.at == "in place":
            if not job.is_published:
                yield "creates published", _with(now, number, job._replace(is_published=True))
            if not job.has_marked and (job.is_published or self._weakened is not None):
                yield from self._marks(now, number, job)
            if job.is_published and job.has_marked:
                yield "removes job.json", _with(now, number, job._replace(at="ends"))
        elif job.at == "ends":
            yield (
                "removes the rest",
                _with(now, number, job._replace(at="over", is_published=False)),
            )

    def _marks(self, now: World, number: int, job: Job) -> Iterator[Step]:
        other = now.marker
        if self._weakened == "published_for_others" and other is not None:
            if job.creates_for is None and now.jobs[other].at == "in place":
                asked = job._replace(creates_for=other)
                yield f"sends published for {other}", _with(now, number, asked)
                return
            if job.creates_for is not None:
                done = _with(now, number, job._replace(creates_for=None, has_marked=True))
                created = _with(done, other, done.jobs[other]._replace(is_published=True))
                yield "has created it, and its marker", created._replace(marker=number)
                return
        marked = _with(now, number, job._replace(has_marked=True))
        yield "creates its marker", marked._replace(marker=number)

    def _counts(self, now: World, number: int) -> bool:
        job = now.jobs[number]
        by_marker = self._weakened is not None and now.marker == number
        return job.is_published or job.at != "in place" or by_marker

    def wrong(self, now: World) -> str | None:
        if now.missed:
            return f"a reader was told of {[*now.missed]}, and a later one is not"
        for number, job in enumerate(now.jobs):
            if job.at == "over" and job.is_published:
                return f"published stands in the area of {number}, which is over"
        return None


def _with(now: World, number: int, job: Job) -> World:
    return now._replace(jobs=(*now.jobs[:number], job, *now.jobs[number + 1 :]))
