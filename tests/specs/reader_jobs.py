"""The jobs that come while a reader reads, in the model of it, and how it finds them."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from fsspec_commit.protocol.seen_jobs import Phase

Paged: TypeAlias = Literal["in any order", "in order"]

At: TypeAlias = Literal[
    "absent", "begun", "open", "aborted", "decided", "published", "marked", "ending", "gone", "late"
]
"""How far a job has come: ``begun`` is without ``job.json`` yet, ``late`` gone without an epoch."""
PHASES: dict[At, Phase] = {
    **dict.fromkeys(("open", "aborted"), Phase.QUIET),
    "decided": Phase.DECIDED,
    **dict.fromkeys(("published", "marked"), Phase.PUBLISHED),
    "begun": Phase.EMPTY,
    "ending": Phase.OVER,
}
"""How the reader finds a job that has an area."""


class Job(NamedTuple):
    """One job: how far it has come, and with how many of its files.

    ``replaced`` are the files that its decision names, ``beside`` the epochs that it has listed
    before it created its own: at the last moment, as a resumer does; a driver's list is older.
    ``is_swept`` is whether it has deleted them, which it may do at any time after that, or never.
    """

    at: At = "absent"
    done: int = 0
    replaced: tuple[str, ...] = ()
    beside: frozenset[int] = frozenset()
    is_swept: bool = True


def has_area(job: Job) -> bool:
    return job.at in PHASES


class Plan(NamedTuple):
    """Which files each job writes, and which of the jobs before it replaces what is there.

    ``after`` says which job each waits for, if any: two that conflict come one after the other.
    ``lost`` is the job of which all files but the first are lost. Where there are ``many`` areas,
    they are not listed at one moment. Where the listing is ``paged``, neither are the epochs:
    ``in any order``, as on a disk, where younger ones first is the worst, they are listed with the
    areas and after the states; ``in order`` what comes after the states is enough. Without
    directories there is no area before ``job.json``, so that one that is gone was one.
    """

    new: tuple[tuple[str, ...], ...]
    overwrites: frozenset[int] = frozenset()
    after: tuple[int | None, ...] = (None, None)
    lost: int | None = None
    many: bool = False
    paged: Paged | None = None
    aborts: bool = True
    has_directories: bool = True


PLANS = {
    "an overwrite": Plan((("a", "z"),), frozenset({0})),
    "a loss": Plan((("a", "z"),), frozenset({0}), lost=0),
    "one of many": Plan((("a", "z"),), frozenset({0}), many=True),
    "two overwrites": Plan((("a", "z"), ("b",)), frozenset({0, 1}), (None, 0)),
    "an append, then an overwrite": Plan((("a", "z"), ("b",)), frozenset({1}), (None, 0)),
    "two epochs of many": Plan(
        (("a", "z"), ("b",)), after=(None, 0), many=True, paged="in any order", aborts=False
    ),
    "two epochs in order": Plan(
        (("a", "z"), ("b",)), after=(None, 0), many=True, paged="in order", aborts=False
    ),
    "an overwrite, without directories": Plan((("a", "z"),), frozenset({0}), has_directories=False),
    "two overwrites, without directories": Plan(
        (("a", "z"), ("b",)), frozenset({0, 1}), (None, 0), has_directories=False
    ),
    "two of many, without directories": Plan(
        (("a", "z"), ("b",)), after=(None, 0), many=True, has_directories=False
    ),
    "two appends": Plan((("a",), ("z",)), aborts=False),
    "two of many": Plan((("a",), ("z",)), many=True, aborts=False),
}
