"""A driver's job that is dropped before it has ended: said where people look, and in the log."""

import logging
import warnings

_log = logging.getLogger("fsspec_commit")


def tell_unfinished(job: object, job_id: str, destination: str, abort_command: str) -> None:
    """Warn of *job*, which is garbage; a warning alone is shown by few programs."""
    message = (
        f"job {job_id} to {destination!r} was neither committed nor aborted; use "
        f'"with Job(...)", or settle it with: {abort_command}'
    )
    _log.warning(message)
    warnings.warn(message, ResourceWarning, stacklevel=3, source=job)
