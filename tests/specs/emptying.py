"""How an area goes whose job is settled: every interleaving of those who remove it.

``job.json`` goes first; what else is there is listed meanwhile. Then goes what needs no order, all
at once; and at last what keeps the rest from looking like that of a committed job whose files were
lost: ``published``, or the decision of a job that has none. A driver of the job that has decided
nothing may wake up at any time and create a decision, find the job over and take it back, or die
before that. An attempt that nobody waits for may create its manifest at any time.

A job may be aborted by another while it runs, or committed by another driver of it, with other
messages. So its task may commit at any time: it looks for ``job.json``, and beside that creates its
manifest, and the driver has its message if both went well. The driver then finds that there is no
decision, finds ``job.json`` after that, and goes to sleep.

What they leave must never look like a loss, of which a person is asked: neither what one of them
leaves, nor what both do. It looks like one where a manifest stands that the decision names. No late
one is, since the attempt has sent no message. A manifest that a driver names does not come twice
here: that its create was repeated, and is carried out once more when all is over, no look can show.

Two remove it, the second perhaps when it has no ``job.json`` any more, as `clean` does. Every step
is one request. Who dies is who never takes another step: that is in it, since what must not be is
looked for in every state.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from tests.specs.explore import Found, explore

Weakened: TypeAlias = Literal[
    "decision_beside_manifests",  # of a job that was aborted
    "published_beside_manifests",  # it goes with all that needs no order
    "begun_beside_job",  # the rest begins to go before job.json is known to be gone
    "claims_unseen",  # the driver goes by the message alone, and looks for no job.json
    "claims_decided",  # it finds job.json, and looks for no decision
    "job_found_first",  # and for a decision after that
]
Ending: TypeAlias = Literal["committed", "aborted"]
Settled: TypeAlias = Literal["committed", "aborted", "committed as it runs", "aborted as it runs"]
File: TypeAlias = Literal["manifest", "task's manifest", "late manifest", "decision", "published"]
Sleeper: TypeAlias = Literal["begin", "find", "decide", "look", "take back", "end"]
Look: TypeAlias = Literal["no decision", "job.json", "nothing"]
SETTLED: tuple[Settled, ...] = get_args(Settled)


@dataclass(frozen=True)
class Remover:
    """One who removes the area: what they have listed, and what is still to go, step by step."""

    name: str
    has_listed: bool = False
    has_deleted_job: bool = False
    steps: tuple[frozenset[File], ...] | None = None


@dataclass(frozen=True)
class Area:
    """What stands, and who is where.

    Attributes:
        decides: What the decision says that stands.
        names: The manifest that a driver names which has decided nothing.
        other: What another is about to decide.
        counted: How many decisions were created while ``job.json`` stood.
        task: Whether it has found ``job.json``, with its manifest to come, or is done.
        sleeper: What the driver does next that has decided nothing; it begins with its message.
    """

    files: frozenset[File]
    decides: Ending | None
    removers: tuple[Remover, ...] = (Remover("driver"), Remover("another"))
    job: bool = True
    names: File = "manifest"
    other: Ending | None = None
    counted: int = 1
    task: Literal["look", "create", "end"] = "end"
    sleeper: Sleeper = "decide"

    def without(self, file: File) -> "Area":
        """It is deleted, if it is there."""
        left = replace(self, files=self.files - {file})
        return replace(left, decides=None) if file == "decision" else left


Step: TypeAlias = tuple[str, Area]


class Model:
    """The rules, but for one that may be *weakened*."""

    def __init__(self, weakened: Weakened | None = None) -> None:
        self._weakened = weakened

    def start(self, settled: Settled) -> Area:
        """A settled job, whose end has come, or one that another is about to settle."""
        if settled == "committed as it runs":
            return self._still_runs("committed")
        if settled == "aborted as it runs":
            return self._still_runs("aborted")
        of_committed: set[File] = {"published"} if settled == "committed" else set()
        return Area(frozenset({"manifest", "decision", *of_committed}), settled)

    def _still_runs(self, other: Ending) -> Area:
        return Area(
            frozenset({"manifest"}),
            None,
            names="task's manifest",
            other=other,
            counted=0,
            task="look",
            sleeper="begin",
        )

    def steps(self, area: Area) -> Iterator[Step]:
        """Everything that can happen next."""
        if "late manifest" not in area.files:
            yield "a late manifest comes", replace(area, files=area.files | {"late manifest"})
        yield from self._task_commits(area)
        yield from self._wakes_up(area)
        if area.other is not None:
            yield from self._is_settled(area, area.other)
            return
        for number, one in enumerate(area.removers):
            for label, after, moved in self._removes(area, one):
                removers = (*area.removers[:number], moved, *area.removers[number + 1 :])
                yield f"{one.name} {label}", replace(after, removers=removers)

    def _is_settled(self, area: Area, other: Ending) -> Iterator[Step]:
        """Another decides, unless the driver has; what is committed is published at once."""
        if area.decides is None:
            files: set[File] = {"decision"}
            of_committed: set[File] = {"published"} if other == "committed" else set()
            settled = replace(area, files=area.files | files | of_committed, decides=other)
            yield f"it is {other}", replace(settled, other=None, counted=area.counted + 1)

    def _task_commits(self, area: Area) -> Iterator[Step]:
        """If its manifest comes first, and it then finds no job, that is a late one."""
        if area.task == "look" and area.job:
            yield "a task finds job.json", replace(area, task="create")
        elif area.task == "create":
            created = replace(area, files=area.files | {"task's manifest"}, task="end")
            yield "a task's manifest comes", created

    def _wakes_up(self, area: Area) -> Iterator[Step]:
        """One who has decided nothing: refused by a decision that stands, else it is theirs."""
        if area.sleeper == "begin":
            if area.task == "end":
                yield from self._finds(area, self._of_two_looks[0], "find")
        elif area.sleeper == "find":
            yield from self._finds(area, self._of_two_looks[1], "decide")
        elif area.sleeper == "decide" and area.decides is not None:
            yield "a sleeper is refused", replace(area, sleeper="end")
        elif area.sleeper == "decide":
            made = replace(area, files=area.files | {"decision"}, decides="committed")
            counted = replace(made, counted=area.counted + area.job)
            yield "a sleeper decides", replace(counted, sleeper="look")
        elif area.sleeper == "look":
            goes_on: Literal["end", "take back"] = "end" if area.job else "take back"
            yield f"a sleeper reads job.json: {area.job}", replace(area, sleeper=goes_on)
        elif area.sleeper == "take back":
            taken = replace(area.without("decision"), sleeper="end")
            yield "a sleeper takes the decision back", taken

    @property
    def _of_two_looks(self) -> tuple[Look, Look]:
        """What a driver wants when it has its messages."""
        weaker: dict[Weakened | None, tuple[Look, Look]] = {
            "claims_unseen": ("nothing", "nothing"),
            "claims_decided": ("nothing", "job.json"),
            "job_found_first": ("job.json", "no decision"),
        }
        return weaker.get(self._weakened, ("no decision", "job.json"))

    def _finds(self, area: Area, wanted: Look, then: Sleeper) -> Iterator[Step]:
        is_so = {"nothing": True, "job.json": area.job, "no decision": area.decides is None}
        if is_so[wanted]:
            yield f"a driver that has the message finds {wanted}", replace(area, sleeper=then)

    def _removes(self, area: Area, me: Remover) -> Iterator[tuple[str, Area, Remover]]:
        if not me.has_listed:
            listed = replace(me, has_listed=True, steps=self._in_order(area.files))
            yield f"lists {sorted(area.files)}", area, listed
        if not me.has_deleted_job:
            yield "deletes job.json", replace(area, job=False), replace(me, has_deleted_job=True)
        may_go_on = me.has_deleted_job or self._weakened == "begun_beside_job"
        if me.steps and may_go_on:
            first, *rest = me.steps
            for file in first:
                left = tuple(one for one in (first - {file}, *rest) if one)
                yield f"deletes the {file}", area.without(file), replace(me, steps=left)

    def _in_order(self, listed: frozenset[File]) -> tuple[frozenset[File], ...]:
        last: set[File] = {"published"} if "published" in listed else {"decision"}
        if self._weakened == "published_beside_manifests":
            last = {"decision"}
        elif self._weakened == "decision_beside_manifests":
            last = {"published"}
        return tuple(one for one in (listed - last, listed & last) if one)


def wrong(area: Area) -> str | None:
    """What is broken in this state, if anything."""
    if area.counted > 1:
        return "two decisions counted"
    is_named = area.decides == "committed" and area.names in area.files
    if area.job or "published" in area.files or not is_named:
        return None
    return "a void area looks like that of a committed job whose files were lost"


def search(weakened: Weakened | None = None) -> Found:
    """Search every interleaving, of each job."""
    model = Model(weakened)
    states = 0
    for settled in SETTLED:
        found = explore(model.start(settled), model.steps, wrong)
        states += found.states
        if found.problem is not None:
            break
    return replace(found, states=states)
