"""Waiting for another job that is in the way: how long each time, and what is said of that job."""

import asyncio
import logging

from fsspec_commit.effects.confirmed.reads import is_of_who_asks
from fsspec_commit.errors import ConcurrentJobError, NewerVersionError, RecordError
from fsspec_commit.protocol.bound_job import BoundJob, settle_command
from fsspec_commit.protocol.job_state import JobState

_log = logging.getLogger("fsspec_commit")

_POLL_S = 0.01
_POLL_S_MAX = 0.5
"""The longest pause of a wait that has lasted for some seconds."""
_POLL_S_MAX_LATER = 1.25
_PAUSES_A_WAIT = 20
"""In a longer wait, a pause is one part in this many of the time waited, so it adds little."""
_UNNOTICED_S = 0.1


def concurrent(job: BoundJob, other: JobState) -> ConcurrentJobError:
    """The error of a job that gives up: what the *other* does, and how to settle that one."""
    destination, other_id = job.record.destination, other.layout.job_id
    command = {
        "committing": ("abort", destination, other_id),
        "damaged": ("clean", destination, "--damaged", other_id, "--delete"),
    }.get(other.state, ("resume", destination, other_id))
    message = (
        f"cannot commit job {job.record.job_id} to {destination!r}: job {_doing(other)} there; "
        "nothing is changed: try again later"
    )
    if other.damage is None or _why_unknown(other.damage) is None:
        message += f", or settle the other: {settle_command(*command)}"
    return ConcurrentJobError(
        message, other_job_id=other_id, job_id=job.record.job_id, stage="claim"
    )


def _doing(other: JobState) -> str:
    """A job and what it does, for a message that ends with "there"."""
    doing = {"committing": "is committing"}.get(other.state, "is committed but not finished")
    if other.damage is not None:
        doing = f"{_why_unknown(other.damage) or 'is damaged'} ({other.damage})"
    return f"{other.layout.job_id} {doing}"


def _why_unknown(damage: RecordError) -> str | None:
    """How to describe a job that counts as damaged here, but may be sound to another caller."""
    if isinstance(damage, NewerVersionError):
        return "is not known"
    return "cannot be looked at" if is_of_who_asks(damage) else None


class Patience:
    """Sleeps longer each time, with jitter, so that waiting jobs do not run in step.

    When the wait becomes noticeable, the job that is waited for is logged.
    """

    def __init__(self, job: BoundJob) -> None:
        self._job = job
        self._ids = job.store.ids
        self._pause_s = _POLL_S
        self._waited_s = 0.0
        self._is_told = False

    async def wait(self, other: JobState) -> None:
        """Sleep until it is time to look at *other* again."""
        if self._pause_s > _UNNOTICED_S and not self._is_told:
            self._is_told = True
            _log.info(
                "job %s to %r waits: job %s there",
                self._job.record.job_id,
                self._job.record.destination,
                _doing(other),
                extra={"waits_for": other.layout.job_id},
            )
        pause_s = self._pause_s * (0.5 + self._ids.jitter())
        await asyncio.sleep(pause_s)
        self._waited_s += pause_s
        longest_s = max(_POLL_S_MAX, min(_POLL_S_MAX_LATER, self._waited_s / _PAUSES_A_WAIT))
        self._pause_s = min(longest_s, self._pause_s * 1.5)
