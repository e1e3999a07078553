"""Plans drawn from integers, each about something that is hard to get right."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple, TypeVar

from fsspec_commit.records.job import Mode, Success
from fsspec_commit.store import AtomicRename
from fsspec_commit.testing.simulation import extending
from fsspec_commit.testing.simulation.families import DRAWN_FAMILIES, FAMILIES, Family
from fsspec_commit.testing.simulation.plan import (
    AttemptPlan,
    CleanerPlan,
    ForeignPlan,
    HelperKind,
    HelperPlan,
    JobPlan,
    Plan,
    actors_of,
)
from fsspec_commit.testing.simulation.process import FaultAt, FaultKind
from fsspec_commit.testing.simulation.spreading import spread
from fsspec_commit.testing.simulation.varying import variation, with_a_verifier

T = TypeVar("T")

_OFTEN: tuple[Mode, ...] = ("append", "overwrite", "overwrite_partitions")
_SELDOM: tuple[Mode, ...] = ("error", "ignore")
_UUID = "6a0d9b8e-5c0f-4a55-9f0e-0123456789ab"
_OLD = ("a.txt", "old.txt", "day=1/a.txt", "day=1/hour=2/old.txt", "day=2/old.txt")
_FILES = ("a.txt", "day=1/a.txt", "day=1/b.txt", "day=2/a.txt", "day=3/hour=1/a.txt")
_SUCCESS: tuple[Success, ...] = ("marker", "marker", "json", "json", "none")
_ANY: tuple[FaultKind, ...] = (
    "crash_before",
    "crash_after",
    "error",
    "error_but_applied",
    "applied_late",
    "throttled",
    "hang",
    "halt",
    "cut",
    "outage",
)
_DELAYS_S = (0.05, 0.5, 3.0, 20.0, 100.0, 700.0, 5_000.0)
_CHANGING = ("create", "delete", "rename", "complete", "rename_directory", "read")
_CALLS_OF_A_VERB = 6
_CALLS_OF_A_DRIVER = 40
_CALLS_OF_OTHERS = 20


def draw(
    seed: int,
    *,
    family: str | None = None,
    varied: bool = False,
    sliced: bool = False,
    extended: bool = False,
    verified: bool = False,
    committers: bool = False,
) -> Plan:
    """Draw a plan: the same one for the same arguments, on every machine.

    Each is about one of these: a driver that stands still while others go on; jobs that conflict,
    or go past each other at any step; requests that come late; a store that is out; jobs that are
    cleaned while they begin; markers of jobs that have died; files of others in the way; anything.

    Args:
        seed: Any integer.
        family: The kind of store, a name of ``FAMILIES``; ``None`` draws it, too.
        varied: Whether it is varied by one or two of these: hidden and odd names, empty files,
            another spelling of a partition, adopted attempts, tasks that write a file again,
            readers that stand still, callbacks that raise, Ctrl-C, crashes of those who settle a
            job, a destination beside or inside it, leftovers, others who delete old files.
        sliced: Whether other processes run slices of its jobs, and stand still, or die.
        extended: Whether it has one of these besides: up to four attempts of a task; jobs of
            earlier versions that have died there; modes that are drawn alike.
        verified: Whether somebody asks ``verify`` besides, and may stand still.
        committers: Whether each job asks for one of the committers that are safe there.
    """
    random = Random(f"plan {seed}")
    kind = FAMILIES[family or random.choice(DRAWN_FAMILIES)]
    plan = _Drawing(random, kind, seed).plan()
    plan = extending.with_kept_manifests(plan, Random(f"kept {seed}"))
    if varied:
        plan = variation(plan, kind, Random(f"variation {seed}"))
    if sliced:
        plan = spread(plan, Random(f"slices {seed}"))
    if extended:
        plan = extending.extension(plan, kind, Random(f"extension {seed}"))
    if committers:
        plan = extending.with_committers(plan, kind, Random(f"committers {seed}"))
    return with_a_verifier(plan, Random(f"verifier {seed}")) if verified else plan


class _Parts(NamedTuple):
    """What a plan is about: jobs, what goes wrong, who else acts."""

    jobs: tuple[JobPlan, ...]
    faults: tuple[FaultAt, ...]
    cleaners: tuple[CleanerPlan, ...] = ()
    obstacles: tuple[ForeignPlan, ...] = ()


@dataclass(frozen=True)
class _Drawing:
    random: Random
    family: Family
    seed: int

    def plan(self) -> Plan:
        about = self.random.choice(
            (
                self._overtaken,
                self._overtaken,
                self._superseded,
                self._conflict,
                self._conflict,
                self._between,
                self._between,
                self._late,
                self._out,
                self._begin,
                self._marked,
                self._in_the_way,
                self._any,
            )
        )
        jobs, faults, cleaners, obstacles = about()
        names: tuple[str, ...] = _OLD
        if not self.family.takes_any_name:
            names = tuple(name.replace(".txt", f"-{_UUID}.txt") for name in _OLD)
        taken = {one.name for one in obstacles}
        old = self.random.sample(names, self._one_of(0, 2, len(names)))
        return Plan(
            family=self.family.name,
            schedule=self.seed,
            old=tuple(name for name in old if name not in taken),
            same=self._happens(0.3),
            jobs=jobs,
            cleaners=cleaners,
            foreign=(*self._foreign(), *obstacles),
            faults=faults,
        )

    def _foreign(self) -> tuple[ForeignPlan, ...]:
        if not self._happens(0.2):
            return ()
        name = self._one_of("foreign.txt", "day=1/foreign.txt", "day=2/foreign.txt")
        at_s = self._moment(self._one_of(1.0, 3.0, 20.0))
        return (ForeignPlan(name=name, at_s=at_s),)

    def _overtaken(self) -> _Parts:
        """Somebody stands still, others settle the job, and later jobs go over it."""
        helpers = tuple(
            self._helper(self._one_of(1.0, 5.0, 15.0)) for _ in range(self._one_of(1, 1, 2))
        )
        first = self._job("a", helpers=helpers, few=True)
        later = tuple(
            self._job(name, at_s=self._one_of(3.0, 8.0, 20.0, 8_000.0), few=True)
            for name in "bc"[: self._one_of(0, 1, 2)]
        )
        actor = self._one_of(actors_of(first)[0], actors_of(first)[0], *actors_of(first)[1:])
        faults = [self._fault(actor, "halt", self._one_of(10.0, 30.0, 100.0, 700.0, 10_000.0))]
        if self._happens(0.3):
            faults.append(self._any_fault((first, *later)))
        return _Parts((first, *later), tuple(faults), self._cleaners(0.2))

    def _superseded(self) -> _Parts:
        """A driver stands still while it deletes; its job is finished, and a name comes back."""
        helpers = (HelperPlan(kind="resumer", at_s=self._one_of(3.0, 6.0)),)
        first = self._job("a", mode="overwrite", helpers=helpers, few=True)
        at_s, halted_s = self._one_of(
            (10.0, 60.0), (10.0, 200.0), (10.0, 700.0), (8_000.0, 9_000.0)
        )
        later = self._job("b", mode=self._one_of("append", "overwrite"), at_s=at_s, exact=True)
        call = self.random.randint(1, _CALLS_OF_A_VERB)
        verb = self._one_of("delete", "rename", "stat", "read", "create")
        fault = FaultAt("a.driver", call, self._halt(halted_s), halted_s, verb)
        return _Parts((first, later), (fault,))

    def _conflict(self) -> _Parts:
        """Jobs that commit at the same time; some die, or stand still."""
        count = self._one_of(2, 2, 3)
        jobs = tuple(self._job(name, at_s=self._moment(0.3)) for name in "abc"[:count])
        faults = tuple(
            self._fault(
                f"{self._one_of(*jobs).name}.driver",
                self._one_of("halt", "halt", "crash_before", "crash_after"),
                self._one_of(0.3, 3.0, 15.0, 40.0),
            )
            for _ in range(self._one_of(0, 1, 1, 2))
        )
        return _Parts(jobs, faults)

    def _between(self) -> _Parts:
        """A job stands still at one of its steps, and one that overlaps goes past it, or waits."""
        first = self._job("a", few=True)
        second = self._job("b", at_s=self._moment(5.0), few=True)
        if self._happens(0.3):
            declared, below = ("day=3",), (("day=3/hour=1/a.txt",),)
            first, second = (
                replace(first, mode="overwrite_partitions", partitions=declared),
                replace(second, mode="append", files=below, attempts=(AttemptPlan(task=0),)),
            )
            first = replace(first, files=(("day=1/a.txt",),), attempts=(AttemptPlan(task=0),))
        faults = [self._stands_still("a.driver", self._one_of(3.0, 8.0, 20.0, 40.0))]
        if self._happens(0.4):
            faults.append(self._stands_still("b.driver", self._one_of(20.0, 40.0, 100.0)))
        return _Parts((first, second), tuple(faults))

    def _stands_still(self, actor: str, halted_s: float) -> FaultAt:
        publish = "complete" if self.family.habits.renames is AtomicRename.NONE else "rename"
        steps = (("create", 7), ("create", 4), ("list_tree", 4), ("delete", 3), (publish, 3))
        verb, calls = self._one_of(*steps)
        call = self.random.randint(1, calls)
        return FaultAt(actor, call, self._halt(halted_s), halted_s, verb)

    def _late(self) -> _Parts:
        """Requests that are given up, and are carried out when others have gone on."""
        jobs = tuple(
            self._job(name, at_s=at_s)
            for name, at_s in zip("abc"[: self._one_of(1, 2, 3)], (0.0, 3.0, 60.0), strict=False)
        )
        faults = tuple(
            self._fault(self._one_of(*actors_of(jobs[0])), "applied_late", self._one_of(*_DELAYS_S))
            for _ in range(self._one_of(1, 1, 2))
        )
        return _Parts(jobs, faults, self._cleaners(0.2))

    def _begin(self) -> _Parts:
        """Somebody cleans while a job begins."""
        job = self._job("a", at_s=0.05)
        cleaner = CleanerPlan(at_s=self._moment(0.2), skew_s=self._one_of(0.0, 30.0))
        kinds: tuple[FaultKind, ...] = ("halt", "applied_late", "halt", "crash_after")
        faults = tuple(
            FaultAt(
                self._one_of("a.driver", "cleaner0"),
                self.random.randint(1, 8),
                self._one_of(*kinds),
                self._one_of(0.05, 0.2, 0.5, 3.0, 40.0, 700.0),
            )
            for _ in range(self._one_of(1, 2))
        )
        return _Parts((job,), faults, (cleaner,))

    def _marked(self) -> _Parts:
        """A job dies when its marker stands; others add to the data, and may write none."""
        first = self._job("a", mode="append", few=True)
        later = tuple(
            self._job(
                name,
                at_s=at_s,
                mode=self._one_of("append", "append", "overwrite", "overwrite_partitions"),
                few=True,
                success=self._one_of("marker", "none", "none"),
            )
            for name, at_s in zip("bc"[: self._one_of(1, 2)], (15.0, 40.0), strict=False)
        )
        kinds: tuple[FaultKind, ...] = ("crash_before", "crash_after", "halt")
        call, kind = self._one_of(5, 6, 7), self._one_of(*kinds)
        faults = [FaultAt("a.driver", call, kind, 100.0, "create")]
        if self._happens(0.5):
            faults.append(self._fault("b.driver", self._one_of(kind, "crash_after"), 100.0))
        return _Parts((first, *later), tuple(faults))

    def _in_the_way(self) -> _Parts:
        """Another file comes to stand where a job that stands still is about to publish one."""
        job = self._job("a", mode=self._one_of("append", "overwrite"), few=True, exact=True)
        fault = FaultAt("a.driver", self._one_of(3, 4), "halt_after", 20.0, "create")
        until_s = self._one_of(30.0, 60.0, 700.0)
        obstacle = ForeignPlan(name=job.files[0][0], at_s=self._one_of(5.0, 15.0), until_s=until_s)
        return _Parts((job,), (fault,), obstacles=(obstacle,))

    def _out(self) -> _Parts:
        """The store is out for one of the drivers, for longer than it tries."""
        helpers = (self._helper(2_000.0),) if self._happens(0.5) else ()
        jobs = tuple(self._job(name, helpers=helpers) for name in "ab"[: self._one_of(1, 1, 2)])
        driver = f"{self._one_of(*jobs).name}.driver"
        return _Parts(jobs, (self._fault(driver, "outage", self._one_of(100.0, 700.0)),))

    def _any(self) -> _Parts:
        jobs = tuple(
            self._job(
                name,
                at_s=self._moment(3.0),
                helpers=tuple(self._helper(3.0) for _ in range(self._one_of(0, 0, 1, 2))),
            )
            for name in "abc"[: self._one_of(1, 1, 2, 3)]
        )
        faults = tuple(self._any_fault(jobs) for _ in range(self._one_of(0, 1, 1, 2, 3)))
        return _Parts(jobs, faults, self._cleaners(0.3))

    def _job(
        self,
        name: str,
        *,
        at_s: float = 0.0,
        helpers: tuple[HelperPlan, ...] = (),
        few: bool = False,
        mode: Mode | None = None,
        exact: bool = False,
        success: Success | None = None,
    ) -> JobPlan:
        chosen = self._mode() if mode is None else mode
        may_be_exact = self.family.keeps_names_apart and (
            self.family.takes_any_name or chosen == "append"
        )
        exact = may_be_exact and (exact or self._happens(0.5))
        files = self._files(chosen, exact=exact, few=few)
        attempts = tuple(
            AttemptPlan(
                task=task,
                at_s=self._moment(1.0) if nth else 0.0,
                pause_s=self._moment(30.0) if self._happens(0.1) else 0.0,
            )
            for task in range(len(files))
            for nth in range(self._one_of(1, 1, 1, 2, 3))
        )
        return JobPlan(
            name=name,
            mode=chosen,
            names="exact" if exact else "unique",
            files=files,
            partitions=self._partitions() if chosen == _OFTEN[2] else (),
            attempts=attempts,
            helpers=helpers,
            at_s=at_s,
            skew_s=self._one_of(0.0, 0.0, 1.0, -1.0, self.family.clocks_within_s / 2),
            wait_s=self._one_of(0.0, 5.0, 60.0, 60.0),
            then=self._one_of("again", "again", "abort", "leave"),
            key="k" if self._happens(0.15) else None,
            collect=self._happens(0.15),
            success=self._one_of(*_SUCCESS) if success is None else success,
            threads=1 if self.seed % 5 else 2,
        )

    def _mode(self) -> Mode:
        return self._one_of(*(_OFTEN if self._happens(0.9) else _SELDOM))

    def _files(self, mode: Mode, *, exact: bool, few: bool) -> tuple[tuple[str, ...], ...]:
        """Names for one or two tasks, of fewer if *few*; an exact name is that of one task only."""
        names: tuple[str, ...] = _FILES[1:] if mode == _OFTEN[2] else _FILES
        names = names[:3] if few else names
        first = tuple(self.random.sample(names, self._one_of(1, 2)))
        if self._happens(0.6):
            return (first,)
        rest = [name for name in names if not exact or name not in first]
        return (first, tuple(self.random.sample(rest, 1)))

    def _partitions(self) -> tuple[str, ...]:
        return self._one_of((), ("day=1",), ("day=2",), ("day=3",))

    def _helper(self, until_s: float) -> HelperPlan:
        kinds: tuple[HelperKind, ...] = ("twin", "resumer", "resumer", "aborter")
        return HelperPlan(kind=self._one_of(*kinds), at_s=self._moment(until_s))

    def _cleaners(self, chance: float) -> tuple[CleanerPlan, ...]:
        if not self._happens(chance):
            return ()
        within_s = self.family.clocks_within_s
        cleaner = CleanerPlan(
            at_s=self._moment(self._one_of(1.0, 20.0)),
            older_than_s=self._one_of(0.0, 2.0, 10.0),
            skew_s=self._one_of(0.0, within_s / 2, -within_s / 2),
        )
        return (cleaner,)

    def _any_fault(self, jobs: Sequence[JobPlan]) -> FaultAt:
        job = self._one_of(*jobs)
        actor = self._one_of(f"{job.name}.driver", *actors_of(job))
        return self._fault(actor, self._one_of(*_ANY), self._one_of(*_DELAYS_S))

    def _fault(self, actor: str, kind: FaultKind, delay_s: float) -> FaultAt:
        if kind == "halt":
            kind = self._halt(delay_s)
        else:
            delay_s = min(delay_s, self.family.request_lives_s)
        if self._happens(0.4):
            call = self.random.randint(1, _CALLS_OF_A_VERB)
            return FaultAt(actor, call, kind, delay_s, self._one_of(*_CHANGING))
        longest = _CALLS_OF_A_DRIVER if actor.endswith(".driver") else _CALLS_OF_OTHERS
        return FaultAt(actor, self.random.randint(1, longest), kind, delay_s)

    def _halt(self, delay_s: float) -> FaultKind:
        """Where signatures expire, nobody stands still for so long between signing and sending."""
        if delay_s > self.family.request_lives_s:
            return "halt_after"
        return self._one_of("halt", "halt_after")

    def _moment(self, until_s: float) -> float:
        return round(until_s * self.random.random(), 3)

    def _happens(self, chance: float) -> bool:
        return self.random.random() < chance

    def _one_of(self, *things: T) -> T:
        return self.random.choice(things)
