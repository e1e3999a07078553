"""What makes a drawn plan harder; how a plan is varied is drawn separately."""

import unicodedata
from collections.abc import Callable
from dataclasses import replace
from random import Random

from fsspec_commit.store import AtomicRename
from fsspec_commit.testing.simulation.families import Family
from fsspec_commit.testing.simulation.leftovers import LEFTOVERS
from fsspec_commit.testing.simulation.plan import (
    ForeignPlan,
    HelperKind,
    HelperPlan,
    JobPlan,
    Plan,
    ReaderPlan,
    actors_of,
)
from fsspec_commit.testing.simulation.process import FaultAt, FaultKind

_HIDDEN = ("_notes", ".hidden.txt", "day=1/_notes", "day=1/_metadata", "_more/a.txt", "_metadata")
_ODD = ("day=1/empty.txt", "day=2/\u00fc %20+b.txt", "day=1/e\u0301\u4e2d", "day=2/empty")
_NEIGHBOURS = ("out2", "ou", "out-b")
_INSIDE = "out/inner"
_CALLS_MAX = 40


def variation(plan: Plan, family: Family, random: Random) -> Plan:
    """*plan* with one or two of the things that it lacked."""
    for vary in random.sample(_VARIATIONS, random.choice((1, 1, 2))):
        plan = vary(plan, family, random)
    return plan


def _with_hidden_names(plan: Plan, _: Family, random: Random) -> Plan:
    """Hidden names are kept as they are, so jobs meet in them."""
    few = random.sample(_HIDDEN, 2)
    jobs = []
    for job in plan.jobs:
        fit = [name for name in few if job.mode != "overwrite_partitions" or "=" in name]
        task = random.randrange(len(job.files))
        files = [*job.files]
        files[task] = (*files[task], *fit[: random.choice((0, 1, 1, 2))])
        jobs.append(replace(job, files=tuple(files)))
    old = (*plan.old, *(name for name in few if random.random() < 0.3))  # noqa: PLR2004  # some
    return replace(plan, jobs=tuple(jobs), old=old)


def _with_odd_files(plan: Plan, _: Family, random: Random) -> Plan:
    """Files without a byte, and with names that manifests must escape."""
    odd = random.sample(_ODD, len(plan.jobs))
    jobs = []
    for job, name in zip(plan.jobs, odd, strict=True):
        task = random.randrange(len(job.files))
        files = [*job.files]
        files[task] = (*files[task], name)
        jobs.append(replace(job, files=tuple(files)))
    return replace(plan, jobs=tuple(jobs))


def _with_another_spelling(plan: Plan, _: Family, random: Random) -> Plan:
    """Readers decode ``%31``: these are files of one partition."""
    which = random.randrange(len(plan.jobs))
    jobs = [*plan.jobs]
    files = tuple(
        tuple(name.replace("day=1/", "day=%31/") for name in names) for names in jobs[which].files
    )
    jobs[which] = replace(jobs[which], files=files)
    return replace(plan, jobs=tuple(jobs))


def _with_folded_names(plan: Plan, family: Family, random: Random) -> Plan:
    """Files, partitions and the destination in another case or form: one name, on some disks."""
    plan = replace(
        plan,
        old=tuple(map(_with_an_accent, plan.old)),
        jobs=tuple(_renamed(job, _with_an_accent) for job in plan.jobs),
    )
    jobs = []
    for job in plan.jobs:
        if random.random() < 0.6:  # noqa: PLR2004  # most
            jobs.append(_renamed(job, random.choice(_SPELLINGS), one_task=random.random() < 0.2))  # noqa: PLR2004  # few
        else:
            jobs.append(job)
    if family.folds_names and random.random() < 0.3:  # noqa: PLR2004  # some
        which = random.randrange(len(jobs))
        jobs[which] = replace(jobs[which], at=jobs[which].at.title())
    return replace(plan, jobs=tuple(jobs))


def _with_an_accent(name: str) -> str:
    return name.replace("b.txt", "\u00e9.txt").replace("hour=2", "hour=\u00e9")


