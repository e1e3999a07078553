"""Which jobs must not commit at the same time? Every interleaving of a few small ones (P8, P11).

Each step below is one call to the store. Drivers may crash anywhere; whoever comes later finishes
a job that has decided, and aborts one that has not, dead or alive. In the end what stands must be
what *some* order of the committed jobs gives, and no decided job may be left that cannot be
finished. Standard library only: it checks the rule, and whoever states the rule hands it in.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tests.specs.explore import Found, explore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True)
class SmallJob:
    """A job of few files; in a name ``#`` is what makes it this job's own."""

    mode: str
    files: tuple[str, ...]

    @property
    def shared(self) -> tuple[str, ...]:
        """The files of which the name, or a directory, could be the name of another's file.

        The name of a file of its own cannot; nor can a directory, but for a hidden one, as hidden
        files keep their names.
        """
        return tuple(name for name in self.files if "#" not in name or name.startswith("_"))


# What users do, each in a letter.
JOBS = {
    "O": SmallJob("overwrite", ("part#", "more#")),
    "E": SmallJob("error", ("part#",)),
    "A": SmallJob("append", ("part#", "more#")),
    "H": SmallJob("append", ("part#", "_metadata")),
    "S": SmallJob("append", ("sub/part#", "sub/_metadata")),
    "F": SmallJob("append", ("_notes",)),
    "D": SmallJob("append", ("_notes/part#",)),
}

Conflict: TypeAlias = "Callable[[SmallJob, SmallJob], bool]"
File: TypeAlias = tuple[str, int]
"""A name, and the job whose content stands there."""


class State(NamedTuple):
    """The drivers, by where they are and what is left of that; and what stands on the store.

    *used* are the files whose one-shot publication is spent.
    """

    at: tuple[tuple[str, tuple[object, ...]], ...]
    claims: frozenset[int]
    decisions: tuple[str, ...]
    finished: frozenset[int]
    there: frozenset[File]
    used: frozenset[File]
    replaced: tuple[frozenset[File], ...]


Steps: TypeAlias = "Iterator[tuple[str, State]]"


def search(
    jobs: Sequence[SmallJob], conflict: Conflict, *, remembers_the_idle: bool = False
) -> Found:
    """Search every interleaving of the jobs, of which those wait for each other that *conflict*.

    Args:
        jobs: The jobs, the oldest first.
        conflict: The rule.
        remembers_the_idle: Whether a driver looks for jobs without a claim before it claims, and
            does not look at those again.
    """
    model = _Model(tuple(jobs), conflict, "remember" if remembers_the_idle else "claim")
    return explore(model.start(), model.steps, model.wrong)


