"""Who acts in a simulated run; each actor is a process of its own, and runs the product's code."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from fsspec_commit.destination import OpenDestination
from fsspec_commit.errors import CommitError
from fsspec_commit.layout import DestinationLayout
from fsspec_commit.names import target
from fsspec_commit.new_job import new_job_at
from fsspec_commit.options import JobOptions
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.attempt import commit_attempt, may_discard
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.clean import clean
from fsspec_commit.protocol.damaged import remove_damaged
from fsspec_commit.protocol.driver import Driver
from fsspec_commit.protocol.job_records import begun_record
from fsspec_commit.protocol.recovery import jobs, resume_job
from fsspec_commit.protocol.result import result_of
from fsspec_commit.protocol.superseded import ended
from fsspec_commit.records.job import JobRecord, TaskCommit
from fsspec_commit.selection import leftover_uploads, retiring
from fsspec_commit.testing.simulation.model import Told
from fsspec_commit.testing.simulation.plan import CleanerPlan, ForeignPlan, HelperPlan, JobPlan
from fsspec_commit.testing.simulation.world import World

_COMMITS_MAX = 4
_AGAIN_S = 2.0
_ROUNDS_MAX = 3
_LATE = "a committed decision stands but job.json is gone"


class SharedJob:
    """What the actors of one job tell each other beside the store."""

    def __init__(self, plan: JobPlan) -> None:
        self.plan = plan
        self.record: asyncio.Future[JobRecord | None] = asyncio.get_running_loop().create_future()
        self.messages: dict[int, list[TaskCommit]] = {}
        self.running = len(plan.attempts)
        self.news = asyncio.Event()

    def begin(self, record: JobRecord | None) -> None:
        """The job has started, or never will."""
        if not self.record.done():
            self.record.set_result(record)

    async def gather(self, choice: int) -> list[TaskCommit]:
        """A message of each task, the first or the last of them, as far as there are any.

        Waits until each task has one, or no attempt is left, or patience is over.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.plan.patience_s
        while self.running and len(self.messages) < len(self.plan.files):
            left_s = deadline - loop.time()
            if left_s <= 0:
                break
            self.news.clear()
            try:
                await asyncio.wait_for(self.news.wait(), left_s)
            except TimeoutError:
                break
        return [messages[choice] for _, messages in sorted(self.messages.items())]


async def drive(world: World, shared: SharedJob) -> None:
    """Start a job, gather messages, commit."""
    plan = shared.plan
    actor = f"{plan.name}.driver"
    process = world.process(actor)
    try:
        await asyncio.sleep(plan.at_s)
        to = world.open(process, skew_s=plan.skew_s)
        driver = Driver()
        try:
            new = await new_job_at(to, _options(plan), ids=to.ids)

            def with_new_id() -> BoundJob:
                job = new.with_new_id()
                world.begun(job.record.job_id, plan)
                return job

            await driver.start(new.store, with_new_id)
        except CommitError as error:
            world.trace.say(actor, "could not start", repr(error))
            return
        job = driver.started()
        world.trace.say(actor, f"has started job {job.record.job_id}")
        shared.begin(job.record)
        messages = await shared.gather(0)
        threads = [
            asyncio.ensure_future(_settle(world, actor, driver, plan, messages))
            for _ in range(plan.threads)
        ]
        await asyncio.gather(*threads)
    finally:
        shared.begin(None)


async def drive_as_twin(world: World, actor: str, shared: SharedJob, plan: HelperPlan) -> None:
    """Commit a job from another process, with the last message of each task."""
    record = await _begun(shared, plan.at_s)
    if record is None:
        return
    driver = Driver(world.open(world.process(actor)).bind(record))
    messages = await shared.gather(-1)
    await _settle(world, actor, driver, shared.plan, messages)


