"""``TaskManifest/1``: what one attempt of a rename committer produced, in Hadoop's own fields.

The format is ``org.apache.hadoop.mapreduce.lib.output.committer.manifest.files.TaskManifest``,
version 1 (Hadoop 3.5.0). Paths are relative URIs: a source is relative to the attempt's directory,
that directory to the job's area, and a destination to the job's destination. The directories are
all that the files need, parents first; whether they exist is not checked. What Hadoop has no field
for stands in ``extraData``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, Self

import msgspec
from msgspec import Meta, Struct

from fsspec_commit.errors import NewerVersionError, RecordError, RequestError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import AttemptLayout, StorePath
from fsspec_commit.names import (
    PENDING,
    Partition,
    Target,
    are_plain,
    from_uri_path,
    partitions_of,
    target,
    uri_path,
    with_those_above,
    working_name,
)
from fsspec_commit.records import RECORD_BYTES_MAX, decode_strictly, newer
from fsspec_commit.records.entries import (
    NO_ENTRIES,
    Entries,
    Many,
    Sized,
    in_batches,
    span_of,
    with_entries,
)
from fsspec_commit.records.job import AttemptIdText, Count, JobIdText, NonceText


class WorkingFile(Struct, frozen=True, gc=False):
    """One finished, unpublished file of an attempt.

    Attributes:
        target: Its name at the destination.
        size_bytes: Its size.
        token: Identifies its content in the attempt's directory.
    """

    target: Target
    size_bytes: int
    token: str

    @property
    def name(self) -> str:
        """Its name in the attempt's directory; not kept, as an attempt may have 100,000 files."""
        return working_name(self.target)


