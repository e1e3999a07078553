"""Files that another program has written for a task, to be adopted as those of an attempt.

They carry no nonce of ours, so a file is recognized by its name and its size. That takes a name
that no other file ever has: one with the ids of the job and of the task in it.
"""

from dataclasses import dataclass

from fsspec_commit.errors import RequestError
from fsspec_commit.layout import AttemptLayout


@dataclass(frozen=True, slots=True)
class AdoptedFile:
    """A finished file that another program has written for a task, and that nobody sees yet.

    Attributes:
        name: Its name at the destination, with ``-<job id>-<task id>`` before its extension.
        size_bytes: Its size.
        upload_id: The id of its pending upload, where tasks upload. Elsewhere the file stands in
            the attempt's working directory, and this is ``None``.
        part_tokens: The etags of the upload's parts, in order, with or without quotation marks. If
            checksums were sent with the parts, the store lists them; for one that does not
            (SeaweedFS), append them: ``<etag>;CRC32=<base64>``.
    """

    name: str
    size_bytes: int
    upload_id: str | None = None
    part_tokens: tuple[str, ...] = ()


def not_adopted(layout: AttemptLayout, file: AdoptedFile, why: str) -> RequestError:
    """The refusal of a file that is not there, or is not as it was described."""
    message = f"cannot adopt {file.name!r} for task {layout.task_id}: {why}"
    return RequestError(
        message,
        kind="cannot_adopt",
        job_id=layout.job.job_id,
        task_id=layout.task_id,
        path=file.name,
        stage="commit_task",
    )
