"""Ids, nonces and jitter: the one source of randomness and of wall time.

Everything that must differ between two runs is made here, so that a simulator with a seeded
:class:`IdSource` repeats a run exactly. Only one decision about correctness reads the clock, to
lift a refusal (see :mod:`fsspec_commit.protocol.late_deletes`). The time in a job id orders jobs
for people, and breaks ties between claims, where any fixed order would do.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NewType

from fsspec_commit.errors import RequestError

JobId = NewType("JobId", str)
AttemptId = NewType("AttemptId", str)
Nonce = NewType("Nonce", str)

JOB_ID = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{16}")
ATTEMPT_ID = re.compile(r"[0-9a-f]{16}")
NONCE = re.compile(r"[0-9a-f]{32}")
_EXAMPLE = "20261120T140355-9c1e5f00a1b2c3d4"
_CHARACTERS_MAX = 80
_TIMESTAMP = re.compile(r"[0-9]{8}T[0-9]{6}")


@dataclass(frozen=True, slots=True)
class IdSource:
    """Makes every id; a simulator passes a seeded one."""

    random: random.Random
    now: Callable[[], datetime]

    def job_id(self) -> JobId:
        """The UTC time, so that jobs sort by age, and 64 random bits, so that no two are equal."""
        return JobId(f"{timestamp(self.now())}-{self.random.getrandbits(64):016x}")

    def attempt_id(self) -> AttemptId:
        """64 random bits, never used again, so that attempts never share a path."""
        return AttemptId(f"{self.random.getrandbits(64):016x}")

    def nonce(self) -> Nonce:
        """A mark by which a writer recognises its own write."""
        return Nonce(f"{self.random.getrandbits(128):032x}")

    def jitter(self) -> float:
        """A random number, uniform in [0, 1)."""
        return self.random.random()


NEVER = datetime(1970, 1, 1, tzinfo=UTC)
SYSTEM_IDS = IdSource(random.SystemRandom(), lambda: datetime.now(UTC))


def is_job_id(text: object) -> bool:
    """Whether *text* has the form of a job id, with a valid time."""
    if not isinstance(text, str):
        return False
    return JOB_ID.fullmatch(text) is not None and from_timestamp(text[:15]) is not None


def checked_job_id(text: object) -> JobId:
    """*text*, which a caller has given for the id of a job.

    Raises:
        RequestError: It is not one.
    """
    if isinstance(text, str) and is_job_id(text):
        return JobId(text)
    how = f"one looks like {_EXAMPLE}"
    if hasattr(text, "job_id"):
        how = "pass its .job_id"
    elif isinstance(text, list | tuple) and any(hasattr(one, "job_id") for one in text):
        how = "pass the .job_id of one of them at a time"
    told = repr(text)
    if len(told) > _CHARACTERS_MAX:
        told = f"{told[:_CHARACTERS_MAX]}…"
    raise RequestError(f"{told} is not a job id: {how}", kind="invalid_job_id")


def started(job_id: JobId) -> datetime:
    """When a job was started, by the clock of the machine that started it."""
    return datetime.fromisoformat(job_id[:15]).replace(tzinfo=UTC)


def timestamp(moment: datetime) -> str:
    """A UTC time to the second, in a form that sorts by time, for use in names."""
    return f"{moment:%Y%m%dT%H%M%S}"


def from_timestamp(text: str) -> datetime | None:
    """The time whose :func:`timestamp` is *text*; ``None`` if there is none."""
    if _TIMESTAMP.fullmatch(text) is None:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None
