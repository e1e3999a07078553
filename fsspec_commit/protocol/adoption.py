"""Adopt an attempt whose files another program has written, without this library.

From its manifest on, an adopted attempt is like any other, except for how its files are recognized
after a reply was lost: they carry no nonce, so only names that never come back are adopted.
"""

from collections.abc import Iterable, Mapping

from fsspec_commit.committers import AttemptOutput, ManifestBytes
from fsspec_commit.committers.adopted import AdoptedFile, not_adopted
from fsspec_commit.errors import CommitFailedError, RequestError
from fsspec_commit.layout import AttemptLayout
from fsspec_commit.names import (
    ROOT_PARTITION,
    Target,
    is_named_with,
    is_unicode,
    partition_of,
    target,
    unique_suffix,
)
from fsspec_commit.protocol.attempt import commit_attempt
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.decision import settled_as
from fsspec_commit.protocol.job_records import standing_decision
from fsspec_commit.protocol.manifests import outside_partition
from fsspec_commit.records.job import TaskCommit

_BYTES_MAX = (1 << 63) - 1


async def adopt_attempt(
    job: BoundJob, task_id: int, attempt_id: str, files: Iterable[AdoptedFile]
) -> TaskCommit:
    """Commit an attempt whose *files* another program has written; safe to repeat, by any driver.

    Raises:
        RequestError: A file is not there, is not as described, or has a name that another file
            could have; or the attempt was adopted before, with other files.
        JobNotActiveError: The job was settled meanwhile.
        CommitFailedError: It did not happen; adopt the attempt again, or run the task again.
    """
    layout = job.layout.attempt(task_id, attempt_id)
    written = _Written(job.committer.attempt(layout), _checked(job, layout, files))

    def is_as_good(manifest: bytes) -> bool:
        adopted_before = job.committer.read(ManifestBytes(layout, manifest)).files
        if list(adopted_before) != list(written.finished()):
            message = (
                f"cannot adopt attempt {attempt_id} of task {task_id}: it was adopted before, with "
                "other files; give another attempt another id"
            )
            raise RequestError(
                message, kind="cannot_adopt", job_id=job.record.job_id, task_id=task_id
            )
        return True

    try:
        return await commit_attempt(
            layout,
            written,
            job.store,
            rows=None,
            collect=job.record.collect,
            is_as_good=is_as_good,
            kept=job.own_manifests,
        )
    except (RequestError, CommitFailedError) as error:
        # Its files may be gone because they are published.
        decision = await standing_decision(job.store, job.layout)
        if decision is None:
            raise
        raise settled_as(job.layout, decision) from error


class _Written:
    """What another program has written for an attempt."""

    def __init__(self, output: AttemptOutput, files: Mapping[Target, AdoptedFile]) -> None:
        self._output = output
        self._files = files
        self.finished = output.finished
        self.is_active = output.is_active

    async def seal(self, rows: int | None) -> bytes:
        await self._output.adopt(self._files)
        return await self._output.seal(rows)


def _checked(
    job: BoundJob, layout: AttemptLayout, files: Iterable[AdoptedFile]
) -> dict[Target, AdoptedFile]:
    """Check *files* and return them by name; no other file of any job can have such a name."""
    attempt_id = layout.attempt_id if job.attempts_in_names else None
    suffix = unique_suffix(job.layout.job_id, layout.task_id, attempt_id)
    checked: dict[Target, AdoptedFile] = {}
    for file in files:
        _check_form(layout, file)
        name = target(file.name)
        if name in checked:
            raise not_adopted(layout, file, "it is named twice")
        if not is_named_with(name, suffix):
            why = (
                f"its file name must have {suffix!r} before the extension, so that no other has it"
            )
            raise not_adopted(layout, file, why)
        if job.record.mode == "overwrite_partitions" and partition_of(name) == ROOT_PARTITION:
            raise outside_partition(job.record.destination, name)
        checked[name] = file
    return checked


def _check_form(layout: AttemptLayout, file: object) -> None:
    """Refuse values of a wrong type, which an engine without static types may pass in."""
    if not isinstance(file, AdoptedFile) or not isinstance(file.name, str):
        message = (
            f"cannot adopt {file!r} for task {layout.task_id}: a file is described by "
            "fsspec_commit.AdoptedFile(name, size_bytes)"
        )
        raise RequestError(
            message, kind="cannot_adopt", job_id=layout.job.job_id, task_id=layout.task_id
        )
    size: object = file.size_bytes
    tokens: object = file.part_tokens
    upload_id: object = file.upload_id
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= _BYTES_MAX:
        raise not_adopted(layout, file, f"size_bytes is a number of bytes, not {size!r}")
    if not isinstance(tokens, tuple) or not all(map(_is_text, tokens)):
        raise not_adopted(layout, file, f"part_tokens is a tuple of etags, not {tokens!r}")
    if upload_id is not None and not _is_text(upload_id):
        raise not_adopted(layout, file, f"upload_id is a text, not {upload_id!r}")


def _is_text(given: object) -> bool:
    return isinstance(given, str) and given != "" and is_unicode(given)
