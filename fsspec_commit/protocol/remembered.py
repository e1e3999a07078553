"""A start on remembered facts: the store is asked whether they hold while the job begins.

The facts by which a committer is chosen are asked of a store before ``job.json``, which names them,
is created. A process that remembers them from an earlier job begins at once, and asks meanwhile.
Until the answer has come nobody is given the job, not even its own driver: no task writes and
nobody commits by facts that do not hold. If they do not, the job is aborted, and another one begun
under a new id.

What is left if the driver dies meanwhile, or the store refuses, is what any start may leave: a job
that nobody works on. It has no claim, so it is in nobody's way, and `clean` removes it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from fsspec_commit.errors import CommitError, JobNotActiveError
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.store import Confirm

IsInVain: TypeAlias = Callable[[], bool]
"""Whether an answer has come by now that makes the start in vain."""

_log = logging.getLogger("fsspec_commit")


class FactsChangedError(Exception):
    """What is remembered of a store no longer holds."""


async def begun_on_facts(
    begin: Callable[[IsInVain], Awaitable[BoundJob]], confirms: Sequence[Confirm]
) -> BoundJob:
    """The job that *begin* begins while *confirms* are asked; withdrawn if one does not hold.

    Both are awaited whichever fails: a ``job.json`` that is still on its way could not be
    withdrawn, and a failure that is due to facts that do not hold does not count.

    Args:
        begin: Begins the job; can ask whether that is in vain by now, and then tries no other id.
        confirms: Each asks whether a fact holds.

    Raises:
        FactsChangedError: A fact does not hold.
        Exception: What one of *confirms* raises, or *begin*.
    """
    if not confirms:
        return await begin(lambda: False)
    asking = [asyncio.ensure_future(confirm()) for confirm in confirms]

    def is_in_vain() -> bool:
        return any(one.done() and not _holds(one) for one in asking)

    beginning = asyncio.ensure_future(begin(is_in_vain))
    for ended in await asyncio.gather(beginning, *asking, return_exceptions=True):
        if isinstance(ended, BaseException) and not isinstance(ended, Exception):
            raise ended
    if all(map(_holds, asking)):
        return beginning.result()
    failures = (one.exception() for one in asking)
    error = next((one for one in failures if one is not None), FactsChangedError())
    if beginning.exception() is None:
        await _withdraw(beginning.result(), error)
    raise error


def _holds(answer: asyncio.Future[bool]) -> bool:
    return not answer.cancelled() and answer.exception() is None and answer.result()


async def _withdraw(job: BoundJob, why: BaseException) -> None:
    """Abort a job that nobody was given; if that fails, a note on *why* says so."""
    try:
        await abort_job(job, by="its driver, before it was given to anybody")
    except JobNotActiveError:
        return  # Somebody has cleaned up meanwhile; nobody could have committed it.
    except CommitError as error:
        left = (
            f"job {job.record.job_id} to {job.record.destination!r} was begun in vain, and could "
            f"not be removed: {error}; when that is over, remove it with: "
            f"{job.settle_command('abort')}"
        )
        _log.warning("%s", left)
        why.add_note(left)
