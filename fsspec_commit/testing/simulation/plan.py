"""A plan says everything that a simulated run depends on."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from fsspec_commit.records.job import Mode, Names
from fsspec_commit.selection import Request
from fsspec_commit.testing.simulation.process import FaultAt

HERE = "out"
"""The name of the destination of most jobs."""
HelperKind: TypeAlias = Literal["twin", "resumer", "aborter"]
Policy: TypeAlias = Literal["again", "abort", "leave"]


@dataclass(frozen=True, kw_only=True)
class AttemptPlan:
    """One attempt at a task.

    Attributes:
        task: Its task.
        at_s: When it begins, counted from the start of the job.
        pause_s: How long it stands still between its files and its commit.
        adopted: Whether another program writes its files, which are then adopted.
        retries: Whether it writes a file again that could not be written.
    """

    task: int
    at_s: float = 0.0
    pause_s: float = 0.0
    adopted: bool = False
    retries: bool = False


@dataclass(frozen=True, kw_only=True)
class HelperPlan:
    """Somebody else who settles a job: a second driver, a resumer or an aborter.

    Attributes:
        kind: Which of them.
        at_s: When it begins, counted from the start of the job.
    """

    kind: HelperKind
    at_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class SpreadPlan:
    """How other processes run slices of a job, for its drivers and those who resume it.

    They are actors: ``a.driver.publish0``, ``a.driver.delete0``, and ``a.driver.publish0b`` for the
    one that runs a slice once more.

    Attributes:
        patience_s: How long answers are waited for; a slice without an answer goes on all the same.
        twice: Whether two processes run each slice.
        again_s: How much later the second one begins.
        apart_s: How much later each slice begins than the one before.
    """

    patience_s: float = 100_000.0
    twice: bool = False
    again_s: float = 0.0
    apart_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class JobPlan:
    """One job.

    Attributes:
        name: Its name in traces, and of its actors: ``a.driver``, ``a.attempt0``, ``a.twin1``.
        mode: Its mode.
        names: Whether its names are unique or exact.
        files: What each task writes.
        partitions: What it declares.
        attempts: Its attempts; the driver takes the first message of each task.
        helpers: Who else settles it.
        at_s: When its driver begins.
        skew_s: How much its driver's clock is ahead.
        wait_s: How long it waits for a conflicting job.
        patience_s: How long its driver waits for messages.
        then: What its driver does after an error that leaves a choice: call ``commit`` again, a
            few times, abort, or leave the job to others.
        key: Its idempotency key.
        collect: Whether the store collects its messages.
        success: Its marker.
        threads: In how many threads its driver commits at once.
        callback: What its callback does whenever it is called.
        at: The name of its destination.
        keeps: Whether its driver keeps its tasks' manifests, as if they ran in its own process.
        spread: Whether other processes run slices of it, and how.
        committer: The committer that it asks for.
    """

    name: str
    mode: Mode
    names: Names = "unique"
    files: tuple[tuple[str, ...], ...] = (("a.txt",),)
    partitions: tuple[str, ...] = ()
    attempts: tuple[AttemptPlan, ...] = (AttemptPlan(task=0),)
    helpers: tuple[HelperPlan, ...] = ()
    at_s: float = 0.0
    skew_s: float = 0.0
    wait_s: float = 60.0
    patience_s: float = 60.0
    then: Policy = "again"
    key: str | None = None
    collect: bool = False
    success: Literal["marker", "json", "none"] = "marker"
    threads: int = 1
    callback: Literal["raises", "exits"] | None = None
    at: str = HERE
    keeps: bool = False
    spread: SpreadPlan | None = None
    committer: Request = "auto"


@dataclass(frozen=True, kw_only=True)
class CleanerPlan:
    """Somebody who calls ``clean``.

    Attributes:
        at_s: When.
        older_than_s: The age of the jobs that it aborts.
        skew_s: How much its clock is ahead.
    """

    at_s: float
    older_than_s: float = 0.0
    skew_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class EarlierPlan:
    """A job of an earlier version of this library, which died before the run.

    Attributes:
        version: Its version, one of ``earlier.VERSIONS``.
        mode: Its mode.
        calls: After how many of its calls it died.
        aborts: Whether it was being aborted then.
        resumed_s: When somebody resumes it, if anybody does.
        names: Whether its names are unique or exact.
        marks: Whether it leaves a marker.
    """

    version: str
    mode: Literal["append", "overwrite"]
    calls: int
    aborts: bool = False
    resumed_s: float | None = None
    names: Names = "unique"
    marks: bool = False


@dataclass(frozen=True, kw_only=True)
class ForeignPlan:
    """Somebody who writes or deletes a file without this library.

    Attributes:
        name: Its name, one that no job writes.
        at_s: When.
        deletes: Whether the file is deleted.
        until_s: If given, it is an obstacle: a file that is written only where none stands, maybe
            under a name that a job is about to write, and that is taken away then.
    """

    name: str
    at_s: float
    deletes: bool = False
    until_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class ReaderPlan:
    """Somebody who asks which files are committed.

    Attributes:
        at_s: When it begins.
        count: How often it asks.
        every_s: How long it pauses after each answer.
        verifies: Whether it asks, as ``verify`` does, if they are as jobs have written them down.
    """

    at_s: float
    count: int = 1
    every_s: float = 0.0
    verifies: bool = False


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that a run depends on.

    Attributes:
        family: The kind of store, a name of ``FAMILIES``.
        schedule: What seeds how long requests and replies take, and all ids.
        old: The files that stand there before.
        same: Whether files of one name have the same bytes, whoever writes them.
        jobs: The jobs.
        cleaners: Who cleans meanwhile.
        foreign: Who else writes.
        leftovers: What others have left in the work area, names of ``leftovers.LEFTOVERS``.
        earlier: The jobs of earlier versions that are left there.
        readers: Who reads, or verifies; :func:`draw` draws some when it is told to.
        faults: What goes wrong.
    """

    family: str
    schedule: int = 0
    old: tuple[str, ...] = ()
    same: bool = False
    jobs: tuple[JobPlan, ...] = ()
    cleaners: tuple[CleanerPlan, ...] = ()
    foreign: tuple[ForeignPlan, ...] = ()
    leftovers: tuple[str, ...] = ()
    earlier: tuple[EarlierPlan, ...] = ()
    readers: tuple[ReaderPlan, ...] = ()
    faults: tuple[FaultAt, ...] = ()


def actors_of(job: JobPlan) -> list[str]:
    """The names of a job's actors, its driver's first."""
    attempts = [f"{job.name}.attempt{number}" for number in range(len(job.attempts))]
    helpers = [f"{job.name}.{one.kind}{number}" for number, one in enumerate(job.helpers)]
    return [f"{job.name}.driver", *attempts, *helpers]
