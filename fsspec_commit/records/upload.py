"""The record of a pending upload whose key does not name its job."""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.names import SUCCESS, target
from fsspec_commit.records import JsonRecord, must_be
from fsspec_commit.records.job import JobIdText, NonceText, ShortText


class UploadRecord(JsonRecord, frozen=True, kw_only=True):
    """Attributes an upload to a job; created after the upload has begun and before its first part.

    So every upload that holds data is attributed. A crash in between leaves one without parts.
    """

    limit_bytes: ClassVar[int] = 128 << 10

    format: Literal["fsspec_commit.Upload"] = "fsspec_commit.Upload"
    version: Literal[1] = 1
    nonce: NonceText
    job_id: JobIdText
    name: ShortText
    upload_id: Annotated[str, Meta(min_length=1, max_length=4096)]

    def check_path(self, layout: JobLayout, path: StorePath) -> None:  # noqa: ARG002  # any name
        """Refuse another job's record."""
        must_be(self.job_id, layout.job_id, "job")

    def path(self, layout: DestinationLayout) -> StorePath:
        """The path of the upload, always below the destination.

        Raises:
            RequestError: The record names a path elsewhere.
        """
        return layout.success if self.name == SUCCESS else layout.final(target(self.name))