def _renamed(job: JobPlan, spell: Callable[[str], str], *, one_task: bool = False) -> JobPlan:
    """*job* with its names changed; of its files only the last task's, if *one_task*."""
    files = [*job.files]
    for task in (len(files) - 1,) if one_task else range(len(files)):
        files[task] = tuple(map(spell, files[task]))
    return replace(job, files=tuple(files), partitions=tuple(map(spell, job.partitions)))


_SPELLINGS: tuple[Callable[[str], str], ...] = (
    lambda name: name.replace("day", "Day"),
    lambda name: name.replace("day=1", "DAY=1").replace("a.txt", "A.txt"),
    lambda name: unicodedata.normalize("NFD", name),
    lambda name: f"{name[:-1]}{name[-1].upper()}",
)


def _with_adopted_attempts(plan: Plan, family: Family, random: Random) -> Plan:
    """Another program writes the files of some attempts."""
    if not family.keeps_names_apart:
        return plan

    def adopting(job: JobPlan) -> JobPlan:
        if job.names == "exact":
            return job
        attempts = (replace(one, adopted=random.random() < 0.7) for one in job.attempts)  # noqa: PLR2004  # most
        return replace(job, attempts=tuple(attempts))

    return replace(plan, jobs=tuple(map(adopting, plan.jobs)))


def _with_retrying_tasks(plan: Plan, _: Family, random: Random) -> Plan:
    """A task gives up a request and writes the file again; after that the request arrives."""
    jobs = tuple(
        replace(job, attempts=tuple(replace(one, retries=True) for one in job.attempts))
        for job in plan.jobs
    )
    actors = [name for job in jobs for name in actors_of(job) if ".attempt" in name]
    kinds: tuple[FaultKind, ...] = ("applied_late", "applied_late", "outage", "error_but_applied")
    late = FaultAt(
        random.choice(actors),
        random.choice((1, 1, 2)),
        random.choice(kinds),
        random.choice((40.0, 200.0, 700.0)),
        random.choice(("finish", "start", "put_part")),
    )
    silent = (replace(late, call=late.call + number, kind="error") for number in range(1, 8))
    return replace(plan, jobs=jobs, faults=(*plan.faults, late, *silent))


def _with_readers(plan: Plan, _: Family, random: Random) -> Plan:
    """Somebody asks what is committed, and stands still between any two requests."""
    readers, faults = [], []
    for number in range(random.choice((1, 2, 2))):
        reader, halts = _reader(f"reader{number}", random)
        readers.append(reader)
        faults += halts
    return replace(plan, readers=tuple(readers), faults=(*plan.faults, *faults))


def with_a_verifier(plan: Plan, random: Random) -> Plan:
    """*plan* with somebody who asks ``verify``, and stands still between any two requests."""
    reader, halts = _reader(f"reader{len(plan.readers)}", random)
    # One that asks once would mostly do so before anything has happened.
    reader = replace(reader, verifies=True, count=reader.count * 3)
    return replace(plan, readers=(*plan.readers, reader), faults=(*plan.faults, *halts))


