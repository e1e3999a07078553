"""A start on facts that are remembered: whether they hold is asked while the job begins.

The facts by which a committer is chosen are asked of a store before ``job.json`` is created, which
names them. Who remembers them from an earlier job begins at once, and asks beside that. Until the
answer has come nobody is given the job, not even its own driver: no task writes and nobody commits
by facts that do not hold. If they do not, the job is aborted, and another one begun under a new id.

What is left if the driver dies meanwhile, or the store refuses, is what any start may leave: a job
that nobody works on. It has no claim, so it is in nobody's way, and `clean` removes it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from fsspec_commit.errors import CommitError, JobNotActiveError
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.store import Confirm

_log = logging.getLogger("fsspec_commit")


class FactsChangedError(Exception):
    """What is remembered of a store does not hold any more."""


async def begun_on_facts(
    beginning: Coroutine[Any, Any, None],
    confirms: Sequence[Confirm],
    *,
    withdraw: Callable[[], Awaitable[None]],
) -> None:
    """Run *beginning* while *confirms* are asked, and withdraw what was begun if one does not hold.

    Both are awaited whichever fails: a ``job.json`` that is still on its way could not be
    withdrawn, and a failure by facts that do not hold is none.

    Raises:
        FactsChangedError: One does not hold.
        Exception: What one of *confirms* raises, or *beginning*.
    """
    if not confirms:
        await beginning
        return
    begun, *answers = await asyncio.gather(
        beginning, *(confirm() for confirm in confirms), return_exceptions=True
    )
    for one in (begun, *answers):
        if isinstance(one, BaseException) and not isinstance(one, Exception):
            raise one
    if all(one is True for one in answers):
        if isinstance(begun, Exception):
            raise begun
        return
    if begun is None:
        await withdraw()
    raise next((one for one in answers if isinstance(one, Exception)), FactsChangedError())


async def abort_begun(job: BoundJob | None) -> None:
    """Abort a job that nobody was given; what stays of it is removed by `clean`."""
    if job is None:
        return
    try:
        await abort_job(job, by="its driver, before it was given to anybody")
    except JobNotActiveError:
        return  # Somebody has cleaned up meanwhile; nobody could have committed it.
    except CommitError as error:
        _log.warning(
            "job %s to %r was begun in vain, and could not be removed: %s; it can be by: %s",
            job.record.job_id,
            job.record.destination,
            error,
            job.settle_command("abort"),
        )
