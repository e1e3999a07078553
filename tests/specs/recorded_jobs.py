"""Runs of two jobs as sequences of the events that `docs/spec/DestinationTrace.tla` knows.

Each of the jobs writes a file to one or two partitions, in each of which an old one stands; what
the specification tells jobs apart by are constants, the same ones for all runs of one `Pair`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from fsspec_commit.testing.simulation import AttemptPlan, FaultAt, JobPlan, Plan
from tests.specs.drawn_runs import UUID
from tests.specs.recorded import ROOT, WRITES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.testing.simulation import Run
    from fsspec_commit.testing.simulation.process import FaultKind
    from fsspec_commit.testing.simulation.trace import Event

FAMILIES = ("disk", "hdfs", "memory")
"""Where an area goes by one rename: of others `Job.tla` says how one goes."""
KINDS: tuple[FaultKind, ...] = (
    "crash_before",
    "crash_after",
    "error",
    "error_but_applied",
    "hang",
    "halt",
)
OLDER, NEWER, OTHERS = "<<1, 1>>", "<<2, 1>>", "<<0, 1>>"
"""Who acts: the drivers of the two jobs, and whoever settles them in the end."""
_JOB_ID = r"\d{8}T\d{6}-[0-9a-f]{16}"
_IN_AREA = re.compile(rf"_commit/({_JOB_ID})(?:/(.*))?")
_FILE = re.compile(rf"p([12])/(?:old-{UUID}|f-({_JOB_ID})-\d+)\.txt")


@dataclass(frozen=True)
class One:
    """One of two jobs.

    Attributes:
        mode: Its mode.
        parts: The partitions to which it writes.
        key: Its idempotency key.
    """

    mode: Any
    parts: tuple[int, ...] = (1,)
    key: str | None = None


@dataclass(frozen=True)
class Pair:
    """Two jobs, the older one first, and whether old files stand there."""

    older: One
    newer: One
    old_files: bool = True

    def constants(self) -> dict[str, str]:
        """The same, as constants of the specification."""
        jobs = {1: self.older, 2: self.newer}

        def those(mode: str) -> str:
            return _set(number for number, one in jobs.items() if one.mode == mode)

        def of(part: int) -> str:
            return _set(number for number, one in jobs.items() if part in one.parts)

        return {
            "Jobs": "{1, 2}",
            "Appends": those("append"),
            "Overwrites": those("overwrite"),
            "Replaces": those("overwrite_partitions"),
            "Errors": those("error"),
            "First": of(1),
            "Second": of(2),
            "SameKey": _set(number for number, one in jobs.items() if one.key),
            "Rounds": "9",
            "OldFiles": str(self.old_files).upper(),
            "GivesUp": "TRUE",
        }


def _set(numbers: Iterator[int]) -> str:
    return f"{{{', '.join(map(str, numbers))}}}"


PAIRS = {
    "append and overwrite": Pair(One("append"), One("overwrite", (1, 2))),
    "overwrite and append": Pair(One("overwrite"), One("append", (1, 2))),
    "two overwrites": Pair(One("overwrite", (1, 2)), One("overwrite")),
    "one partition": Pair(One("overwrite_partitions"), One("overwrite_partitions", (1, 2))),
    "two partitions": Pair(One("overwrite_partitions"), One("overwrite_partitions", (2,))),
    "one key": Pair(One("append", key="k"), One("append", key="k")),
    "error after overwrite": Pair(One("overwrite"), One("error"), old_files=False),
    "error before append": Pair(One("error"), One("append"), old_files=False),
}


def draw(seed: int, family: str, pair: Pair) -> Plan:
    """A run of two jobs, of which one stands still while the other commits, with some faults."""
    random = Random(f"jobs {seed} {family}")
    halted = random.choice("ab")
    pause_s = {"a": 0.0, "b": 4.0}[halted]
    jobs = tuple(
        JobPlan(
            name=name,
            mode=one.mode,
            files=(tuple(f"p{part}/f.txt" for part in one.parts),),
            attempts=(AttemptPlan(task=0, pause_s=pause_s if name == "a" else 0.0),),
            key=one.key,
            at_s=at_s,
            wait_s=random.choice((0.5, 20.0, 200.0)),
            then="leave",
        )
        for name, one, at_s in (("a", pair.older, 0.0), ("b", pair.newer, 1.2))
    )
    faults = [
        FaultAt(
            f"{halted}.driver",
            random.randrange(4, 16),
            "halt",
            random.choice((2.0, 8.0, 30.0, 300.0)),
        )
    ]
    faults += [
        FaultAt(
            f"{random.choice('ab')}.driver",
            random.randrange(3, 40),
            random.choice(KINDS),
            random.choice((1.0, 10.0, 40.0)),
        )
        for _ in range(random.randrange(3))
    ]
    old = tuple(f"p{part}/old-{UUID}.txt" for part in (1, 2)) if pair.old_files else ()
    return Plan(family=family, schedule=seed, old=old, jobs=jobs, faults=tuple(faults))


@dataclass(frozen=True)
class Recorded:
    """One event, as TLA+ writes it."""

    who: str
    what: str
    changed: bool
    job: int = 0
    part: int = 0

    def __str__(self) -> str:
        named = f'who |-> {self.who}, what |-> "{self.what}", job |-> {self.job}'
        return f"[{named}, part |-> {self.part}, changed |-> {str(self.changed).upper()}]"


def events_of(run: Run) -> list[Recorded]:
    """The events of a run, in the order in which the store carried requests out."""
    return list(_Reading(run).events())


def begin_in_turn(events: list[Recorded]) -> bool:
    """Whether the older job had begun before the newer one did anything, and neither began again.

    While a job begins, its area is there before its ``job.json``, which makes it a job in the
    specification: ``void_area`` is about that.
    """
    began = [number for number, one in enumerate(events) if one.what == "create job.json"]
    newer = [number for number, one in enumerate(events) if one.who == NEWER]
    return (
        [(events[number].who, events[number].job) for number in began] == [(OLDER, 1), (NEWER, 2)]
        and began[0] < newer[0]
        and max(one.job for one in events) <= len(began)
    )


class _Reading:
    def __init__(self, run: Run) -> None:
        self._events = run.trace.events
        self._jobs: dict[str, int] = {}
        self._claims: dict[int, set[str]] = {}

    def events(self) -> Iterator[Recorded]:
        for event in self._events:
            is_request = event.path and not event.what.startswith("***")
            if is_request and ".attempt" not in event.actor:
                found = self._read(event, event.what.removesuffix(", late"))
                if found is not None:
                    yield found

    def _read(self, event: Event, verb: str) -> Recorded | None:
        below = event.path.removeprefix(ROOT)
        changed = verb in WRITES and event.answer == ""
        who = self._who(event.actor)
        in_area, file = _IN_AREA.fullmatch(below), _FILE.fullmatch(below)
        if in_area:
            return self._of_area(who, verb, *in_area.groups(), changed=changed)
        if file:
            what = {"rename": "publish", "complete": "publish", "delete": "delete old"}.get(verb)
            return self._of_file(who, what, file, changed=changed)
        if below == "_commit" and verb == "list_children":
            return Recorded(who, "list areas", changed=False)
        if below.startswith("_commit/done/") and verb == "create":
            return Recorded(who, "create done", changed)
        if below.startswith("_commit/gone-") and verb == "rename_directory" and changed:
            return Recorded(who, "rename area", changed)
        return None

    def _of_area(
        self, who: str, verb: str, job_id: str, record: str | None, *, changed: bool
    ) -> Recorded | None:
        job, record = self._job(job_id), record or ""
        if record == "" and verb == "list_children":
            return Recorded(who, "list area", changed=False, job=job)
        if record in {"job.json", "published"} and verb == "create":
            return Recorded(who, f"create {record}", changed, job) if changed else None
        if record == "decision" and verb == "create":
            return Recorded(who, "create decision", changed, job)
        if record.startswith("claim-") and verb in {"create", "delete"}:
            return self._of_claim(who, verb, record, job) if changed else None
        if record.startswith("trash/") and verb == "rename":
            name = unquote(record.removeprefix("trash/").removesuffix(".pending"))
            file = _FILE.fullmatch(name)
            return self._of_file(who, "delete old", file, changed=changed) if file else None
        return None

    def _of_claim(self, who: str, verb: str, record: str, job: int) -> Recorded | None:
        """A claim beside which another one of its job stands says nothing more."""
        standing = self._claims.setdefault(job, set())
        before = bool(standing)
        if verb == "create":
            standing.add(record)
        else:
            standing.discard(record)
        is_told = before is not bool(standing)
        return Recorded(who, f"{verb} claim", changed=True, job=job) if is_told else None

    def _of_file(
        self, who: str, what: str | None, file: re.Match[str], *, changed: bool
    ) -> Recorded | None:
        if what is None or not changed:
            return None
        job = self._job(file[2]) if file[2] else 0
        return Recorded(who, what, changed, job, int(file[1]))

    def _job(self, job_id: str) -> int:
        return self._jobs.setdefault(job_id, len(self._jobs) + 1)

    def _who(self, actor: str) -> str:
        return {"a.driver": OLDER, "b.driver": NEWER}.get(actor, OTHERS)


def module_of(runs: list[list[Recorded]]) -> str:
    """The module that `DestinationTrace` reads."""
    listed = ",\n".join("<<" + ",\n  ".join(map(str, run)) + ">>" for run in runs)
    return f"---- MODULE Recorded ----\nRuns == <<\n{listed}\n>>\n====\n"
