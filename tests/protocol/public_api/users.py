"""Who uses a destination, and whether they are told the truth."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc
from fsspec_commit.effects import behind
from fsspec_commit.testing import Crash
from tests.protocol.public_api.truth import KnownJob, Truth

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.protocol.faults import Place
    from tests.protocol.public_api.trouble import Trouble

REFUSALS = (
    fc.RequestError,
    fc.DestinationExistsError,
    fc.JobNotActiveError,
    fc.ConcurrentJobError,
)
"""What users may be told where nothing goes wrong, and no job is unfinished."""
OF_A_FILE_BEHIND = "was closed, and could not be stored"
"""What is told of a file by a call after the one that closed it."""
STORED_WITHIN_S = 60


class LeftError(Exception):
    """Raised in a block that is left by an exception."""


@dataclass(eq=False)
class User:
    """Who holds a job: its driver, or another one.

    Attributes:
        job: What they hold.
        known: The job itself.
        own: Attempts of this process that have committed, by task.
        received: Messages of attempts elsewhere.
        is_gone: Their process has ended, or they have left the block.
        has_begun: They have started the job.
    """

    job: fc.Job
    known: KnownJob
    has_begun: bool = False
    own: dict[int, set[str]] = field(default_factory=dict)
    received: list[fc.TaskCommit] = field(default_factory=list)
    is_gone: bool = False


@dataclass(eq=False)
class Attempt:
    """An attempt that is still open, and who began it."""

    user: User
    task: fc.Task
    is_elsewhere: bool


def until_files_are_stored() -> None:
    """A file that was closed is stored, or has failed: an upload is begun after no later call."""
    ends = time.monotonic() + STORED_WITHIN_S
    while behind._going_on:
        assert time.monotonic() < ends, "a file that was closed is not stored, and has not failed"
        time.sleep(0.0005)


class Ears:
    """Hears what each call says, and compares it with what is true."""

    def __init__(self, place: Place, truth: Truth, trouble: Trouble) -> None:
        self._place = place
        self._truth = truth
        self._trouble = trouble
        self._may_be_told_later = False

    def look(self) -> dict[str, bytes]:
        """Every file of the destination; the truth learns from it."""
        snapshot = self._place.snapshot()
        self._truth.look(snapshot)
        return snapshot

    def value(self, call: Callable[[], Any]) -> Any:
        """What *call* returns; `None` if it raises what it may raise."""
        found: list[Any] = []
        self.call(lambda: found.append(call()))
        return found[0] if found else None

    def call(self, call: Callable[[], object]) -> object:
        """Call something: ``"returned"``, or what it raised, of what it may raise."""
        was_calm = self._trouble.kind is None
        busy = bool(self._truth.unfinished)
        try:
            call()
        except LeftError:
            return "returned"
        except Crash as crash:
            self._trouble.end()
            return crash
        except (fc.CommitError, RuntimeError, ValueError, FileNotFoundError) as error:
            told = error
        else:
            self._may_be_told_later |= not was_calm
            return "returned"
        finally:
            until_files_are_stored()
        is_refusal = not isinstance(told, fc.CommitError) or isinstance(told, REFUSALS)
        is_late = self._may_be_told_later and OF_A_FILE_BEHIND in str(told)
        assert is_refusal or busy or is_late or not was_calm, f"nothing was wrong: {told!r}"
        return told

    def heard(self, job: KnownJob, told: object, *, committed: bool | None) -> None:
        """Whoever has called was told the truth."""
        job.told_not = False
        self.look()
        if told == "returned":
            if committed is None:
                assert job.state == "aborted", f"P5: it was aborted, and is {job.state}"
            assert not committed or job.state == "committed", f"P1: it is {job.state}"
        elif isinstance(told, fc.CommitError):
            true = {
                "not_committed": job.state != "committed",
                "committed": job.state == "committed",
                "partial": job.state == "committed",
                "unknown": True,
            }
            assert true[told.outcome], f"P7: told {told.outcome}, and it is {job.state}: {told!r}"
            job.told_not = told.outcome == "not_committed"
