"""A start that goes by facts of the store from memory, and asks whether they hold: what may happen.

A job is started by somebody who remembers what a bucket is. It may be `plain`, or `other`, by which
the job would be refused; or `forbids`: nothing can be deleted there, which nobody remembers, since
no job begins there. Whoever owns the bucket may change it, twice, at any time. ``job.json`` is on
its way while the question is. Either answer comes first; that to ``job.json`` may be lost, and what
was not answered arrives late or never: then the job begins under another id. The question may fail.
Somebody else may abort whatever stands, and who starts may die anywhere: he takes no more steps.

Nobody is given a job, or told of a refusal, by facts that did not hold at any moment since the job
was started, just as if they had been asked for first. What was begun in vain is gone again, unless
a call has failed or nothing can be deleted: then it is a job that nobody was given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from tests.specs.explore import Found, explore

if TYPE_CHECKING:
    from collections.abc import Iterator

Weakened: TypeAlias = Literal[
    "answer_not_awaited",  # a job is given as soon as its job.json is created
    "refused_by_memory",  # a refusal is one, whatever the facts are by now
    "not_withdrawn",  # what was begun by other facts is left as it is
    "creation_not_awaited",  # the job begins anew while job.json is still on its way
    "same_id",  # it begins anew under the id that it had
]
Fact: TypeAlias = Literal["plain", "other", "forbids"]
Phase: TypeAlias = Literal["from memory", "withdraw", "remove", "ask", "anew", "given", "raised"]
FACTS: tuple[Fact, ...] = ("plain", "other", "forbids")
CHANGES_MAX = 2
IDS_MAX = 4


@dataclass(frozen=True)
class Job:
    """What stands of one job: by which facts, where its ``job.json`` is, whether it is aborted."""

    by: Fact
    record: Literal["on its way", "stands", "gone"] = "on its way"
    is_aborted: bool = False


@dataclass(frozen=True)
class World:
    """The bucket, the jobs in it, and how far the start of one is.

    Attributes:
        fact: What the bucket is.
        held: What it was at any moment since the start began.
        by: What who starts goes by: from memory, then as answered.
        begun: What is known of the last job: nothing yet, that it stands, or that it was refused.
        answer: To the question that is asked beside it.
        has_failed: Whether any call has, or was not answered.
    """

    fact: Fact
    held: frozenset[Fact]
    by: Fact
    phase: Phase = "from memory"
    jobs: tuple[Job, ...] = ()
    begun: Literal["", "begun", "refused"] = ""
    answer: Fact | Literal["", "failed"] = ""
    changes: int = 0
    has_failed: bool = False

    @property
    def last(self) -> Job:
        """The job that was begun last."""
        return self.jobs[-1]

    def with_last(self, job: Job) -> World:
        """It changes."""
        return replace(self, jobs=(*self.jobs[:-1], job))


Step: TypeAlias = tuple[str, World]


def search(weakened: Weakened | None = None) -> Found:
    """Search every interleaving under the rules, but for one that may be *weakened*."""
    found, states = Found(0), 0
    for memory in FACTS[:2]:
        for fact in FACTS:
            start = World(fact, frozenset({fact}), memory)
            found = explore(_sends(start), _Model(weakened).steps, _wrong)
            states += found.states
            if found.problem is not None:
                return found
    return Found(states)


def _wrong(world: World) -> str | None:
    """What is broken in this state, if anything."""
    if world.phase not in {"given", "raised"}:
        return None
    *others, last = (*world.jobs, None) if world.phase == "raised" else world.jobs
    if world.phase == "given" and (last is None or last.by not in world.held):
        return "a job is given by facts that have not held since it was started"
    if world.phase == "given" and last is not None and last.is_aborted and not world.has_failed:
        return "a job is given that its own start has aborted"
    if world.phase == "raised" and world.begun == "refused" and world.by not in world.held:
        return "a job is refused by facts that have not held since it was started"
    excused = world.has_failed or "forbids" in world.held
    if not excused and any(one is not None and one.record != "gone" for one in others):
        return "a job that nobody was given is left, though nothing has failed"
    return None


def _sends(world: World) -> World:
    """``job.json`` is sent; or the job is refused, which takes no call more."""
    if world.by == "other":
        return replace(world, begun="refused")
    return replace(world, begun="", jobs=(*world.jobs, Job(world.by)))


class _Model:
    def __init__(self, weakened: Weakened | None) -> None:
        self._weakened = weakened

    def steps(self, world: World) -> Iterator[Step]:
        """Everything that can happen next."""
        yield from self._changes(world)
        yield from self._arrives(world)
        if world.phase == "from memory":
            yield from self._begins_from_memory(world)
        elif world.phase in {"withdraw", "remove"}:
            yield from self._withdraws(world)
        elif world.phase == "ask":
            yield from self._asks_first(world)
        elif world.phase == "anew":
            yield from self._is_answered(world)
            if world.begun == "begun":
                yield "the job is given", replace(world, phase="given")

    def _changes(self, world: World) -> Iterator[Step]:
        """The bucket becomes another one."""
        if world.changes < CHANGES_MAX and world.phase not in {"given", "raised"}:
            for fact in FACTS:
                if fact != world.fact:
                    held = world.held | {fact}
                    changed = replace(world, fact=fact, held=held, changes=world.changes + 1)
                    yield f"the bucket is {fact}", changed

    def _arrives(self, world: World) -> Iterator[Step]:
        """A ``job.json`` that nobody waits for any more, late; and somebody aborts what stands."""
        waits = world.phase in {"from memory", "anew"} and world.begun == ""
        for number, job in enumerate(world.jobs):
            is_awaited = waits and number == len(world.jobs) - 1
            if job.record == "on its way" and not is_awaited:
                yield f"job.json {number} comes late", _put(world, number, "stands")
            if job.record == "stands" and world.fact != "forbids":
                aborted = _put(world, number, "gone", is_aborted=True)
                yield f"somebody aborts job {number}", replace(aborted, has_failed=True)

    def _begins_from_memory(self, world: World) -> Iterator[Step]:
        yield from self._is_answered(world)
        if world.answer == "":
            yield f"the bucket answers: {world.fact}", replace(world, answer=world.fact)
            yield "the question fails", replace(world, answer="failed", has_failed=True)
        is_refused_at_once = self._weakened == "refused_by_memory" and world.begun == "refused"
        if is_refused_at_once:
            yield "the job is refused", replace(world, phase="raised")
        if self._weakened == "answer_not_awaited" and world.begun == "begun":
            yield "the job is given", replace(world, phase="given")
        may_go_on = world.begun != "" or self._weakened == "creation_not_awaited"
        if world.answer != "" and may_go_on:
            yield "both are known", self._judged(world)

    def _judged(self, world: World) -> World:
        if world.answer == world.by and world.begun != "":
            return replace(world, phase="given" if world.begun == "begun" else "raised")
        if world.begun == "begun" and self._weakened != "not_withdrawn":
            return replace(world, phase="withdraw")
        return self._withdrawn(world)

    def _withdrawn(self, world: World) -> World:
        """What was begun is done with: the failure of the question is raised, or it is asked anew.

        That nothing can be deleted is a refusal as well.
        """
        if world.answer == "failed":
            return replace(world, phase="raised", begun="")
        if world.answer == "forbids":
            return replace(world, phase="raised", begun="refused", by="forbids")
        return replace(world, phase="ask", begun="")

    def _withdraws(self, world: World) -> Iterator[Step]:
        yield "withdrawing fails", self._withdrawn(replace(world, has_failed=True))
        if world.phase == "withdraw":
            yield (
                "the job is aborted",
                replace(world.with_last(replace(world.last, is_aborted=True)), phase="remove"),
            )
        elif world.fact == "forbids":
            yield "job.json cannot be deleted", self._withdrawn(world)
        else:
            yield "job.json is deleted", self._withdrawn(_put(world, -1, "gone"))

    def _asks_first(self, world: World) -> Iterator[Step]:
        """As by the first job of a process."""
        yield "the question fails", replace(world, phase="raised", has_failed=True)
        by = replace(world, by=world.fact)
        if world.fact != "plain":
            yield f"refused: {world.fact}", replace(by, phase="raised", begun="refused")
        elif self._weakened == "same_id" and world.jobs:
            sent = by.with_last(replace(world.last, by=world.fact, record="on its way"))
            yield "sent under the same id", replace(sent, phase="anew", begun="")
        elif len(world.jobs) < IDS_MAX:
            yield "sent anew", replace(_sends(by), phase="anew")

    def _is_answered(self, world: World) -> Iterator[Step]:
        """What becomes of the ``job.json`` that is awaited."""
        if world.begun != "":
            return
        stands = _put(world, -1, "stands")
        yield "job.json is created", replace(stands, begun="begun")
        if len(world.jobs) < IDS_MAX:
            for label, lost in (("created", stands), ("on its way", world)):
                unknown = replace(_sends(lost), has_failed=True)
                yield f"no answer, and job.json is {label}: another id", unknown


def _put(
    world: World,
    number: int,
    record: Literal["stands", "gone"],
    *,
    is_aborted: bool = False,
) -> World:
    jobs = list(world.jobs)
    is_aborted = is_aborted or jobs[number].is_aborted
    jobs[number] = replace(jobs[number], record=record, is_aborted=is_aborted)
    return replace(world, jobs=tuple(jobs))
