"""Files that another program has uploaded, adopted and published: every interleaving.

Two tasks have one file each, which carries no nonce. A driver adopts both, decides and completes
their uploads; a reply may be lost. A resumer completes them again, and another driver, that knows
of no decision, adopts them again. Each is as slow as it likes and may die anywhere: who dies is who
never takes another step. What one of the files was described with may be wrong, and somebody else
may abort its upload at any time.

A file is known again by its name and its size, which here all files have in common: so it is the
names alone that must tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from tests.specs.explore import Found, explore_model

if TYPE_CHECKING:
    from collections.abc import Iterator

Weakened: TypeAlias = Literal[
    "uploads_are_believed",  # their parts are not listed before the decision
    "two_tasks_have_one_name",  # it says the ids of both
    "a_name_comes_back",  # it has no job id, and an old file may have it
    "the_decision_is_not_read",  # when a file cannot be adopted
]
_TASKS = (0, 1)


@dataclass(frozen=True)
class Publisher:
    """One who publishes what is decided: the call that is next, of the file of which task."""

    name: str
    at: str = "waits"
    task: int = 0


@dataclass(frozen=True)
class Bucket:
    """What stands under each name, what is pending, and what everybody was told.

    ``stands`` is whose content each name has; ``wrong`` is a file that nobody could complete as it
    was described.
    """

    stands: tuple[str, str] = ("", "")
    pending: frozenset[int] = frozenset(_TASKS)
    wrong: bool = False
    aborted: bool = False
    decided: bool = False
    adopting: str = "looks"
    told: frozenset[str] = frozenset()
    publishers: tuple[Publisher, ...] = (Publisher("driver"), Publisher("resumer"))


Step: TypeAlias = tuple[str, Bucket]


def search(weakened: Weakened | None = None) -> Found:
    """Search every interleaving under the rules, but for one that may be *weakened*."""
    return explore_model(_Model(weakened))


class _Model:
    def __init__(self, weakened: Weakened | None) -> None:
        self._weakened = weakened

    def start(self) -> Bucket:
        old = "old" if self._weakened == "a_name_comes_back" else ""
        return Bucket(stands=(old, ""))

    def _place(self, task: int) -> int:
        """Which name the file of *task* has."""
        return 0 if self._weakened == "two_tasks_have_one_name" else task

    def steps(self, now: Bucket) -> Iterator[Step]:
        if now.adopting == "looks" and not now.wrong:
            yield "a file is described wrongly", replace(now, wrong=True)
        if now.pending and not now.aborted:
            task = max(now.pending)
            gone = replace(now, pending=now.pending - {task}, aborted=True)
            yield f"somebody aborts the upload of {task}", gone
        yield from self._adopt(now)
        yield from self._adopt_again(now)
        for number, one in enumerate(now.publishers):
            for label, following, left in self._publish(now, one):
                others = (*now.publishers[:number], following, *now.publishers[number + 1 :])
                yield f"{one.name} {label}", replace(left, publishers=others)

    def _adopt(self, now: Bucket) -> Iterator[Step]:
        """The first driver, up to the decision."""
        if now.adopting == "looks":
            listed = len(now.pending) == len(_TASKS) and not now.wrong
            if listed or self._weakened == "uploads_are_believed":
                yield "adopts both", replace(now, adopting="adopted")
            else:
                yield "adopts nothing", replace(now, adopting="refused")
        elif now.adopting == "adopted" and not now.decided:
            yield "decides", replace(now, decided=True)

    def _adopt_again(self, now: Bucket) -> Iterator[Step]:
        """Another driver, which finds uploads gone that the first one has completed."""
        if now.decided and len(now.pending) < len(_TASKS):
            reads = self._weakened != "the_decision_is_not_read"
            told = "decided" if reads else "not committed"
            yield f"another is told: {told}", replace(now, told=now.told | {told})

    def _publish(self, now: Bucket, one: Publisher) -> Iterator[tuple[str, Publisher, Bucket]]:
        task, place = one.task, self._place(one.task)
        done = replace(one, at="completes", task=task + 1)
        if one.at == "waits":
            if now.decided:
                yield "begins", replace(one, at="completes"), now
        elif task == len(_TASKS):
            if one.at != "ended":
                told = now.told | {"committed"}
                yield "ends", replace(one, at="ended"), replace(now, told=told)
        elif one.at == "completes":
            fits = not now.wrong or task == 0
            if task in now.pending and fits and not now.stands[place]:
                stands = tuple(
                    str(task) if name == place else content
                    for name, content in enumerate(now.stands)
                )
                after = replace(now, stands=(stands[0], stands[1]), pending=now.pending - {task})
                yield f"completes {task}", done, after
                yield f"completes {task}, unanswered", replace(one, at="looks"), after
            else:
                yield f"is refused {task}", replace(one, at="looks"), now
        elif one.at == "looks":
            if now.stands[place]:
                yield f"finds {task} in place", done, now
            elif task in now.pending:
                yield f"finds {task} pending", replace(one, at="completes"), now

    def wrong(self, now: Bucket) -> str | None:
        in_place = all(now.stands[self._place(task)] == str(task) for task in _TASKS)
        if "committed" in now.told and not in_place:
            return "P1: it is called committed, and a file is not there"
        if now.decided and now.wrong:
            return "P8: it is decided, and can be neither finished nor given up"
        if "not committed" in now.told:
            return "P7: a driver was told that nothing is committed, which is decided"
        return None
