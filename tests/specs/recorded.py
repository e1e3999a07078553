"""The simulator's runs as sequences of the events that `docs/spec/JobTrace.tla` knows.

A run is of one job, whose tasks write a file each, over one old file. Each request that changes
something must be in a table below: as an event, or as what the specification leaves out, which says
why. Any other one is an error here: nothing the code does is overlooked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tests.specs.drawn_runs import OLD, truth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.testing.simulation import Run
    from fsspec_commit.testing.simulation.trace import Event

ROOT = "bucket/top/out/"
WRITES = frozenset(
    {
        *("create", "put", "finish", "start", "put_part", "complete", "abort", "delete"),
        *("delete_tree", "rename", "rename_directory", "make_directory"),
        "remove_empty_directory",
    }
)
Table: TypeAlias = tuple[tuple[str, str, str], ...]
# Of each: the verbs, the path in the job's area, the event.
IN_AREA: Table = (
    ("create", r"job\.json", "create job.json"),
    ("finish", r"tasks/.*", "write file"),
    ("rename_directory", r"committed/.*", "seal"),
    ("create", r"manifests/.*", "create manifest"),
    ("create|put", r"chosen/\d+", "create pointer"),
    ("create", r"_SUCCESS-.*", "prepare marker"),
    ("create", r"decision", "create decision"),
    ("create", r"published", "create published"),
    ("rename", r"trash/_SUCCESS\.pending", "remove marker"),
    ("rename", r"trash/.*", "delete old"),
    ("delete", r"decision", "delete decision"),
    ("delete", r"job\.json", "delete job.json"),
    ("delete", r"chosen/\d+", "delete pointer"),
    # In which order an area goes: `emptying` says why.
    ("delete|delete_tree|list_tree|stat", r"manifests(/.*)?", ""),
    ("delete|delete_tree|list_tree", r".*", "delete the rest"),
    # A deletion that was not answered is observed.
    ("stat", r"", "delete the rest"),
    ("stat", r"_SUCCESS-.*", "publish marker"),
    ("list_children", r"", "list area"),
    ("read|stat", r"job\.json", "read job.json"),
    ("read", r"manifests/.*", "read manifest"),
    ("read", r"decision", "read decision"),
    ("read", r"published", "read published"),
    ("read", r"chosen/\d+", "read pointer"),
    # Other jobs look at claims, and there are none here; the rest names what the decision holds.
    ("create|put|finish", r"(claim|alive|replaced|chosen)-.*", ""),
    # Only what is listed here is aborted: an attempt itself says what it has begun.
    ("create", r"uploads/.*", ""),
    # A directory is made where something in it is refused without.
    ("make_directory", r".*", ""),
    # Nothing is in them: `void_area` is about what may come into them.
    ("remove_empty_directory", r".*", ""),
)
# The same, of the path below the destination.
AT_DESTINATION: Table = (
    ("rename|complete|stat", r"_SUCCESS", "publish marker"),
    ("delete", r"_SUCCESS", "remove marker"),
    ("start|put_part|abort", r"_SUCCESS", ""),
    ("delete|stat", re.escape(OLD), "delete old"),
    ("list_tree", r"", "list destination"),
    ("list_children", r"_commit", "list areas"),
    ("create", r"_commit/epoch-.*", "create epoch"),
    # Epochs that stood before are told apart by no step.
    ("delete", r"_commit/epoch-.*", ""),
    # Marks of what a late request may still delete: their rule has a model of its own.
    ("create|delete|delete_tree", r"_commit/deleted-.*", ""),
    # Whoever accepts that files are lost records it: only code with a bug loses any.
    ("create", r"_commit/lost/.*", ""),
    ("rename_directory", r"_commit/(gone|void)-.*", "rename area"),
    # An area that was renamed away is deleted under that name, where nobody looks for it.
    ("delete|delete_tree", r"_commit/(gone|void)-.*", ""),
    ("make_directory", r".*", ""),
)


@dataclass(frozen=True)
class Recorded:
    """One event, as TLA+ writes it."""

    who: str
    what: str
    changed: bool
    task: int = 0
    told: tuple[str, ...] = ()
    nothing: bool = False

    def __str__(self) -> str:
        told = ", ".join(f'"{one}"' for one in self.told)
        truths = f"changed |-> {truth(self.changed)}, nothing |-> {truth(self.nothing)}"
        named = f'who |-> {self.who}, what |-> "{self.what}", task |-> {self.task}'
        return f"[{named}, {truths}, as |-> {{{told}}}]"


def events_of(run: Run) -> list[Recorded]:
    """The events of a run, in the order in which the store carried requests out.

    Raises:
        AssertionError: The code has changed something, and no table here says what that is.
    """
    return list(_Reading(run).events())


class _Reading:
    def __init__(self, run: Run) -> None:
        began = [one.what for one in run.trace.events if one.what.startswith("has started job ")]
        self._job = began[0].rpartition(" ")[2] if began else ""
        self._events = run.trace.events
        self._plan = run.plan.jobs[0]
        # Names that say nothing of a job: those of its files, if it has them exactly.
        self._exact = {name for names in self._plan.files for name in names}
        if self._plan.names != "exact":
            self._exact = set()
        self._calls: dict[str, str] = {}
        self._taken: set[str] = set()
        area = f"{ROOT}_commit/{self._job}"
        # Who renames an area away, looks into it and puts it back: `void_area` is about that.
        self._returning = {
            one.actor
            for one in self._events
            if one.path == area and one.what == "rename_directory" and one.answer == ""
        }

    def events(self) -> Iterator[Recorded]:
        withdrawn = set(map(id, self._withdrawn_markers()))
        for event in self._events:
            if id(event) not in withdrawn:
                yield from self._read(event)

    def _withdrawn_markers(self) -> Iterator[Event]:
        """Markers in whose place the same call has prepared another, under the name of a claim.

        The specification knows the one that a decision may name.
        """
        last: dict[str, Event] = {}
        for event in self._events:
            if event.what.startswith("calls "):
                last.pop(event.actor, None)
            elif event.what == "create" and event.answer == "" and "/_SUCCESS-" in event.path:
                if event.actor in last:
                    yield last[event.actor]
                last[event.actor] = event

    def _read(self, event: Event) -> Iterator[Recorded]:
        who = self._who(event.actor)
        if event.what.startswith("calls "):
            call, _, job = event.what.removeprefix("calls ").partition(" of job ")
            self._calls[event.actor] = call if job == self._job else ""
            if job == self._job and event.actor.startswith(("a.driver", "a.twin")):
                # What the store collects, a commit begins to read: then it goes by it.
                begins = call != "commit" or not self._plan.collect
                yield Recorded(who, f"calls {call}", changed=begins)
        elif event.what.startswith("is told "):
            yield from self._told(who, self._calls[event.actor], event)
        elif event.what.startswith("*** applied_late at "):
            if self._named(event.actor, event.what.rpartition(" ")[2], event.path):
                yield Recorded(who, "unanswered", changed=False)
        elif event.path and not event.what.startswith("***"):
            verb = event.what.removesuffix(", late")
            what = self._named(event.actor, verb, event.path)
            if event.answer.endswith(" is gone") and not event.actor.startswith("a.attempt"):
                what = "find it gone"  # What a record is refused for, or the look before it finds.
            changed = verb in WRITES and event.answer == "" and what != "delete the rest"
            if what:
                yield Recorded(who, what, changed=changed, task=self._task(event.path))

    def _named(self, actor: str, verb: str, path: str) -> str:
        """The event that a request is; empty if it is none."""
        below = path.removeprefix(ROOT) if path.startswith(ROOT) else ""
        job_id = re.match(r"_commit/(?:void-)?(\d{8}T\d{6}-[0-9a-f]{16})", below)
        if job_id and job_id[1] != self._job:
            return ""  # Of an id that was spent: its start was not answered.
        if actor.startswith("a.attempt"):
            if verb in {"delete", "delete_tree", "abort"}:
                return "discard"
            what = self._in_table(verb, below)
            return "seal" if what == "read job.json" else what if verb in WRITES else ""
        if verb == "rename_directory" and actor in self._returning:
            if below == f"_commit/{self._job}":
                self._returning.remove(actor)
            return ""
        what = self._in_table(verb, below)
        if what == "rename area":
            if "/gone-" in path and actor in self._taken:
                return ""  # It had another name already.
            if "/void-" in path:
                self._taken.add(actor)
        return what

    def _in_table(self, verb: str, below: str) -> str:
        area = f"_commit/{self._job}/"
        if below in self._exact or ("/" not in below and f"-{self._job}-" in below):
            return _of_final(verb)
        table = AT_DESTINATION
        if f"{below}/".startswith(area):
            table, below = IN_AREA, below[len(area) :]
        for verbs, pattern, what in table:
            if re.fullmatch(verbs, verb) and re.fullmatch(pattern, below):
                return what
        assert verb not in WRITES, f"no event is {verb} of {below!r}"
        return ""

    def _task(self, path: str) -> int:
        """The task whose file, or pointer, a path is."""
        below = path.removeprefix(ROOT)
        pointer = re.fullmatch(r"_commit/[^/]+/chosen/(\d+)", below)
        if pointer:
            return int(pointer[1]) + 1
        if below in self._exact:
            return 1 + [below in names for names in self._plan.files].index(True)
        found = re.search(rf"-{self._job}-(\d+)", path.rpartition("/")[2])
        return int(found[1]) + 1 if found and self._job else 0

    def _who(self, actor: str) -> str:
        name = actor.removeprefix("a.")
        if not name.startswith("attempt"):
            return f'"{name.rstrip("0123456789") if name != "operator2" else name}"'
        number = int(name.removeprefix("attempt"))
        task = self._plan.attempts[number].task
        before = [one.task for one in self._plan.attempts[:number]].count(task)
        return f"<<{task + 1}, {before + 1}>>"

    def _told(self, who: str, call: str, event: Event) -> Iterator[Recorded]:
        answer = event.what.removeprefix("is told ")
        by_others = event.answer.startswith("JobNotActiveError(")
        told: tuple[str, ...] = ()
        if not call:
            return
        if answer == "returned":
            # Of two who abort, one may find nothing left to remove.
            told = ("aborted", "retire") if call == "abort" else ("returned",)
        elif by_others and answer == "committed":
            told = ("told committed",)
        nothing = answer == "not_committed" or (answer == "returned" and call == "abort")
        yield Recorded(who, "told", changed=False, told=told, nothing=nothing)


def _of_final(verb: str) -> str:
    """The event of a request for a file in its place, or for the upload of one."""
    if verb in {"rename", "complete"}:
        return "publish"
    if verb == "put_part":
        return "write file"
    if verb == "stat":
        return "observe"
    assert verb not in WRITES - {"start", "abort"}, f"no event is {verb} of a new file"
    return ""


def module_of(runs: list[list[Recorded]]) -> str:
    """The module that `JobTrace` reads."""
    listed = ",\n".join("<<" + ",\n  ".join(map(str, run)) + ">>" for run in runs)
    return f"---- MODULE Recorded ----\nRuns == <<\n{listed}\n>>\n====\n"
