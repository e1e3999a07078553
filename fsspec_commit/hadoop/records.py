"""The records of Hadoop's own committers, as far as they show what a job has pending.

They are read, and never written or acted on. The formats are those of Hadoop 3.5.0:
``TaskManifest/1`` (``org.apache.hadoop.mapreduce.lib.output.committer.manifest.files``),
``PendingSet`` and ``SinglePendingCommit`` (``org.apache.hadoop.fs.s3a.commit.files``). Other
releases have more fields, so unknown ones are ignored; known ones must be valid. Hadoop may call a
store by another name than this library, so a URI is only used relative to another one of the same
record.
"""

from typing import Annotated, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Meta, Struct

from fsspec_commit.errors import RecordError
from fsspec_commit.records import RECORD_BYTES_MAX, decode_strictly
from fsspec_commit.records.job import Count

MANIFEST_SUFFIX = "-manifest.json"
PENDING_SUFFIX = ".pending"
PENDING_SET_SUFFIX = ".pendingset"

_Text: TypeAlias = Annotated[str, Meta(min_length=1)]


class ManifestFile(Struct, frozen=True, gc=False):
    """A file of a manifest; its source and destination are URIs."""

    source: _Text = msgspec.field(name="s")
    target: _Text = msgspec.field(name="d")
    size_bytes: Count = msgspec.field(name="z")


class HadoopManifest(Struct, frozen=True, kw_only=True):
    """What one task attempt of the manifest committer has committed."""

    type: Literal["org.apache.hadoop.mapreduce.lib.output.committer.manifest.files.TaskManifest/1"]
    version: Literal[1]
    attempt_id: _Text = msgspec.field(name="taskAttemptID")
    attempt_directory: _Text = msgspec.field(name="taskAttemptDir")
    # Hadoop leaves out what is empty.
    files: list[ManifestFile] = []

    def working_name(self, file: ManifestFile) -> str:
        """The name of *file*, relative to the attempt's directory.

        Raises:
            RecordError: The file is not below that directory.
        """
        return _relative(file.source, _path(self.attempt_directory))

    def target_name(self, file: ManifestFile, area: str) -> str:
        """The name that *file* will have, relative to the destination of *area*.

        Args:
            file: A file of the manifest.
            area: The area of the job, relative to the destination.

        Raises:
            RecordError: The name is not below the destination.
        """
        root, found, _ = _path(self.attempt_directory).rpartition(f"/{area}/")
        if not found:
            raise RecordError(f"{self.attempt_directory!r} is not below {area!r}")
        return _relative(file.target, root)


class HadoopUpload(Struct, frozen=True, gc=False):
    """A pending upload as the magic committer records it."""

    bucket: _Text
    key: _Text = msgspec.field(name="destinationKey")
    upload_id: _Text = msgspec.field(name="uploadId")
    size_bytes: Count = msgspec.field(name="length")


class _PendingSet(Struct, frozen=True, kw_only=True):
    version: Literal[1, 2, 3]
    commits: list[HadoopUpload]


def hadoop_manifest(data: bytes) -> HadoopManifest:
    """Read a ``TaskManifest``.

    Raises:
        RecordError: *data* is not one.
    """
    return decode_strictly(data, HadoopManifest, RECORD_BYTES_MAX)


def hadoop_pending_set(data: bytes) -> list[HadoopUpload]:
    """Read the uploads of a ``PendingSet``.

    Raises:
        RecordError: *data* is not one.
    """
    return decode_strictly(data, _PendingSet, RECORD_BYTES_MAX).commits


def hadoop_pending(data: bytes) -> list[HadoopUpload]:
    """Read the one upload of a ``SinglePendingCommit``.

    Raises:
        RecordError: *data* is not one.
    """
    return [decode_strictly(data, HadoopUpload, RECORD_BYTES_MAX)]


def _path(uri: str) -> str:
    try:
        return unquote(urlsplit(uri).path, errors="strict")
    except ValueError as error:
        raise RecordError(f"{uri!r} is no URI: {error}") from None


def _relative(uri: str, directory: str) -> str:
    path = _path(uri)
    if not path.startswith(f"{directory}/"):
        raise RecordError(f"{uri!r} is not below {directory!r}")
    return path[len(directory) + 1 :]
