"""What is said of a job that was left or interrupted: how it stands, and what settles it."""

import logging
import warnings

from fsspec_commit.protocol.result import CommitResult

_log = logging.getLogger("fsspec_commit")


def tell_unfinished(job: object, job_id: str, destination: str, abort_command: str) -> None:
    """Warn about *job*, and log it as well, since few programs show warnings."""
    message = (
        f"job {job_id} to {destination!r} was neither committed nor aborted; use "
        f'"with Job(...)", or settle it with: {abort_command}'
    )
    _log.warning(message)
    warnings.warn(message, ResourceWarning, stacklevel=3, source=job)


def note_left(error: BaseException, abort_command: str, why: str) -> str:
    """Add a note to *error* that its job is left open, and return the note."""
    note = f"the job could not be aborted{why}; settle it with: {abort_command}"
    error.add_note(note)
    return note


def note_interrupted(
    interrupt: BaseException, result: CommitResult | None, resume_command: str | None
) -> None:
    """Note on *interrupt* what became of the job: its *result*, or how to finish it, if known.

    Args:
        interrupt: What has broken off a commit, or has waited for it to end.
        result: The result of the commit, if it has one.
        resume_command: The command that finishes a job that may be decided; otherwise ``None``.
    """
    if result is not None:
        interrupt.add_note(f"{result.state}: {result!r}")
    elif resume_command is not None:
        interrupt.add_note(
            f"the job may be decided but unfinished; delete nothing; finish it with: "
            f"{resume_command}"
        )
