"""What a reader is told while jobs come, go, publish and delete: every interleaving.

It looks at all jobs, lists the files one by one, looks again, and answers if the two looks agree,
by the rule of the code itself. The answer must be what counted at one moment in between, and a job
counts from the moment at which its record says that it is published. Jobs are as slow as they like
and may die anywhere: who dies is who never takes another step. Where the looks differ there is no
further step either, since the next try begins with the later one, as if the reader had just come.

Areas and epochs are listed at one moment; where nobody says so, one area after the other, and the
epochs after the states. A state is of one moment: that there is no decision, only `job.json` after
that shows. What replaces a file in place is not here: its name stays in the answer.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.protocol import seen_jobs
from fsspec_commit.protocol.seen_jobs import Phase, SeenJob
from tests.specs.explore import Found, explore_model
from tests.specs.reader_jobs import PHASES, PLANS, At, Job, Plan, has_area

if TYPE_CHECKING:
    from collections.abc import Iterator

Weakened: TypeAlias = Literal[
    # The reader:
    "not_looked_before",
    "looked_after_and_no_job_is_seen",  # and lists again then
    "not_looked_after",
    "epochs_not_compared",
    "states_not_compared",  # only epochs are
    "undecided_and_then_over",  # is taken for aborted, and so are the next two
    "new_and_already_over",
    "new_and_already_decided",
    "decided_and_then_published",  # the epochs are trusted to tell, and in the next as well
    "decided_and_then_gone",
    "epochs_listed_first",  # before many areas
    "not_listed_again_after_an_empty_area",  # which may be gone, and have left an epoch
    "empty_and_then_over",  # an area that was empty before its job began is taken for one of a job
    "empty_and_then_ended",  # that is over
    "epochs_of_one_listing",  # though one may show neither of two
    "epochs_in_any_order",
    "undecided_by_pages",  # `job.json` is listed, and then, when the job is over, no decision
    "new_files_shown",  # of a job that has decided
    "old_files_shown",  # of a job that has published
    "old_files_hidden_after_a_loss",  # though they stay
    # The jobs:
    "no_epoch",
    "epoch_after_the_area",
    "all_other_epochs_deleted",  # also what was created since they were listed
    "old_files_deleted_first",  # before the job is published
]
# Of the two looks, what a weaker reader takes for the same.
FORGIVEN: dict[str, set[tuple[Phase | None, Phase | None]]] = {
    "undecided_and_then_over": {(Phase.QUIET, Phase.OVER)},
    "new_and_already_over": {(None, Phase.OVER)},
    "empty_and_then_over": {(Phase.EMPTY, Phase.OVER)},
    "empty_and_then_ended": {(Phase.EMPTY, Phase.ENDED)},
    "new_and_already_decided": {(None, Phase.DECIDED), (None, Phase.PUBLISHED)},
    "decided_and_then_published": {(Phase.DECIDED, Phase.PUBLISHED)},
    "decided_and_then_gone": {(Phase.DECIDED, None)},
}
ONE_LOOK = {"not_looked_before", "looked_after_and_no_job_is_seen"}


OLD = "m"
_DESTINATION = DestinationLayout(StorePath("/d"))


ReaderAt: TypeAlias = Literal["comes", "looks", "lists", "comes again", "looks again", "is told"]


class Look(NamedTuple):
    """What one look has shown so far: epochs, areas, of some the state; which are still to come.

    ``pages`` are the places of epochs in a listing of many, of which there are two; ``shown`` is
    what these have shown. An area is ``begun`` if a page has shown ``job.json``, and no decision.
    """

    to_list: tuple[int, ...] = ()
    pages: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    shown: frozenset[int] = frozenset()
    to_read: frozenset[int] = frozenset()
    begun: frozenset[int] = frozenset()
    phases: Phases = frozenset()
    epochs: frozenset[int] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing is to come."""
        return not self.to_list and not self.to_read and self.epochs is not None


class Reader(NamedTuple):
    """What the reader does next, and knows; ``moments`` is what has counted since it came."""

    at: ReaderAt = "comes"
    look: Look = Look()
    before: Look = Look()
    listed: int = 0
    names: frozenset[str] = frozenset()
    moments: frozenset[frozenset[str]] = frozenset()