class _Model:
    def __init__(self, jobs: tuple[SmallJob, ...], conflict: Conflict, first: str) -> None:
        self.jobs = jobs
        self.first = first
        self.names = [
            tuple(name.replace("#", str(number)) for name in job.files)
            for number, job in enumerate(jobs)
        ]
        self.conflict = conflict

    def start(self) -> State:
        """Every driver is about to begin."""
        count = len(self.jobs)
        nothing: frozenset[File] = frozenset()
        return State(
            ((self.first, ()),) * count, frozenset(), ("",) * count, frozenset(), nothing,
            nothing, (nothing,) * count,
        )  # fmt: skip

    def wrong(self, state: State) -> str | None:
        """What is wrong with a state in which nobody is under way."""
        if any(at not in {"over", "crashed", "publish"} for at, _ in state.at):
            return None
        for number, (at, rest) in enumerate(state.at):
            if at == "publish" and any(self._publish(state, number, rest)):
                return None
            if at == "crashed" and state.decisions[number] == "C":
                return None
        for number, (at, _) in enumerate(state.at):
            if at == "publish":
                return f"{number} can never be finished"
        committed = [n for n in range(len(self.jobs)) if state.decisions[n] == "C"]
        if any(self._serial(order) == state.there for order in permutations(committed)):
            return None
        return f"no order of {committed} gives {sorted(state.there)}"

    def _serial(self, order: tuple[int, ...]) -> frozenset[File] | None:
        there: frozenset[File] = frozenset()
        for number in order:
            seen = self._look(number, there)
            if seen is None:
                return None
            there = (there - seen) | {(name, number) for name in self.names[number]}
        return there

    def _look(self, number: int, there: frozenset[File]) -> frozenset[File] | None:
        """The files that will go; ``None`` where the mode or a name says no."""
        mode = self.jobs[number].mode
        if mode == "overwrite":
            return there
        if mode == "error" and there:
            return None
        shared = (name.replace("#", str(number)) for name in self.jobs[number].shared)
        if any(self._is_in_the_way(there, name) for name in shared):
            return None
        return frozenset()

    @staticmethod
    def _is_in_the_way(there: frozenset[File], name: str) -> bool:
        """Whether a file, or a directory, has the name, or a file that of its directory."""
        return any(
            other == name or other.startswith(f"{name}/") or name.startswith(f"{other}/")
            for other, _ in there
        )

    def steps(self, state: State) -> Steps:
        """Everything that can happen next."""
        for number, (at, rest) in enumerate(state.at):
            if state.decisions[number] == "":
                yield f"{number} is aborted", _decided(state, number, "X")
            if at == "over":
                continue
            if at == "crashed":
                if state.decisions[number] == "C":
                    todo = self.names[number]
                    yield f"{number} is resumed", _to(state, number, "publish", todo)
                continue
            yield f"{number} crashes", _to(state, number, "crashed")
            step: Callable[[State, int, tuple[object, ...]], Steps] = getattr(self, f"_{at}")
            for label, after in step(state, number, rest):
                yield f"{number} {label}", after

    def _remember(self, state: State, number: int, _: tuple[object, ...]) -> Steps:
        claimed = tuple(sorted(state.claims - {number}))
        yield f"sees claims of {claimed} alone", _to(state, number, "claim", (claimed,))

    def _claim(self, state: State, number: int, looked: tuple[tuple[int, ...], ...]) -> Steps:
        others = tuple(other for other in range(len(self.jobs)) if other != number)
        (todo,) = looked or (others,)
        claimed = state._replace(claims=state.claims | {number})
        yield "claims", _to(claimed, number, "read" if todo else "list", (todo, ()) if todo else ())

    def _read(
        self, state: State, number: int, rest: tuple[tuple[int, ...], tuple[int, ...]]
    ) -> Steps:
        """List one area, or a page of many: its claims say whether the job is in the way."""
        (other, *todo), found = rest
        if other in state.claims and self.conflict(self.jobs[number], self.jobs[other]):
            found = (*found, other)
        after = ("read", (tuple(todo), found)) if todo else ("settle", found)
        yield f"lists the area of {other}", _to(state, number, *after)

    def _settle(self, state: State, number: int, others: tuple[int, ...]) -> Steps:
        if not others:
            yield "is alone", _to(state, number, "list")
            return
        other, *rest = others
        decided = state.decisions[other]
        is_over = decided == "X" or other in state.finished
        withdrawn = state._replace(claims=state.claims - {number})
        if is_over or (decided == "" and other not in state.claims):
            yield f"passes {other}", _to(state, number, "settle", tuple(rest))
        elif decided == "C":
            yield "gives up", _to(withdrawn, number, "over")
        elif other < number:
            yield "withdraws", _to(withdrawn, number, "claim")
            yield "gives up", _to(withdrawn, number, "over")
        else:
            yield f"fences {other}", _decided(state, other, "X")

    def _list(self, state: State, number: int, _: tuple[object, ...]) -> Steps:
        goes = self._look(number, state.there)
        if goes is None:
            withdrawn = state._replace(claims=state.claims - {number})
            yield "is refused", _to(withdrawn, number, "over")
            return
        replaced = (*state.replaced[:number], goes, *state.replaced[number + 1 :])
        yield "lists", _to(state._replace(replaced=replaced), number, "decide")

    def _decide(self, state: State, number: int, _: tuple[object, ...]) -> Steps:
        if state.decisions[number]:
            yield "is too late", _to(state, number, "over")
        else:
            decided = _decided(state, number, "C")
            yield "decides", _to(decided, number, "publish", self.names[number])

    def _publish(self, state: State, number: int, names: tuple[object, ...]) -> Steps:
        if not names:
            todo = tuple(sorted(state.replaced[number]))
            yield "has published", _to(state, number, "delete", todo)
            return
        name, *rest = names
        new = (str(name), number)
        after = _to(state, number, "publish", tuple(rest))
        if new in state.used:
            yield f"finds {name} published", after
        elif not self._is_in_the_way(state.there, str(name)):
            used, there = state.used | {new}, state.there | {new}
            yield f"publishes {name}", after._replace(used=used, there=there)

    def _delete(self, state: State, number: int, files: tuple[File, ...]) -> Steps:
        if files:
            left = state._replace(there=state.there - {files[0]})
            yield f"deletes {files[0]}", _to(left, number, "delete", files[1:])
        else:
            done = state._replace(
                finished=state.finished | {number}, claims=state.claims - {number}
            )
            yield "finishes", _to(done, number, "over")


def _to(state: State, number: int, at: str, rest: tuple[object, ...] = ()) -> State:
    return state._replace(at=(*state.at[:number], (at, rest), *state.at[number + 1 :]))


def _decided(state: State, number: int, decision: str) -> State:
    decisions = (*state.decisions[:number], decision, *state.decisions[number + 1 :])
    return state._replace(decisions=decisions)
