"""The warning about a job that is garbage-collected before it has ended."""

import logging
import warnings

_log = logging.getLogger("fsspec_commit")


def tell_unfinished(job: object, job_id: str, destination: str, abort_command: str) -> None:
    """Warn about *job*, and log it as well, since few programs show warnings."""
    message = (
        f"job {job_id} to {destination!r} was neither committed nor aborted; use "
        f'"with Job(...)", or settle it with: {abort_command}'
    )
    _log.warning(message)
    warnings.warn(message, ResourceWarning, stacklevel=3, source=job)
