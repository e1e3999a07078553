"""How actors settle jobs: as careful programs do, and as a person does when all others are gone."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from fsspec_commit.destination import OpenDestination
from fsspec_commit.errors import CommitError
from fsspec_commit.layout import DestinationLayout
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.clean import CleanReport, clean
from fsspec_commit.protocol.damaged import remove_damaged
from fsspec_commit.protocol.driver import Driver
from fsspec_commit.protocol.elsewhere import Elsewhere
from fsspec_commit.protocol.job_records import begun_record
from fsspec_commit.protocol.recovery import jobs, resume_job
from fsspec_commit.protocol.result import CommitResult, result_of
from fsspec_commit.protocol.retire import Remove
from fsspec_commit.protocol.superseded import error_of_ended
from fsspec_commit.records.job import JobRecord, TaskCommit
from fsspec_commit.selection import leftover_uploads, retiring
from fsspec_commit.sync.progress import ProgressReport
from fsspec_commit.testing.simulation.plan import HERE, JobPlan
from fsspec_commit.testing.simulation.process import Process
from fsspec_commit.testing.simulation.spreading import elsewhere
from fsspec_commit.testing.simulation.told import Report, Told
from fsspec_commit.testing.simulation.world import World

T = TypeVar("T")

_COMMITS_MAX = 4
_AGAIN_S = 2.0
_ROUNDS_MAX = 3
_PUT_BACK = "committed but not finished, resume it"
_LATE = "damaged, a committed decision stands but job.json is gone"


class CtrlCError(Exception):
    """A person has pressed Ctrl-C, and the call was cancelled."""


async def interruptible(
    process: Process,
    doing: Coroutine[Any, Any, T],
    may_interrupt: Callable[[], bool] = lambda: True,
) -> T:
    """Await *doing*; Ctrl-C cancels it if *may_interrupt* allows that, a second one in any case.

    That is what the bridge does for synchronous callers.

    Raises:
        CtrlCError: It was cancelled.
    """
    if not process.is_interrupted:
        return await doing
    task = asyncio.ensure_future(doing)

    def interrupt(insisting: bool) -> None:  # noqa: FBT001  # the first or the second one
        if insisting or may_interrupt():
            task.cancel()

    process.interrupt = interrupt
    try:
        return await task
    except asyncio.CancelledError:
        raise CtrlCError from None


async def settle(
    world: World, process: Process, driver: Driver, plan: JobPlan, messages: list[TaskCommit]
) -> None:
    """Commit as a careful program does, and go on as the plan says."""
    actor, job_id = process.name, driver.started().record.job_id
    given = [] if plan.collect else messages
    if len(messages) < len(plan.files) and not plan.collect and not driver.is_skipped:
        await call(world, process, job_id, "abort", driver.abort())
        return
    world.model_at(plan.at).passed(job_id, actor, [(one.task_id, one.attempt_id) for one in given])
    progress = ProgressReport(None if plan.callback is None else Callback(plan.callback))
    left: list[Remove] = []

    async def later(remove: Remove) -> Sequence[str]:
        left.append(remove)
        return ()

    for _ in range(_COMMITS_MAX):
        committing = driver.commit(
            given,
            wait_s=plan.wait_s,
            announce=progress.announce,
            progress=progress.advance,
            others=True,
            elsewhere=elsewhere(world, process, driver.started().record, plan),
            later=later,
        )
        told = await call(world, process, job_id, "commit", committing, driver=driver)
        while left:
            await left.pop()()
        if told.answer in {"returned", "skipped"} or told.error == "JobNotActiveError":
            return
        if plan.then == "leave" or (plan.then == "abort" and driver.state == "open"):
            break
        await asyncio.sleep(_AGAIN_S)
    if plan.then != "leave" and driver.state == "open":
        await call(world, process, job_id, "abort", driver.abort())


class CallbackError(Exception):
    """What the callback of a job raises."""


class CallbackExit(SystemExit):
    """What the callback of a job raises if it has a button to end the program."""


class Callback:
    """A progress bar that fails, or that has a button to end the program."""

    def __init__(self, kind: str) -> None:
        self._raised = CallbackExit if kind == "exits" else CallbackError

    def set_size(self, size: int) -> None:
        """Fail."""
        raise self._raised(f"of {size}")

    def relative_update(self, by: int) -> None:
        """Fail."""
        raise self._raised(f"{by} more")


async def call(
    world: World,
    process: Process,
    job_id: str,
    what: str,
    doing: Coroutine[Any, Any, object],
    *,
    driver: Driver | None = None,
) -> Told:
    """Call something that settles a job, and note what the caller is told."""
    loop = asyncio.get_running_loop()
    actor, began_s, error = process.name, loop.time(), ""
    denials, hidden = process.denials, process.hidden
    world.trace.say(actor, f"calls {what} of job {job_id}")

    def may_interrupt() -> bool:
        return what == "abort" or (driver is not None and driver.state != "deciding")

    report = None
    try:
        given = await interruptible(process, doing, may_interrupt)
        report = _reported(given if driver is None else driver.result)
        answer = "skipped" if driver is not None and driver.is_skipped else "returned"
    except CtrlCError:
        answer = "interrupted"
        world.trace.say(actor, f"is interrupted in {what}")
    except CommitError as failure:
        answer, error = failure.outcome, type(failure).__name__
        world.trace.say(actor, f"is told {answer}", repr(failure))
        if isinstance(failure.__cause__, CallbackError):
            world.model_at(process.at).stuck(f"{actor} was not told {answer} but for its callback")
    except RuntimeError as refusal:
        if driver is None or driver.state != "aborted":
            raise
        answer, error = "not_committed", "RuntimeError"
        world.trace.say(actor, f"is told {answer}", repr(refusal))
    except CallbackExit:
        answer = "ended"
        world.model_at(process.at).stuck(f"{actor} was ended by its callback")
    else:
        world.trace.say(actor, f"is told {answer}", f"by {what}")
    was_denied, was_kept_out = process.denials > denials, process.hidden > hidden
    told = Told(
        actor, job_id, what, began_s, loop.time(), answer, error, report, was_denied, was_kept_out
    )
    world.model_at(process.at).hear(told)
    return told


def _reported(result: object) -> Report | None:
    if not isinstance(result, CommitResult):
        return None
    names = frozenset(result.files)
    return Report(names, result.file_count, result.bytes, result.replaced_count)


async def settle_all(world: World, actor: str) -> None:
    """Finish or abort every job, then clean: whatever has happened, that must be possible (P8)."""
    for at in world.models:
        name = actor if at == HERE else f"{actor} at {at}"
        await _settle_all_at(world, world.process(name, at))


async def _settle_all_at(world: World, process: Process) -> None:
    model = world.model_at(process.at)
    to = world.open(process, skew_s=world.family.clocks_within_s)
    unknown, report = await _settle_and_clean(world, process, to)
    if any(one.endswith(_PUT_BACK) for one in unknown):
        unknown, report = await _settle_and_clean(world, process, to)
    for job_id in [one.partition(":")[0] for one in unknown if one.endswith(_LATE)]:
        if model.give_up(job_id):
            await _removed_by_hand(to, job_id)
            unknown.remove(f"{job_id}: {_LATE}")
    if unknown or report.not_removed:
        model.stuck(f"clean cannot remove {unknown or report.not_removed}")


async def _settle_and_clean(
    world: World, process: Process, to: OpenDestination
) -> tuple[list[str], CleanReport]:
    """Settle every job that shows, then clean; return what that shows unexpectedly, and its report.

    An area that was being looked into is put back by the cleaning, and its job shows only then.
    """
    model = world.model_at(process.at)
    for _ in range(_ROUNDS_MAX):
        found = [info async for info in jobs(to.store, to.check)]
        ours = [info for info in found if not world.is_left_over(info.job_id)]
        if not ours:
            break
        for info in ours:
            has_decided = info.state in {"decided", "published"}
            what, ending = ("resume", resumed) if has_decided else ("abort", aborted)
            settling: Coroutine[Any, Any, object] = ending(to, info.job_id)
            told = await call(world, process, info.job_id, what, settling)
            if told.answer != "returned" and told.error != "JobNotActiveError":
                model.stuck(f"{what} of job {info.job_id}, {info.state}: {told.error}")
    else:
        model.stuck("there are jobs that were settled and still show")
    report = await cleaned(to, 0.0)
    unknown = [one for one in report.shown if not world.may_be_shown(one)]
    return unknown, report


async def resumed(
    to: OpenDestination,
    job_id: str,
    spread: Callable[[JobRecord], Elsewhere | None] = lambda _: None,
) -> CommitResult:
    """Resume a job by its id."""
    job = await _job_at(to, job_id)
    return await result_of(job, resume_job(job, elsewhere=spread(job.record)))


async def aborted(to: OpenDestination, job_id: str) -> None:
    """Abort a job by its id."""
    await abort_job(await _job_at(to, job_id), by="an aborter")


async def cleaned(
    to: OpenDestination, older_than_s: float, *, dry_run: bool = False
) -> CleanReport:
    """Clean, and abort jobs that are so old; in a *dry_run* report what that would be."""
    facts = to.store.capabilities
    return await clean(
        to.store,
        older_than=timedelta(seconds=older_than_s),
        dry_run=dry_run,
        bind=to.bind,
        check=to.check,
        retirement=retiring(to.store, facts),
        leftovers=leftover_uploads(to.store, facts),
    )


async def _job_at(to: OpenDestination, job_id: str) -> BoundJob:
    layout = DestinationLayout(to.store.root).job(job_id)
    record = await begun_record(to.store, layout)
    if record is None:
        raise await error_of_ended(to.store, layout, to.location.url, stage="open")
    return to.bind(record)


async def _removed_by_hand(to: OpenDestination, job_id: str) -> None:
    """Remove a job as a person does who has looked at it: ``clean --damaged --accept-loss``."""
    await remove_damaged(
        to.store,
        DestinationLayout(to.store.root),
        job_id,
        check=to.check,
        retirement=retiring(to.store, to.store.capabilities),
        accept_loss=True,
        dry_run=False,
    )
