"""Who acts in a simulated run; each actor is a process of its own, and runs the product's code."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fsspec_commit.committers import AttemptOutput
from fsspec_commit.errors import CommitError
from fsspec_commit.names import Target, target
from fsspec_commit.new_job import new_job_at
from fsspec_commit.options import JobOptions
from fsspec_commit.protocol.attempt import commit_attempt, may_discard
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.driver import Driver
from fsspec_commit.protocol.elsewhere import Elsewhere
from fsspec_commit.records.job import JobRecord, TaskCommit
from fsspec_commit.testing.simulation.earlier import earlier_id
from fsspec_commit.testing.simulation.plan import (
    AttemptPlan,
    CleanerPlan,
    EarlierPlan,
    HelperPlan,
    JobPlan,
)
from fsspec_commit.testing.simulation.process import Process
from fsspec_commit.testing.simulation.rules import final_name
from fsspec_commit.testing.simulation.settling import (
    CtrlCError,
    aborted,
    call,
    cleaned,
    interruptible,
    resumed,
    settle,
)
from fsspec_commit.testing.simulation.spreading import elsewhere
from fsspec_commit.testing.simulation.strangers import adopted
from fsspec_commit.testing.simulation.world import World

if TYPE_CHECKING:
    from fsspec_commit.protocol.kept_manifests import KeptManifests


class SharedJob:
    """What the actors of one job tell each other outside of the store."""

    def __init__(self, plan: JobPlan) -> None:
        self.plan = plan
        self.record: asyncio.Future[JobRecord | None] = asyncio.get_running_loop().create_future()
        self.messages: dict[int, list[TaskCommit]] = {}
        self.running = len(plan.attempts)
        self.news = asyncio.Event()
        self.kept: KeptManifests | None = None

    def begin(self, record: JobRecord | None) -> None:
        """The job has started, or never will."""
        if not self.record.done():
            self.record.set_result(record)

    async def gather(self, choice: int) -> list[TaskCommit]:
        """A message of each task, the first or the last of them, as far as there are any.

        Waits until each task has one, or no attempt is left, or patience is over.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(self.plan.patience_s):
                while self.running and len(self.messages) < len(self.plan.files):
                    self.news.clear()
                    await self.news.wait()
        return [messages[choice] for _, messages in sorted(self.messages.items())]


async def drive(world: World, shared: SharedJob) -> None:
    """Start a job, gather messages, commit."""
    plan = shared.plan
    actor = f"{plan.name}.driver"
    process = world.process(actor, plan.at)
    try:
        await asyncio.sleep(plan.at_s)
        driver = Driver()
        try:
            await interruptible(process, _start(world, process, driver, plan))
        except CommitError as error:
            world.trace.say(actor, "could not start", repr(error))
            return
        except CtrlCError:
            world.trace.say(actor, "is interrupted in start")
            if driver.job is not None:
                job_id = driver.job.record.job_id
                await call(world, process, job_id, "abort", driver.abort())
            return
        job = driver.started()
        world.trace.say(actor, f"has started job {job.record.job_id}")
        shared.kept = job.own_manifests if plan.keeps else None
        shared.begin(job.record)
        messages = await shared.gather(0)
        if plan.threads == 1:
            await settle(world, process, driver, plan, messages)
        else:
            threads = (settle(world, process, driver, plan, messages) for _ in range(plan.threads))
            await asyncio.gather(*threads)
    finally:
        shared.begin(None)


async def _start(world: World, process: Process, driver: Driver, plan: JobPlan) -> None:
    to = world.open(process, skew_s=plan.skew_s)
    new = await new_job_at(to, _options(plan), ids=to.ids)

    def with_new_id() -> BoundJob:
        job = new.with_new_id()
        world.begun(job.record.job_id, plan)
        return job

    await driver.start(new.store, with_new_id)


async def drive_as_twin(world: World, actor: str, shared: SharedJob, plan: HelperPlan) -> None:
    """Commit a job from another process, with the last message of each task."""
    record = await _begun(shared, plan.at_s)
    if record is None:
        return
    process = world.process(actor, shared.plan.at)
    driver = Driver(world.open(process).bind(record))
    messages = await shared.gather(-1)
    await settle(world, process, driver, shared.plan, messages)


async def attempt(world: World, shared: SharedJob, number: int) -> None:
    """Write the files of one attempt, commit it, and send the message."""
    plan, which = shared.plan, shared.plan.attempts[number]
    actor = f"{plan.name}.attempt{number}"
    try:
        record = await _begun(shared, which.at_s)
        if record is None:
            return
        process = world.process(actor, plan.at)
        job = world.open(process).bind(record)
        message = await interruptible(process, _written(world, process, job, which, shared))
        world.trace.say(actor, "has committed", message.attempt_id)
        world.model_at(plan.at).told_chosen(
            record.job_id, which.task, message.attempt_id, chosen=message.chosen
        )
        shared.messages.setdefault(which.task, []).append(message)
    except CommitError as error:
        world.trace.say(actor, "has failed", repr(error))
    except CtrlCError:
        world.trace.say(actor, "is interrupted")
    finally:
        shared.running -= 1
        shared.news.set()