async def attempt(world: World, shared: SharedJob, number: int) -> None:
    """Write the files of one attempt, commit it, and send the message."""
    plan, which = shared.plan, shared.plan.attempts[number]
    try:
        record = await _begun(shared, which.at_s)
        if record is None:
            return
        to = world.open(world.process(f"{plan.name}.attempt{number}"))
        job = to.bind(record)
        attempt_id = to.ids.attempt_id()
        layout = job.layout.attempt(which.task, attempt_id)
        names = {name: job.final_name(target(name), layout) for name in plan.files[which.task]}
        files: dict[str, bytes] = {
            final: world.content(name, plan.name, attempt_id) for name, final in names.items()
        }
        world.model.attempted(record.job_id, which.task, attempt_id, files)
        output = job.committer.attempt(layout)
        begun = False
        try:
            for final in names.values():
                writer = output.writer(final)
                await writer.write(files[final])
                await writer.finish()
            await asyncio.sleep(which.pause_s)
            begun = True
            message = await commit_attempt(
                layout, output, to.store, rows=None, collect=record.collect
            )
        except CommitError as error:
            world.trace.say(f"{plan.name}.attempt{number}", "has failed", repr(error))
            if not (begun and plan.collect) or await may_discard(layout, to.store):
                await output.discard()
            return
        world.trace.say(f"{plan.name}.attempt{number}", "has committed", attempt_id)
        shared.messages.setdefault(which.task, []).append(message)
    except CommitError as error:
        world.trace.say(f"{plan.name}.attempt{number}", "could not discard", repr(error))
    finally:
        shared.running -= 1
        shared.news.set()


async def resume(world: World, actor: str, shared: SharedJob, plan: HelperPlan) -> None:
    """Resume a job by its id."""
    record = await _begun(shared, plan.at_s)
    if record is not None:
        to = world.open(world.process(actor))
        await _call(world, actor, record.job_id, "resume", _resumed(to, record.job_id))


async def abort(world: World, actor: str, shared: SharedJob, plan: HelperPlan) -> None:
    """Abort a job by its id."""
    record = await _begun(shared, plan.at_s)
    if record is not None:
        to = world.open(world.process(actor))
        await _call(world, actor, record.job_id, "abort", _aborted(to, record.job_id))


async def write_as_foreigner(world: World, actor: str, plan: ForeignPlan) -> None:
    """Write a file as a program that knows nothing of jobs."""
    await asyncio.sleep(plan.at_s)
    await world.put(world.process(actor), plan.name)


async def clean_up(world: World, actor: str, plan: CleanerPlan) -> None:
    """Clean, by a clock that may be wrong."""
    await asyncio.sleep(plan.at_s)
    to = world.open(world.process(actor), skew_s=plan.skew_s)
    try:
        await _cleaned(to, plan.older_than_s)
    except CommitError as error:
        world.trace.say(actor, "could not clean", repr(error))


async def settle_all(world: World, actor: str) -> None:
    """Finish or abort every job, then clean: whatever has happened, that must be possible (P8)."""
    to = world.open(world.process(actor), skew_s=world.family.clocks_within_s)
    for _ in range(_ROUNDS_MAX):
        found = [info async for info in jobs(to.store, to.check)]
        if not found:
            break
        for info in found:
            call, settling = "abort", _aborted(to, info.job_id)
            if info.state in {"decided", "published"}:
                settling.close()
                call, settling = "resume", _resumed(to, info.job_id)
            told = await _call(world, actor, info.job_id, call, settling)
            if told.answer != "returned" and told.error != "JobNotActiveError":
                world.model.stuck(f"{call} of job {info.job_id}, {info.state}: {told.error}")
    else:
        world.model.stuck("there are jobs that were settled and still show")
    report = await _cleaned(to, 0.0)
    unknown = [one for one in report.shown if "pending upload" not in one]
    if sum(fault.kind == "applied_late" for fault in world.plan.faults) > 1:
        # A manifest and the decision, carried out when the job was over, look like a damaged job.
        for one in [one for one in unknown if one.endswith(_LATE)]:
            await _removed_by_hand(to, one.partition(":")[0])
            unknown.remove(one)
    if unknown or report.not_removed:
        world.model.stuck(f"clean cannot remove {unknown or report.not_removed}")


