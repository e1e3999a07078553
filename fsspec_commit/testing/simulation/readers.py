"""Readers that ask which files are committed, or compare them, while jobs come, go, and die."""

import asyncio

from fsspec_commit.errors import CommitError
from fsspec_commit.protocol.snapshot import Reader, committed_files
from fsspec_commit.protocol.verify import compare
from fsspec_commit.testing.simulation.plan import ReaderPlan
from fsspec_commit.testing.simulation.process import Process
from fsspec_commit.testing.simulation.settling import cleaned
from fsspec_commit.testing.simulation.world import World


async def read(world: World, actor: str, plan: ReaderPlan) -> None:
    """Ask which files are committed, or verify them, several times; an error is no violation."""
    await asyncio.sleep(plan.at_s)
    process = world.process(actor)
    for _ in range(plan.count):
        try:
            await (_verify if plan.verifies else _ask)(world, process)
        except CommitError as error:
            world.trace.say(actor, "is not told what is committed", repr(error))
        await asyncio.sleep(plan.every_s)


async def _ask(world: World, process: Process) -> None:
    began_s = asyncio.get_running_loop().time()
    to = world.open(process)
    to.list_without_versions()
    found = await committed_files(Reader(to.store, to.location.url, to.bind))
    world.trace.say(process.name, f"is told that {len(found.names)} files are committed")
    world.answered(process, began_s, found.names)


async def _verify(world: World, process: Process) -> None:
    """What ``verify`` does: compare the files, and look for what a ``clean`` would show."""
    to = world.open(process)
    with world.watched() as watch:
        found = await compare(Reader(to.store, to.location.url, to.bind))
        told = f"{found.checked_count} of {found.file_count} files are as jobs wrote them"
        world.trace.say(process.name, f"is told that {told}")
        world.model.judge(watch.untruths(process.name, found))
    with world.watched() as watch:
        report = await cleaned(to, 0.0, dry_run=True)
        world.trace.say(process.name, f"is told of {len(report.shown)} things to settle")
        world.model.judge(watch.untruths_of_remains(process.name, report.shown))
