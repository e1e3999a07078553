"""Who may believe a decision, where the job may be over: every interleaving of one job's settlers.

On a store without directories, and on Gen2, nothing refuses a record in an area that is gone. A
decision that was created too late stands there until its author has read ``job.json`` and taken it
back, or for long, if the author died between the two. Whoever meets it must not believe it; nor may
a ``job.json`` that comes late bring a finished job back to life. Nor may what is left look like the
area of a committed job whose files were lost, which only a person can settle.

Every step is one request. A request that creates may be left unanswered and be carried out at any
later time, once. Who dies is who never takes another step: that is in it, since what must not be
is looked for in every state. Breadth first, so the trace found is a shortest.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tests.specs.explore import Found, explore

Weakened: TypeAlias = Literal[
    "decision_believed",  # another's decision is believed, whether the job is over or not
    "job_read_first",  # job.json is read before the decision, not after it
    "resume_unchecked",  # a resumer does not read job.json after the decision
    "start_repeated",  # job.json is created again after an unanswered request
    "decision_gone_first",  # the decision of an aborted job goes before the manifests
]
State: TypeAlias = Literal["committed", "aborted"]


@dataclass(frozen=True)
class Settler:
    """One who works on the job: where they are, what they have read, what they were told."""

    name: str
    at: str
    read: State | None = None
    told: str | None = None


@dataclass(frozen=True)
class Store:
    """What stands on the store, what may still be carried out, and who is where.

    ``decided`` is the model's own knowledge: which decision was created while ``job.json`` stood.
    """

    settlers: tuple[Settler, ...]
    job: bool = False
    decision: State | None = None
    sources: bool = True
    manifests: bool = True
    visible: bool = False
    late: frozenset[str] = frozenset()
    decided: frozenset[State] = frozenset()

    def created(self, state: State) -> "Store":
        """A decision is created, exclusively."""
        counts = frozenset({state}) if self.job else frozenset[State]()
        return replace(self, decision=state, decided=self.decided | counts)


Step: TypeAlias = tuple[str, Store]


class Model:
    """The rules, but for one that may be *weakened*."""

    def __init__(self, weakened: Weakened | None = None) -> None:
        self._weakened = weakened

    def start(self) -> Store:
        """A starter, two drivers of what it starts, an aborter, a resumer."""
        names = ("starter", "driver", "twin", "aborter", "resumer")
        return Store(tuple(Settler(name, "begin") for name in names))

    def steps(self, store: Store) -> Iterator[Step]:
        """Everything that can happen next."""
        for number, settler in enumerate(store.settlers):
            if settler.at == "end":
                continue
            yield from self._acts(store, number, settler)
        for request in store.late:
            rest = replace(store, late=store.late - {request})
            if request == "job.json":
                yield "a late job.json is created", replace(rest, job=True)
            elif rest.decision is None:
                yield f"a late decision is created: {request}", rest.created(_state(request))
            else:
                yield "a late decision is refused", rest

    def _acts(self, store: Store, number: int, settler: Settler) -> Iterator[Step]:
        if settler.name == "starter":
            yield from self._starts(store, number)
        elif settler.name == "resumer":
            yield from self._resumes(store, number, settler)
        elif settler.at == "begin":
            # A driver knows the job from its start; an aborter finds its job.json.
            if store.job:
                yield f"{settler.name} begins", _moved(store, number, "decide")
        elif settler.at in {"decide", "created"}:
            yield from self._decides(store, number, settler)
        else:
            yield from self._settles(store, number, settler)

    def _starts(self, store: Store, number: int) -> Iterator[Step]:
        """An unanswered start is the end of this id, unless that rule is weakened."""
        if not store.job:
            yield "starter creates job.json", replace(_moved(store, number, "end"), job=True)
        if not store.late and not store.job:
            again = "begin" if self._weakened == "start_repeated" else "end"
            unanswered = replace(_moved(store, number, again), late=frozenset({"job.json"}))
            yield "starter creates job.json, unanswered", unanswered

    def _decides(self, store: Store, number: int, settler: Settler) -> Iterator[Step]:
        wanted: State = "aborted" if settler.name == "aborter" else "committed"
        if settler.at == "created":
            if store.job:
                yield f"{settler.name} confirms", _moved(store, number, f"do {wanted}")
            else:
                withdrawn = replace(_told(store, number, "unknown"), decision=None)
                yield f"{settler.name} finds the job over, and withdraws", withdrawn
            return
        if store.decision is None:
            made = _moved(store, number, "created").created(wanted)
            yield f"{settler.name} decides: {wanted}", made
        else:
            at = "look first" if self._weakened == "job_read_first" else "read"
            yield f"{settler.name} is refused", _moved(store, number, at)
        if not store.late:
            unanswered = replace(store, late=frozenset({wanted}))
            yield f"{settler.name} decides: {wanted}, unanswered", unanswered

    def _settles(self, store: Store, number: int, settler: Settler) -> Iterator[Step]:
        if settler.at == "look first":
            moved = _moved(store, number, "read") if store.job else _told(store, number, "unknown")
            yield f"{settler.name} reads job.json: {store.job}", moved
        elif settler.at == "read":
            read = _moved(store, number, "look", read=store.decision)
            if self._weakened in {"decision_believed", "job_read_first"}:
                read = self._believed(read, number)
            yield f"{settler.name} reads the decision: {store.decision}", read
        elif settler.at == "look":
            counts = self._believed(store, number) if store.job else _told(store, number, "unknown")
            yield f"{settler.name} reads job.json: {store.job}", counts
        elif settler.at == "do committed":
            if store.sources:
                done = replace(_moved(store, number, "retire committed"), visible=True)
                yield f"{settler.name} publishes", replace(done, sources=False)
            elif store.visible:
                yield f"{settler.name} sees all", _moved(store, number, "retire committed")
            else:
                yield f"{settler.name} misses its files", _told(store, number, "unknown")
        else:
            yield from self._retires(store, number, settler)

    def _believed(self, store: Store, number: int) -> Store:
        """What one does who takes a decision that was read for the job's."""
        settler = store.settlers[number]
        if settler.read is None:
            return _told(store, number, "unknown")
        if settler.read == "aborted":
            if settler.name == "aborter":
                return _moved(store, number, "do aborted")
            return _told(store, number, "not committed")
        if settler.name == "resumer":
            return _moved(store, number, "do committed")
        return _told(store, number, "committed")

    def _resumes(self, store: Store, number: int, settler: Settler) -> Iterator[Step]:
        if settler.at == "begin":
            if store.job:
                yield "resumer finds the job", _moved(store, number, "read")
        elif settler.at == "read":
            read = _moved(store, number, "look", read=store.decision)
            if self._weakened == "resume_unchecked":
                read = self._believed(read, number)
            yield f"resumer reads the decision: {store.decision}", read
        else:
            yield from self._settles(store, number, settler)

    def _retires(self, store: Store, number: int, settler: Settler) -> Iterator[Step]:
        """The area goes: job.json first and alone, then the rest; `emptying` says in which order.

        Of a committed job ``published`` stands until the end, so its decision may go early.
        """
        did, how = settler.at.split(" ")
        order = ["manifests", "decision"]
        if how == "committed" or self._weakened == "decision_gone_first":
            order.reverse()
        if did in {"do", "retire"}:
            gone = replace(_moved(store, number, f"{order[0]} {how}"), job=False)
            yield f"{settler.name} deletes job.json", gone
        elif did == "sweep":
            told = "committed" if how == "committed" else "not committed"
            swept = replace(_told(store, number, told), sources=False, manifests=False)
            yield f"{settler.name} deletes the rest", swept
        else:
            moved = _moved(store, number, f"{order[1] if did == order[0] else 'sweep'} {how}")
            if did == "decision":
                yield f"{settler.name} deletes the decision", replace(moved, decision=None)
            else:
                yield f"{settler.name} deletes the manifests", replace(moved, manifests=False)