async def _settle(
    world: World, actor: str, driver: Driver, plan: JobPlan, messages: list[TaskCommit]
) -> None:
    """Commit as a careful program does, and go on as the plan says."""
    job_id = driver.started().record.job_id
    given = [] if plan.collect else messages
    if len(messages) < len(plan.files) and not plan.collect and not driver.is_skipped:
        await _call(world, actor, job_id, "abort", driver.abort())
        return
    world.model.passed(job_id, actor, [(one.task_id, one.attempt_id) for one in given])
    for _ in range(_COMMITS_MAX):
        committing = driver.commit(given, wait_s=plan.wait_s, others=True)
        told = await _call(world, actor, job_id, "commit", committing, driver=driver)
        if told.answer in {"returned", "skipped"} or told.error == "JobNotActiveError":
            return
        if plan.then == "leave" or (plan.then == "abort" and driver.state == "open"):
            break
        await asyncio.sleep(_AGAIN_S)
    if plan.then != "leave" and driver.state == "open":
        await _call(world, actor, job_id, "abort", driver.abort())


async def _call(
    world: World,
    actor: str,
    job_id: str,
    call: str,
    doing: Coroutine[Any, Any, object],
    *,
    driver: Driver | None = None,
) -> Told:
    """Call something that settles a job, and note what the caller is told."""
    loop = asyncio.get_running_loop()
    began_s, error = loop.time(), ""
    world.trace.say(actor, f"calls {call} of job {job_id}")
    try:
        await doing
        answer = "skipped" if driver is not None and driver.is_skipped else "returned"
    except CommitError as failure:
        answer, error = failure.outcome, type(failure).__name__
        world.trace.say(actor, f"is told {answer}", repr(failure))
    else:
        world.trace.say(actor, f"is told {answer}", f"by {call}")
    told = Told(actor, job_id, call, began_s, loop.time(), answer, error)
    world.model.hear(told)
    return told


async def _begun(shared: SharedJob, at_s: float) -> JobRecord | None:
    record = await asyncio.shield(shared.record)
    if record is not None:
        await asyncio.sleep(at_s)
    return record


async def _job_at(to: OpenDestination, job_id: str) -> BoundJob:
    layout = DestinationLayout(to.store.root).job(job_id)
    record = await begun_record(to.store, layout)
    if record is None:
        raise await ended(to.store, layout, to.location.url, stage="open")
    return to.bind(record)


async def _resumed(to: OpenDestination, job_id: str) -> None:
    job = await _job_at(to, job_id)
    await result_of(job, resume_job(job))


async def _aborted(to: OpenDestination, job_id: str) -> None:
    await abort_job(await _job_at(to, job_id), by="an aborter")


async def _cleaned(to: OpenDestination, older_than_s: float) -> Any:
    facts = to.store.capabilities
    return await clean(
        to.store,
        older_than=timedelta(seconds=older_than_s),
        dry_run=False,
        bind=to.bind,
        check=to.check,
        retirement=retiring(to.store, facts),
        leftovers=leftover_uploads(to.store, facts),
    )


async def _removed_by_hand(to: OpenDestination, job_id: str) -> None:
    """What a person does who has looked at it: ``clean --damaged --accept-loss``."""
    await remove_damaged(
        to.store,
        DestinationLayout(to.store.root),
        job_id,
        check=to.check,
        retirement=retiring(to.store, to.store.capabilities),
        accept_loss=True,
        dry_run=False,
    )


def _options(plan: JobPlan) -> JobOptions:
    return JobOptions(
        mode=plan.mode,
        names=plan.names,
        partitions=plan.partitions,
        tasks=len(plan.files),
        collect="store" if plan.collect else "messages",
        idempotency_key=plan.key,
        success=plan.success,
    )


HELPERS: dict[str, Callable[[World, str, SharedJob, HelperPlan], Coroutine[Any, Any, None]]] = {
    "twin": drive_as_twin,
    "resumer": resume,
    "aborter": abort,
}
