"""Who may take a marker away, and what becomes of its job: every interleaving.

Jobs that do not conflict, here all that append, commit at the same time. Each looks for a marker
before it decides, and removes the one that it saw before its first file is published; each
publishes the one that it has prepared after its last, unless another stands. Its epoch may stand
before its marker does, since it asks for both at once. Everybody is as slow as they like and may
die anywhere: who dies is who never takes another step. Of some decided jobs a resumer does the
rest, beside the driver or after it.

So a marker may be published, and be gone when its job is resumed: another job has removed it, and
has taken over to publish one. Somebody outside may take a prepared marker away as well; that must
never be taken for the same, since readers would wait for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from tests.specs.explore import Found, explore_model

if TYPE_CHECKING:
    from collections.abc import Iterator

Weakened: TypeAlias = Literal[
    "stale_marker_stays",  # nobody removes one
    "of_unfinished_job_stays",  # it is not removed as long as its job is not over
    "nothing_put_in_its_place",  # who writes no marker removes one all the same
    "gone_is_lost",  # one that neither stands nor is prepared has been lost
    "gone_is_fine",  # or has been published
    "prepared_again",  # whoever resumes the job prepares another one
    "any_job_takes_over",  # also one whose own prepared marker is gone
    "asked_once",  # the other jobs are not listed again
    "epochs_not_compared",  # they are, and who has come and gone meanwhile is not seen
    "ended_while_asked",  # nor who was listed, and is over when asked
    "epoch_before_the_decision",  # it stands when others look who is there
    "over_before_its_marker",  # its area goes while its marker is still on its way
]
Mode: TypeAlias = Literal["append", "overwrite"]
ABSENT = -1
OLD = -2
"""A marker that stands at first."""


class Job(NamedTuple):
    """One job, as the store shows it.

    ``at`` is ``open``, ``looked`` under its claim, ``decided`` or ``over``; ``stale`` is what it
    saw then, ``prepared`` whether its marker is there to be published. ``half`` is whether some of
    its files are in place, but not all.
    """

    at: str = "open"
    stale: int = ABSENT
    prepared: bool = False
    half: bool = False
    published: bool = False
    ended: bool = False


class Actor(NamedTuple):
    """Who finishes a job: the next call, what is left to ask, what was found out."""

    at: str = "begin"
    asking: tuple[int, ...] = ()
    found: frozenset[str] = frozenset()
    before: frozenset[str] | None = None


_ENDED = Actor("end")
_LEAVES = Actor("leave")


class Store(NamedTuple):
    """What stands at the destination, and who is where.

    ``marker`` is whose marker stands, ``epoch`` which jobs have ended, ``due`` is the model's own
    knowledge: whether a marker must stand when all is over.
    """

    jobs: tuple[Job, ...]
    actors: tuple[Actor, ...]
    marker: int
    due: bool
    taken: int = 0
    told: bool = False


class Plan(NamedTuple):
    """What each job is: its mode, and whether it writes a marker; who takes how many away."""

    jobs: tuple[tuple[Mode, bool], ...]
    resumed: tuple[int, ...]
    marker: int = ABSENT
    takes: int = 0


PLANS = {
    "two appends": Plan((("append", True), ("append", True)), (0,), OLD),
    "one without a marker": Plan((("append", True), ("append", False)), (0,), OLD),
    "an overwrite": Plan((("append", True), ("overwrite", True)), (0, 1)),
    "an overwrite without a marker": Plan((("append", True), ("overwrite", False)), (0,)),
    "three appends": Plan((("append", True), ("append", False), ("append", True)), ()),
    "one is lost": Plan((("append", True), ("append", True)), (), OLD, takes=1),
    "one is lost before an overwrite": Plan((("append", True), ("overwrite", True)), (0,), takes=1),
    "two are lost": Plan((("append", True), ("append", False)), (), OLD, takes=2),
}
Step: TypeAlias = tuple[str, Store]
Act: TypeAlias = tuple[str, Actor, Store]
"""What somebody does, what they do next, and what it leaves."""


def search(plan: str, weakened: Weakened | None = None) -> Found:
    """Search every interleaving of *plan* under the rules, but for one that may be *weakened*."""
    return explore_model(_Model(PLANS[plan], weakened))


class _Model:
    def __init__(self, plan: Plan, weakened: Weakened | None) -> None:
        self._plan = plan
        self._weakened = weakened
        self._of = (*range(len(plan.jobs)), *plan.resumed)
        names = [f"driver {job}" for job in range(len(plan.jobs))]
        self._names = (*names, *(f"resumer {job}" for job in plan.resumed))

    def start(self) -> Store:
        jobs = (Job(),) * len(self._plan.jobs)
        marker = self._plan.marker
        return Store(jobs, (Actor(),) * len(self._of), marker, marker != ABSENT)

    def steps(self, now: Store) -> Iterator[Step]:
        for number, job in enumerate(now.jobs):
            if job.prepared and now.taken < self._plan.takes:
                gone = _with(now, number, job._replace(prepared=False))
                yield f"somebody takes the marker of {number}", gone._replace(taken=now.taken + 1)
        for number, actor in enumerate(now.actors):
            for label, following, left in self._acts(now, number, actor):
                actors = (*left.actors[:number], following, *left.actors[number + 1 :])
                yield f"{self._names[number]} {label}", left._replace(actors=actors)

    def _acts(self, now: Store, number: int, actor: Actor) -> Iterator[Act]:
        which = self._of[number]
        job = now.jobs[which]
        if actor.at == "begin":
            if number < len(now.jobs):
                yield from self._decides(now, which, job, actor)
            elif job.at == "decided":
                yield "begins", actor._replace(at="mark" if job.published else "remove"), now
        elif actor.at == "remove":
            removed = now
            if now.marker == job.stale != ABSENT and not self._stays(now, job.stale):
                replaces = self._plan.jobs[which] == ("overwrite", False)
                removed = now._replace(marker=ABSENT, due=now.due and not replaces)
            yield "removes what it saw", actor._replace(at="publish"), removed
        elif actor.at in {"publish", "publish all"}:
            yield self._goes_on(now, which, job, actor)
        elif actor.at != "end":
            yield from self._ends(now, which, job, actor)

    def _ends(self, now: Store, which: int, job: Job, actor: Actor) -> Iterator[Act]:
        """What is done when all files are in place: the epoch, and at once with it the marker."""
        if not job.ended:
            yield "begins an epoch", actor, _with(now, which, job._replace(ended=True))
        elif actor.at == "leave":
            yield "removes its area", _ENDED, self._over(now, which)
        if actor.asking:
            yield from self._asks(now, actor)
        elif actor.at != "leave":
            yield from self._marks(now, which, job, actor)

    def _goes_on(self, now: Store, which: int, job: Job, actor: Actor) -> Act:
        if actor.at == "publish":
            some = job._replace(half=not job.published)
            return "publishes a file", actor._replace(at="publish all"), _with(now, which, some)
        whole = job._replace(half=False, published=True)
        return "publishes the rest", actor._replace(at="mark"), _with(now, which, whole)

    def _over(self, now: Store, which: int) -> Store:
        """The job is over; whoever works on it will find out before anything else."""
        actors = tuple(
            _ENDED if of == which and one.at != "publish another" else one
            for of, one in zip(self._of, now.actors, strict=True)
        )
        return _with(now._replace(actors=actors), which, Job("over", ended=True))

    def _decides(self, now: Store, which: int, job: Job, actor: Actor) -> Iterator[Act]:
        mode, writes = self._plan.jobs[which]
        if job.at == "open":
            others = [other for number, other in enumerate(now.jobs) if number != which]
            modes = [one[0] for number, one in enumerate(self._plan.jobs) if number != which]
            if all(
                other.at in {"open", "over"} or {mode, of} == {"append"}
                for other, of in zip(others, modes, strict=True)
            ):
                looked = job._replace(at="looked", stale=now.marker)
                yield "looks", actor, _with(now, which, looked)
            return
        if self._weakened == "epoch_before_the_decision" and not job.ended:
            yield "begins an epoch", actor, _with(now, which, job._replace(ended=True))
        sees = job.stale != ABSENT and mode == "append"
        leaves = writes or (sees and self._weakened != "nothing_put_in_its_place")
        decided = _with(now, which, job._replace(at="decided", prepared=leaves))
        yield "decides", actor._replace(at="remove"), decided._replace(due=now.due or writes)

    def _stays(self, now: Store, stale: int) -> bool:
        if self._weakened == "of_unfinished_job_stays":
            return stale >= 0 and now.jobs[stale].at != "over"
        return self._weakened == "stale_marker_stays"

    def _marks(self, now: Store, which: int, job: Job, actor: Actor) -> Iterator[Act]:
        if actor.at == "mark":
            if job.ended and self._weakened == "over_before_its_marker":
                yield "removes its area", _ENDED, self._over(now, which)
            if now.marker != ABSENT or not self._has_marker(job, which):
                yield "finds a marker, or needs none", _LEAVES, now
            elif job.prepared:
                marked = _with(now, which, job._replace(prepared=False))._replace(marker=which)
                yield "publishes its marker", _LEAVES, marked
                yield "publishes its marker, unanswered", actor, marked
            else:
                yield self._misses(now, actor)
        elif actor.at == "list":
            yield "lists the other jobs", self._lists(now, which, actor), now
        elif actor.at == "publish another":
            another = which + len(now.jobs)
            marked = now._replace(marker=another) if now.marker == ABSENT else now
            yield "publishes the other", _ENDED if job.at == "over" else _LEAVES, marked
        elif actor.found == actor.before or self._weakened == "asked_once":
            yield "says that its marker is lost", _LEAVES, now._replace(told=True)
        else:
            again = actor._replace(at="mark", found=frozenset(), before=actor.found)
            yield "looks again", again, now

    def _misses(self, now: Store, actor: Actor) -> Act:
        """None stands, and none is prepared."""
        if self._weakened == "gone_is_fine":
            return "takes its marker for published", _LEAVES, now
        if self._weakened == "gone_is_lost":
            return "says that its marker is lost", _LEAVES, now._replace(told=True)
        if self._weakened == "prepared_again":
            return "prepares another", actor._replace(at="publish another"), now
        return "finds none", actor._replace(at="list"), now

    def _has_marker(self, job: Job, which: int) -> bool:
        """Whether its decision names a marker."""
        mode, writes = self._plan.jobs[which]
        replaces = self._weakened != "nothing_put_in_its_place" and mode == "append"
        return writes or (replaces and job.stale != ABSENT)

    def _lists(self, now: Store, which: int, actor: Actor) -> Actor:
        others = [number for number in range(len(now.jobs)) if number != which]
        asking = tuple(one for one in others if now.jobs[one].at not in {"open", "over"})
        epochs = frozenset(f"epoch {one}" for one in others if now.jobs[one].ended)
        if self._weakened == "epochs_not_compared":
            epochs = frozenset()
        return actor._replace(at="ask", asking=asking, found=epochs)

    def _asks(self, now: Store, actor: Actor) -> Iterator[Act]:
        other, *rest = actor.asking
        job = now.jobs[other]
        counts = {"decided"} if self._weakened == "ended_while_asked" else {"decided", "over"}
        found = actor.found | ({f"job {other}"} if job.at in counts else set())
        takes_over = job.at == "decided" and (
            job.prepared
            or (self._weakened == "any_job_takes_over" and self._has_marker(job, other))
        )
        if takes_over:
            yield f"finds that {other} is to publish one", _LEAVES, now
        else:
            yield f"asks {other}", actor._replace(asking=tuple(rest), found=found), now

    def wrong(self, now: Store) -> str | None:
        for number, job in enumerate(now.jobs):
            alone = self._plan.jobs[number][0] == "overwrite"
            if job.half and now.marker != ABSENT and (alone or now.marker == job.stale):
                return f"a reader is told that all is there, and job {number} is half done"
        if now.told and not now.taken:
            return "P8: a marker is called lost that nobody outside has touched"
        is_over = all(job.at == "over" for job in now.jobs)
        if is_over and now.due and now.marker == ABSENT and not now.told:
            return "P1: all is over, no marker stands, and nobody was told"
        return None


def _with(now: Store, which: int, job: Job) -> Store:
    return now._replace(jobs=(*now.jobs[:which], job, *now.jobs[which + 1 :]))