class World(NamedTuple):
    """The store, what counts, and who is where."""

    jobs: tuple[Job, ...]
    files: frozenset[str] = frozenset()
    counts: frozenset[str] = frozenset()
    epochs: frozenset[int] = frozenset()
    reader: Reader = Reader()


Phases: TypeAlias = frozenset[tuple[int, Phase]]
Shown: TypeAlias = tuple[frozenset[int], Phases]
Step: TypeAlias = tuple[str, World]
_OVER = World(())
"""The reader has been told what is right, or nothing: whatever follows is nothing to it."""


def search(plan: str, weakened: Weakened | None = None) -> Found:
    """Search every interleaving of *plan* under the rules, but for one that may be *weakened*."""
    return explore_model(_Model(PLANS[plan], weakened))


class _Model:
    def __init__(self, plan: Plan, weakened: Weakened | None) -> None:
        self._plan = plan
        self._weakened = weakened
        self._all = range(len(plan.new))
        self._old = frozenset({OLD} if plan.overwrites else ())
        self._names = sorted({*self._old, *(name for names in plan.new for name in names)})

    def start(self) -> World:
        return World(tuple(Job() for _ in self._all), self._old, self._old)

    def steps(self, now: World) -> Iterator[Step]:
        if now is _OVER:
            return
        for number, job in enumerate(now.jobs):
            for label, left in self._works(now, number, job):
                yield f"job {number} {label}", left
        yield from self._reads(now, now.reader)

    def _works(self, now: World, number: int, job: Job) -> Iterator[Step]:
        if job.at in {"absent", "begun"}:
            yield from self._starts(now, number, job)
        elif job.at == "open":
            old = tuple(sorted(now.files)) if number in self._plan.overwrites else ()
            yield "decides", _with(now, number, Job("decided", replaced=old))
            if self._plan.aborts:
                yield "is aborted", _with(now, number, Job("aborted"))
        elif job.at == "decided":
            yield self._publishes(now, number, job)
        elif job.at == "published":
            yield self._deletes(now, number, job)
        elif job.at != "gone":
            yield from self._ends(now, number, job)
        if not job.is_swept:
            beside = job.beside
            if self._weakened == "all_other_epochs_deleted":
                beside = now.epochs - {number}
            swept = now._replace(epochs=now.epochs - beside)
            yield "deletes older epochs", _with(swept, number, job._replace(is_swept=True))

    def _starts(self, now: World, number: int, job: Job) -> Iterator[Step]:
        first = self._plan.after[number]
        if job.at == "begun":
            yield "starts", _with(now, number, Job("open"))
        elif first is None or now.jobs[first].at == "gone":
            at: At = "begun" if self._plan.has_directories else "open"
            yield "makes its area", _with(now, number, Job(at))

    def _ends(self, now: World, number: int, job: Job) -> Iterator[Step]:
        if job.at == "late":
            marked = now._replace(epochs=now.epochs | {number})
            yield "creates an epoch", _with(marked, number, job._replace(at="gone"))
        else:
            late = job.at == "marked" and self._weakened == "epoch_after_the_area"
            yield (
                "removes its area",
                _with(now, number, job._replace(at="late" if late else "gone")),
            )
            if job.at != "ending" and not late:
                yield "deletes job.json", _with(now, number, job._replace(at="ending"))

    def _publishes(self, now: World, number: int, job: Job) -> Step:
        new = self._plan.new[number][: 1 if number == self._plan.lost else None]
        early = now.files & {*job.replaced}
        if early and self._weakened == "old_files_deleted_first":
            return "deletes", now._replace(files=now.files - {min(early)})
        if job.done < len(new):
            more = now._replace(files=now.files | {new[job.done]})
            return "publishes", _with(more, number, job._replace(done=job.done + 1))
        replaced = () if number == self._plan.lost else job.replaced
        counts = now.counts - {*replaced} | {*new}
        reader = now.reader
        if reader.at != "comes":
            reader = reader._replace(moments=reader.moments | {counts})
        whole = now._replace(counts=counts, reader=reader)
        return "is published", _with(whole, number, job._replace(at="published", done=0))

    def _deletes(self, now: World, number: int, job: Job) -> Step:
        if job.done < len(job.replaced) and number != self._plan.lost:
            rest = now._replace(files=now.files - {job.replaced[job.done]})
            return "deletes", _with(rest, number, job._replace(done=job.done + 1))
        if self._weakened in {"no_epoch", "epoch_after_the_area"}:
            return "goes on", _with(now, number, job._replace(at="marked"))
        marked = now._replace(epochs=now.epochs | {number})
        beside = job._replace(at="marked", beside=now.epochs, is_swept=False)
        return "creates an epoch", _with(marked, number, beside)

    def _reads(self, now: World, reader: Reader) -> Iterator[Step]:
        if reader.at == "comes" and self._weakened in ONE_LOOK:
            yield "comes", now._replace(reader=Reader("lists", moments=frozenset({now.counts})))
        elif reader.at in {"comes", "comes again"}:
            moments = reader.moments or frozenset({now.counts})
            again: ReaderAt = "looks" if reader.at == "comes" else "looks again"
            here = reader._replace(at=again, look=self._begins(now), moments=moments)
            yield reader.at, self._goes_on(now, here)
        elif reader.at == "lists":
            name = self._names[reader.listed]
            names = reader.names | (now.files & {name})
            listed = reader._replace(listed=reader.listed + 1, names=names)
            yield f"lists {name}", self._goes_on(now, listed)
        else:
            for label, look in self._looks(now, reader.look):
                looked = reader._replace(look=look)
                yield label, self._goes_on(now, looked)

    def _begins(self, now: World) -> Look:
        """A look, of which the first request has been answered."""
        if self._plan.many:
            early = self._weakened == "epochs_listed_first"
            place = self._place()
            one = self._plan.paged == "in order" or self._weakened == "epochs_of_one_listing"
            return Look(
                to_list=(*self._all,),
                pages=(() if one else place, place),
                epochs=now.epochs if early else None,
            )
        areas = (number for number in self._all if has_area(now.jobs[number]))
        return Look(to_read=frozenset(areas), epochs=now.epochs)

    def _looks(self, now: World, look: Look) -> Iterator[tuple[str, Look]]:
        if look.to_list:
            number, *rest = look.to_list
            found = {number} if has_area(now.jobs[number]) else set()
            listed = look._replace(to_list=(*rest,), to_read=look.to_read | found)
            yield f"lists the area of {number}", listed
        elif look.pages[0]:
            yield self._turns(now, look, look.pages[0], (look.pages[0][1:], look.pages[1]))
        elif look.to_read:
            for number in look.to_read:
                yield from self._finds(now, look, number)
        elif look.pages[1]:
            label, turned = self._turns(now, look, look.pages[1], ((), look.pages[1][1:]))
            yield label, turned if turned.pages[1] else _has_listed(now, turned, turned.shown)
        else:
            yield "lists all again", _has_listed(now, look, now.epochs)

    def _finds(self, now: World, look: Look, number: int) -> Iterator[tuple[str, Look]]:
        gone = Phase.EMPTY if self._plan.has_directories else Phase.OVER
        phase = PHASES.get(now.jobs[number].at, gone)
        if phase in {Phase.OVER, Phase.EMPTY} and number in look.begun:
            phase = Phase.QUIET
        elif phase not in {Phase.OVER, Phase.EMPTY} and self._weakened == "undecided_by_pages":
            yield f"lists job.json of {number}", look._replace(begun=look.begun | {number})
        left = look.to_read - {number}
        read = look._replace(to_read=left, phases=look.phases | {(number, phase)})
        if phase is Phase.EMPTY and self._weakened != "not_listed_again_after_an_empty_area":
            read = read._replace(epochs=None)
        yield f"finds {number} {phase.name.lower()}", read

    def _place(self) -> tuple[int, ...]:
        """Where epochs stand in a listing of many, if it is no matter of one moment."""
        if self._plan.paged is None:
            return ()
        if self._plan.paged == "in order" and self._weakened != "epochs_in_any_order":
            return (*self._all,)
        return tuple(reversed(self._all))

    def _turns(
        self,
        now: World,
        look: Look,
        place: tuple[int, ...],
        left: tuple[tuple[int, ...], tuple[int, ...]],
    ) -> tuple[str, Look]:
        shown = look.shown | (now.epochs & {place[0]})
        return f"looks for epoch {place[0]}", look._replace(pages=left, shown=shown)

    def _goes_on(self, now: World, reader: Reader) -> World:
        """What it does after a look, or a listing, that may be complete."""
        look = reader.look
        if reader.at == "lists":
            if reader.listed == len(self._names):
                reader = reader._replace(at="comes again", look=Look())
                if self._weakened == "not_looked_after":
                    return self._answers(now, reader)
        elif reader.at == "looks again":
            if not self._agree(reader.before, look):
                return _OVER
            if look.is_whole:
                return self._answers(now, reader)
        elif look.is_whole:
            reader = reader._replace(at="lists", before=look, look=Look())
        return now._replace(reader=reader)

    def _agree(self, earlier: Look, later: Look) -> bool:
        """Whether they do as far as the later one has come: no more must be seen if they do not."""
        was, now = dict(earlier.phases), dict(later.phases)
        passed = {*later.to_list, *later.to_read}
        if self._weakened in {"states_not_compared", *ONE_LOOK}:
            passed = {*self._all}
        forgiven = FORGIVEN.get(self._weakened or "", ())
        passed |= {number for number in self._all if (was.get(number), now.get(number)) in forgiven}
        no_epochs = self._weakened in {"epochs_not_compared", *ONE_LOOK}
        return agree(
            *(
                (
                    frozenset()
                    if no_epochs or later.epochs is None
                    else look.epochs or frozenset(),
                    frozenset(pair for pair in look.phases if pair[0] not in passed),
                )
                for look in (earlier, later)
            )
        )

    def _answers(self, now: World, reader: Reader) -> World:
        names = reader.names
        look = reader.look if self._weakened in ONE_LOOK else reader.before
        if self._weakened == "looked_after_and_no_job_is_seen" and look.phases:
            return _OVER
        for number, phase in look.phases:
            if phase is Phase.DECIDED and self._weakened != "new_files_shown":
                names -= {*self._plan.new[number]}
            elif phase is Phase.PUBLISHED and self._hides_old(number):
                names -= {*now.jobs[number].replaced}
        if names in reader.moments:
            return _OVER
        return now._replace(reader=Reader("is told", names=names, moments=reader.moments))

    def _hides_old(self, number: int) -> bool:
        if number == self._plan.lost:
            return self._weakened == "old_files_hidden_after_a_loss"
        return self._weakened != "old_files_shown"

    def wrong(self, now: World) -> str | None:
        reader = now.reader
        if reader.at != "is told":
            return None
        counted = [sorted(names) for names in reader.moments]
        return f"a reader is told {sorted(reader.names)}, and what has counted is one of {counted}"


@cache
def agree(earlier: Shown, later: Shown) -> bool:
    """Whether two looks agree, as the code says."""
    one, other = (
        seen_jobs.Look(
            frozenset(_DESTINATION.epoch(Nonce(f"{epoch:032x}")) for epoch in epochs),
            {layout.job_id: SeenJob(layout, phase) for layout, phase in _placed(phases)},
        )
        for epochs, phases in (earlier, later)
    )
    return one.agrees_with(other)


def _placed(phases: Phases) -> Iterator[tuple[JobLayout, Phase]]:
    for number, phase in phases:
        yield _DESTINATION.job(f"20261120T140355-{number:016x}"), phase


def _has_listed(now: World, look: Look, epochs: frozenset[int]) -> Look:
    """A look when all has been listed once more: an area may have gone since the first time."""
    phases = (
        (number, phase if phase is not Phase.EMPTY or has_area(now.jobs[number]) else Phase.ENDED)
        for number, phase in look.phases
    )
    return look._replace(phases=frozenset(phases), epochs=epochs)


def _with(now: World, number: int, job: Job) -> World:
    return now._replace(jobs=(*now.jobs[:number], job, *now.jobs[number + 1 :]))