class _FileEntry(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    s: str
    d: str
    z: Count
    e: str


_DECODER = msgspec.json.Decoder(list[_FileEntry])
_FILES = b'"files":'


class _DirectoryEntry(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """``t`` is Hadoop's ``EntryStatus.unknown``, ``l`` the depth below the destination."""

    d: str
    t: Literal[0]
    l: Count  # noqa: E741  # Hadoop's name for it


class _ExtraData(Struct, frozen=True, forbid_unknown_fields=True):
    nonce: NonceText
    rows: Annotated[str, Meta(pattern=r"^(0|[1-9][0-9]{0,18})?\Z")] = ""
    adopted: Literal["true"] | msgspec.UnsetType = msgspec.UNSET


class _Manifest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    extra: _ExtraData = msgspec.field(name="extraData")
    type: Literal[
        "org.apache.hadoop.mapreduce.lib.output.committer.manifest.files.TaskManifest/1"
    ] = "org.apache.hadoop.mapreduce.lib.output.committer.manifest.files.TaskManifest/1"
    version: Literal[1] = 1
    job_id: JobIdText = msgspec.field(name="jobId")
    job_attempt: Literal[0] = msgspec.field(name="jobAttemptNumber")
    task_id: Annotated[str, Meta(pattern=r"^[0-9]{1,10}\Z")] = msgspec.field(name="taskID")
    attempt_id: AttemptIdText = msgspec.field(name="taskAttemptID")
    attempt_directory: str = msgspec.field(name="taskAttemptDir")
    files: msgspec.Raw
    directories: list[_DirectoryEntry]


@dataclass(frozen=True, slots=True)
class TaskManifest:
    """The files of one attempt.

    Attributes:
        layout: The attempt.
        nonce: Makes the record unlike any other; the files carry it where the store keeps metadata.
        files: Every file, in the order in which they were finished.
        rows: How many rows they hold, where this library wrote the format.
        directory: The directory of the files, relative to the job's area.
        adopted: Whether another program wrote the files, so that they carry no nonce.
    """

    limit_bytes: ClassVar[int] = RECORD_BYTES_MAX

    layout: AttemptLayout
    nonce: Nonce
    files: Sized[WorkingFile]
    rows: int | None = None
    directory: str = field(kw_only=True)
    adopted: bool = field(default=False, kw_only=True)

    def encode(self) -> bytes:
        """The canonical bytes."""
        return with_entries(
            _Manifest(
                extra=_ExtraData(
                    self.nonce,
                    "" if self.rows is None else str(self.rows),
                    "true" if self.adopted else msgspec.UNSET,
                ),
                job_id=self.layout.job.job_id,
                job_attempt=0,
                task_id=str(self.layout.task_id),
                attempt_id=self.layout.attempt_id,
                attempt_directory=self.directory,
                files=NO_ENTRIES,
                directories=_directories(partitions_of(file.target for file in self.files)),
            ),
            _FILES,
            map(_entries, in_batches(self.files)),
        )

    def sources(self, files: Iterable[WorkingFile]) -> list[StorePath]:
        """The paths of *files*, in their order."""
        return self.layout.sealed_files(self.directory, (file.name for file in files))

    @classmethod
    def decode(
        cls, data: bytes, layout: AttemptLayout, *, directory: str, is_checked: bool = False
    ) -> Self:
        """Read the manifest of *layout*'s attempt, whose files are in *directory*.

        Args:
            data: The record.
            layout: The attempt.
            directory: The directory of the attempt's files.
            is_checked: Whether these bytes were decoded before: then files are not compared with
                each other again.

        Raises:
            NewerVersionError: It is of a later version.
            RecordError: *data* is not canonical, names a path outside the destination, names one
                file twice, or is another attempt's.
        """
        try:
            raw = decode_strictly(data, _Manifest, cls.limit_bytes)
        except NewerVersionError as error:
            raise newer(layout.manifest_name, layout.job.job_id, error) from error
        if (raw.job_id, raw.task_id, raw.attempt_id, raw.attempt_directory) != (
            layout.job.job_id,
            str(layout.task_id),
            layout.attempt_id,
            directory,
        ):
            raise RecordError(f"{layout.manifest_name}: a manifest of another attempt")
        try:
            files = _files(data, raw, is_checked=is_checked)
        except (RecordError, RequestError, UnicodeError) as error:
            raise RecordError(f"{layout.manifest_name}: {error}") from error
        rows = int(raw.extra.rows) if raw.extra.rows else None
        return cls(
            layout,
            Nonce(raw.extra.nonce),
            files,
            rows,
            directory=directory,
            adopted=raw.extra.adopted == "true",
        )


def _files(data: bytes, raw: _Manifest, *, is_checked: bool) -> Sized[WorkingFile]:
    """The files of *raw*, decoded from *data*; checked to be canonical, and each named once."""
    without = msgspec.json.encode(msgspec.structs.replace(raw, files=NO_ENTRIES))
    entries = Entries(
        data,
        span_of(data, without, _FILES),
        _DECODER,
        between=b'},{"s":"',
        read=_working_files,
        is_checked=is_checked,
    )
    if is_checked:
        return Many(entries, None)
    hashes, partitions = set[int](), set[Partition]()

    def note(batch: list[WorkingFile]) -> None:
        targets = [file.target for file in batch]
        hashes.update(map(hash, targets))
        partitions.update(partitions_of(targets))

    files = Many(entries, note)
    if len(hashes) != len(files) and len({file.target for file in files}) != len(files):
        raise RecordError("names one file twice")
    if raw.directories != _directories(partitions):
        raise RecordError("names other directories than its files do")
    return files


def _directories(partitions: Iterable[Partition]) -> list[_DirectoryEntry]:
    needed = sorted(with_those_above(partitions))
    return [_DirectoryEntry(uri_path(name), 0, name.count("/") + 1) for name in needed]


def _entries(files: list[WorkingFile]) -> list[_FileEntry]:
    return [
        _FileEntry(uri_path(file.name), uri_path(file.target), file.size_bytes, file.token)
        for file in files
    ]


def _working_files(entries: list[_FileEntry]) -> list[WorkingFile]:
    targets = [entry.d for entry in entries]
    if are_plain(targets) and [entry.s for entry in entries] == [d + PENDING for d in targets]:
        return [WorkingFile(Target(entry.d), entry.z, entry.e) for entry in entries]
    return [_working_file(entry) for entry in entries]


def _working_file(entry: _FileEntry) -> WorkingFile:
    name = target(from_uri_path(entry.d))
    file = WorkingFile(name, entry.z, entry.e)
    if (uri_path(name), uri_path(file.name)) != (entry.d, entry.s):
        raise RecordError(f"{entry.d}: not as an attempt names its files")
    return file