def _state(request: str) -> State:
    return "committed" if request == "committed" else "aborted"


def _moved(store: Store, number: int, at: str, read: State | None = None) -> Store:
    settler = store.settlers[number]
    moved = replace(settler, at=at, read=read if read is not None else settler.read)
    return _with(store, number, moved)


def _told(store: Store, number: int, told: str) -> Store:
    settler = store.settlers[number]
    return _with(store, number, replace(settler, at="end", read=None, told=told))


def _with(store: Store, number: int, settler: Settler) -> Store:
    settlers = store.settlers
    return replace(store, settlers=(*settlers[:number], settler, *settlers[number + 1 :]))


def wrong(store: Store) -> str | None:
    """What is broken in this state, if anything."""
    told = {settler.told for settler in store.settlers}
    if len(store.decided) > 1:
        return "two decisions counted"
    if store.visible and "committed" not in store.decided:
        return "files are visible that nobody decided to commit"
    if "not committed" in told and ("committed" in told or store.visible):
        return "somebody was told that nothing is committed, of a job that is"
    if "committed" in told and "committed" not in store.decided:
        return "somebody was told that the job is committed, which it is not"
    if _looks_lost(store):
        return "a void area looks like that of a committed job whose files were lost"
    return None


def _looks_lost(store: Store) -> bool:
    """Whether a void area shows a committed decision, what it chose, and nothing published."""
    void = store.decision == "committed" and not store.job
    return void and store.manifests and not store.visible


def search(weakened: Weakened | None = None) -> Found:
    """Search every interleaving."""
    model = Model(weakened)
    return explore(model.start(), model.steps, wrong)
