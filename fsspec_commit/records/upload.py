"""The record of one pending upload that its key does not attribute to a job."""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.names import SUCCESS, target
from fsspec_commit.records import JsonRecord, must_be
from fsspec_commit.records.job import JobIdText, NonceText, ShortText


class UploadRecord(JsonRecord, frozen=True, kw_only=True):
    """Whose upload it is: created when the upload has begun, before its first part.

    So whatever holds data is attributed. A crash between the two leaves an upload without parts.
    """

    limit_bytes: ClassVar[int] = 128 << 10

    format: Literal["fsspec_commit.Upload"] = "fsspec_commit.Upload"
    version: Literal[1] = 1
    nonce: NonceText
    job_id: JobIdText
    name: ShortText
    upload_id: Annotated[str, Meta(min_length=1, max_length=4096)]

    def check_path(self, layout: JobLayout, path: StorePath) -> None:  # noqa: ARG002  # any name
        """Refuse another job's."""
        must_be(self.job_id, layout.job_id, "job")

    def path(self, layout: DestinationLayout) -> StorePath:
        """What is uploaded, always below the destination.

        Raises:
            RequestError: The record names another place.
        """
        return layout.success if self.name == SUCCESS else layout.final(target(self.name))
