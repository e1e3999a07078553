"""The runs of one job that are drawn to be held against `docs/spec/Job.tla`.

The job has two tasks, which write a file each, and one old file stands there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Literal, TypeAlias

from fsspec_commit.store import AtomicRename
from fsspec_commit.testing.simulation import (
    FAMILIES,
    AttemptPlan,
    CleanerPlan,
    FaultAt,
    HelperPlan,
    JobPlan,
    Plan,
)

if TYPE_CHECKING:
    from fsspec_commit.testing.simulation.plan import HelperKind
    from fsspec_commit.testing.simulation.process import FaultKind

UUID = "6a0d9b8e-5c0f-4a55-9f0e-0123456789ab"
OLD = f"old-{UUID}.txt"
TASKS = 2
FAULTS: tuple[FaultKind, ...] = (
    "crash_before",
    "crash_after",
    "error",
    "error_but_applied",
    "applied_late",
    "hang",
    "halt",
)
HELPERS: tuple[HelperKind, ...] = ("twin", "resumer", "aborter")
Committer = Literal["v1", "manifest", "magic"]
_Mode: TypeAlias = Literal["overwrite", "append"]
_Names: TypeAlias = Literal["unique", "exact"]


def truth(value: bool) -> str:
    """A truth value, as TLA+ writes it."""
    return "TRUE" if value else "FALSE"


@dataclass(frozen=True)
class Kind:
    """What the specification tells kinds of stores apart by.

    Attributes:
        committer: The committer that it gets.
        directories: Whether an area goes by one rename.
        conditional: Whether who deletes old files may have looked for ``job.json`` before.
    """

    committer: Committer
    directories: bool
    conditional: bool

    def __str__(self) -> str:
        directories = ", directories" * self.directories
        return f"{self.committer}{directories}{', conditional' * self.conditional}"

    def constants(self) -> dict[str, str]:
        """The same, as constants of the specification."""
        return {
            "Committer": f'"{self.committer}"',
            "Directories": truth(self.directories),
            "Conditional": truth(self.conditional),
        }


@dataclass(frozen=True)
class Asked:
    """What the program asks of the job.

    Attributes:
        mode: Whether the old file goes.
        names: Whether new files have exactly the names that were given: of one of them, where the
            old one goes, that is the name of the old file.
        collects: Whether the store collects the messages of tasks.
    """

    mode: _Mode = "overwrite"
    names: _Names = "unique"
    collects: bool = False

    def __str__(self) -> str:
        return f"{self.mode}, {self.names}{', collected' * self.collects}"

    @property
    def in_place(self) -> bool:
        """Whether a new file takes the place of the old one."""
        return self.mode == "overwrite" and self.names == "exact"

    def constants(self) -> dict[str, str]:
        """The same, as constants of the specification."""
        return {
            "Appends": truth(self.mode == "append"),
            "InPlace": truth(self.in_place),
            "Collect": '"store"' if self.collects else '"messages"',
        }


PLAIN = Asked()
_MODES: tuple[_Mode, ...] = ("overwrite", "append")
_NAMES: tuple[_Names, ...] = ("unique", "exact")
ASKED = tuple(Asked(*one) for one in product(_MODES, _NAMES, (False, True)))


def kind_of(family: str) -> Kind:
    """What `selection` makes of a kind of store."""
    found, facts = FAMILIES[family], FAMILIES[family].capabilities
    # Where listings are paged, so may be the rename of a directory.
    if found.has_directories and not facts.paged_listing:
        return Kind("v1", directories=True, conditional=facts.delete_if_match is True)
    committer: Committer = "magic" if found.habits.renames is AtomicRename.NONE else "manifest"
    return Kind(committer, directories=False, conditional=True)


def draw(seed: int, family: str, asked: Asked = PLAIN) -> Plan:
    """A run of one job, with others who settle it and some faults."""
    more = "" if asked == PLAIN else f" {asked}"
    random = Random(f"spec {seed} {family}{more}")
    attempts = [AttemptPlan(task=task) for task in range(TASKS)]
    attempts += [
        AttemptPlan(task=random.randrange(TASKS), at_s=random.choice((0.0, 0.1, 3.0)))
        for _ in range(random.randrange(2))
    ]
    helpers = [
        HelperPlan(kind=kind, at_s=random.choice((0.0, 0.5, 1.0, 2.0, 5.0, 40.0)))
        for kind in HELPERS
        if random.random() < 0.4
    ]
    cleaners = [CleanerPlan(at_s=random.choice((0.5, 2.0, 50.0)))] if random.random() < 0.3 else []
    job = JobPlan(
        name="a",
        mode=asked.mode,
        names=asked.names,
        collect=asked.collects,
        files=tuple((f"{task}.txt",) for task in range(TASKS)),
        attempts=tuple(attempts),
        helpers=tuple(helpers),
        then="leave",
        keeps=seed % 2 == 1,
    )
    actors = ["a.driver", *(f"a.{one.kind}{number}" for number, one in enumerate(helpers))]
    faults = [
        FaultAt(random.choice(actors), random.randrange(1, 40), random.choice(FAULTS))
        for _ in range(random.randrange(3))
    ]
    return Plan(
        family=family,
        schedule=seed,
        old=("0.txt" if asked.in_place else OLD,),
        jobs=(job,),
        cleaners=tuple(cleaners),
        faults=tuple(faults),
    )