async def _written(
    world: World, process: Process, job: BoundJob, which: AttemptPlan, shared: SharedJob
) -> TaskCommit:
    """Write the files of an attempt and commit it; if that fails, drop it as a task does."""
    plan = shared.plan
    attempt_id = job.store.ids.attempt_id()
    layout = job.layout.attempt(which.task, attempt_id)
    files: dict[Target, bytes] = {
        job.final_name(target(name), layout): world.content(name, plan.name, attempt_id)
        for name in plan.files[which.task]
    }
    ids = (job.record.job_id, str(which.task), attempt_id)
    known_by = ids[:2] if world.family.keeps_names_apart else ids
    written = {
        final_name(name, plan, *known_by): data
        for name, data in zip(plan.files[which.task], files.values(), strict=True)
    }
    world.model_at(plan.at).attempted(job.record.job_id, which.task, attempt_id, written)
    if which.adopted:
        return await adopted(world, process, job, layout, files, pause_s=which.pause_s)
    output = job.committer.attempt(layout)
    chosen = asyncio.Event()  # Set when it may be.
    try:
        await _write(output, files, tries=2 if which.retries else 1)
        await asyncio.sleep(which.pause_s)
        return await commit_attempt(
            *(layout, output, job.store),
            rows=None,
            collect=job.record.collect,
            kept=shared.kept,
            choosing=chosen.set,
        )
    except (CommitError, asyncio.CancelledError):
        if not chosen.is_set() or await may_discard(layout, job.store):
            await output.discard()
        raise


async def _write(output: AttemptOutput, files: dict[Target, bytes], *, tries: int) -> None:
    for name, data in files.items():
        for tried in range(1, tries + 1):
            writer = output.writer(name)
            try:
                await writer.write(data)
                await writer.finish()
                break
            except CommitError:
                await writer.discard()
                if tried == tries:
                    raise


async def resume(world: World, actor: str, shared: SharedJob, plan: HelperPlan) -> None:
    """Resume a job by its id."""
    record = await _begun(shared, plan.at_s)
    if record is not None:
        process = world.process(actor, shared.plan.at)
        to = world.open(process)

        def spread(found: JobRecord) -> Elsewhere | None:
            return elsewhere(world, process, found, shared.plan)

        await call(world, process, record.job_id, "resume", resumed(to, record.job_id, spread))


async def resume_earlier(world: World, number: int, plan: EarlierPlan) -> None:
    """Resume a job that an earlier version has left."""
    if plan.resumed_s is not None:
        await asyncio.sleep(plan.resumed_s)
        process = world.process(f"earlier{number}.resumer")
        job_id = earlier_id(number)
        await call(world, process, job_id, "resume", resumed(world.open(process), job_id))


async def abort(world: World, actor: str, shared: SharedJob, plan: HelperPlan) -> None:
    """Abort a job by its id."""
    record = await _begun(shared, plan.at_s)
    if record is not None:
        process = world.process(actor, shared.plan.at)
        to = world.open(process)
        await call(world, process, record.job_id, "abort", aborted(to, record.job_id))


async def clean_up(world: World, actor: str, plan: CleanerPlan) -> None:
    """Clean, by a clock that may be wrong."""
    await asyncio.sleep(plan.at_s)
    process = world.process(actor)
    to = world.open(process, skew_s=plan.skew_s)
    try:
        report = await interruptible(process, cleaned(to, plan.older_than_s))
        world.reported(actor, report, now=to.ids.now(), older_than_s=plan.older_than_s)
    except CommitError as error:
        world.trace.say(actor, "could not clean", repr(error))
    except CtrlCError:
        world.trace.say(actor, "is interrupted")


async def _begun(shared: SharedJob, at_s: float) -> JobRecord | None:
    record = await asyncio.shield(shared.record)
    if record is not None:
        await asyncio.sleep(at_s)
    return record


def _options(plan: JobPlan) -> JobOptions:
    return JobOptions(
        mode=plan.mode,
        names=plan.names,
        partitions=plan.partitions,
        tasks=len(plan.files),
        collect="store" if plan.collect else "messages",
        idempotency_key=plan.key,
        success=plan.success,
        committer=plan.committer,
    )


HELPERS: dict[str, Callable[[World, str, SharedJob, HelperPlan], Coroutine[Any, Any, None]]] = {
    "twin": drive_as_twin,
    "resumer": resume,
    "aborter": abort,
}