def _reader(actor: str, random: Random) -> tuple[ReaderPlan, list[FaultAt]]:
    begin_s = round(random.choice((0.3, 1.0, 5.0, 30.0, 120.0)) * random.random(), 3)
    every_s = random.choice((0.0, 0.0, 0.3, 5.0))
    reader = ReaderPlan(at_s=begin_s, count=random.choice((1, 3, 10)), every_s=every_s)
    halts = []
    for _ in range(random.choice((0, 1, 1, 2))):
        verb = random.choice((None, "list_tree", "list_children", "read"))
        halts.append(
            FaultAt(
                actor,
                random.randint(1, _CALLS_MAX if verb is None else _CALLS_MAX // 2),
                random.choice(("halt", "halt_after")),
                random.choice((0.1, 0.5, 3.0, 20.0, 100.0, 3_600.0)),
                verb,
            )
        )
    return reader, halts


def _with_callbacks(plan: Plan, _: Family, random: Random) -> Plan:
    """Progress bars that raise whatever they are told."""
    jobs = (replace(job, callback=random.choice(("raises", "exits"))) for job in plan.jobs)
    return replace(plan, jobs=tuple(jobs))


def _with_interrupts(plan: Plan, _: Family, random: Random) -> Plan:
    """Somebody presses Ctrl-C."""
    actors = [name for job in plan.jobs for name in (f"{job.name}.driver", *actors_of(job))]
    kinds: tuple[FaultKind, ...] = ("interrupt", "interrupt", "interrupt_twice")
    pressed = tuple(
        FaultAt(random.choice(actors), random.randint(1, _CALLS_MAX), random.choice(kinds))
        for _ in range(random.choice((1, 2, 3)))
    )
    return replace(plan, faults=(*plan.faults, *pressed))


def _with_crashes_in_recovery(plan: Plan, family: Family, random: Random) -> Plan:
    """A driver dies when it has decided, and so do those who settle its job, one by one."""
    job = plan.jobs[0]
    kinds: tuple[HelperKind, ...] = ("resumer", "resumer", "resumer", "aborter", "twin")
    helpers = tuple(
        HelperPlan(kind=random.choice(kinds), at_s=(number + 1) * random.choice((2.0, 10.0, 20.0)))
        for number in range(random.choice((2, 3)))
    )
    names = [f"{job.name}.{helper.kind}{number}" for number, helper in enumerate(helpers)]
    publish = "complete" if family.habits.renames is AtomicRename.NONE else "rename"
    deaths: tuple[FaultKind, ...] = ("crash_before", "crash_after", "crash_after", "halt_after")

    def death(actor: str) -> FaultAt:
        verb, calls = random.choice(((publish, 3), ("create", 6), ("delete", 6)))
        return FaultAt(actor, random.randint(1, calls), random.choice(deaths), verb=verb)

    dying = replace(job, helpers=helpers, then="leave")
    faults = tuple(map(death, (f"{job.name}.driver", *names)))
    return replace(plan, jobs=(dying, *plan.jobs[1:]), faults=faults)


def _with_leftovers(plan: Plan, _: Family, random: Random) -> Plan:
    """Others have left something in the work area."""
    left = tuple(random.sample(sorted(LEFTOVERS), random.choice((1, 2))))
    return replace(plan, leftovers=left)


def _with_meddlers(plan: Plan, family: Family, random: Random) -> Plan:
    """Somebody writes, or deletes, old files that jobs may be about to replace.

    Nobody writes a file that no store could tell from the one before it.
    """
    only_deletes = not family.takes_any_name or (plan.same and not family.habits.versioned)
    taken = {name for job in plan.jobs for names in job.files for name in names}
    names = [name for name in plan.old if name not in taken]
    meddling = tuple(
        ForeignPlan(
            name=name,
            at_s=round(random.choice((1.0, 3.0, 20.0)) * random.random(), 3),
            deletes=only_deletes or random.random() < 0.4,  # noqa: PLR2004  # some
        )
        for name in random.sample(names, min(len(names), 2))
    )
    return replace(plan, foreign=(*plan.foreign, *meddling))


def _with_neighbours(plan: Plan, _: Family, random: Random) -> Plan:
    """A copy of a job runs at a destination with almost the same name, or inside the first one.

    What happens to the job happens to the copy too.
    """
    places = (*_NEIGHBOURS, _INSIDE, _INSIDE, _INSIDE)
    job = random.choice(plan.jobs)
    neighbour = replace(job, name="n", at=random.choice(places))
    faults = tuple(
        replace(fault, actor=f"n.{fault.actor.partition('.')[2]}")
        for fault in plan.faults
        if fault.actor.startswith(f"{job.name}.")
    )
    return replace(plan, jobs=(*plan.jobs, neighbour), faults=(*plan.faults, *faults))


_VARIATIONS: tuple[Callable[[Plan, Family, Random], Plan], ...] = (
    _with_hidden_names,
    _with_odd_files,
    _with_another_spelling,
    _with_folded_names,
    _with_folded_names,
    _with_adopted_attempts,
    _with_retrying_tasks,
    _with_readers,
    _with_readers,
    _with_callbacks,
    _with_interrupts,
    _with_interrupts,
    _with_crashes_in_recovery,
    _with_leftovers,
    _with_meddlers,
    _with_neighbours,
)
