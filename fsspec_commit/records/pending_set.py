"""``PendingSet``: what one attempt of the magic committer produced, in Hadoop's own fields.

The format is ``org.apache.hadoop.fs.s3a.commit.files.PendingSet`` as hadoop-aws 3.5.0 reads and
writes it: version 3 of the set, version 2 of each ``SinglePendingCommit``, a part's etag as an
``UploadEtag``. Tokens of parts stand in ``etag`` as the store gave them. What Hadoop has no field
for stands in ``extraData``: the nonce and the sizes of the parts, both empty for an upload that
another program has begun.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, ClassVar, Literal, Self

import msgspec
from msgspec import Meta, Struct

from fsspec_commit.errors import NewerVersionError, RecordError, RequestError
from fsspec_commit.ids import NEVER, Nonce
from fsspec_commit.layout import AttemptLayout, DestinationLayout
from fsspec_commit.names import Target, target, uri_path
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
from fsspec_commit.records.job import (
    AttemptIdText,
    Count,
    FileIdentity,
    JobIdText,
    NonceText,
)
from fsspec_commit.store import Part, PendingUpload, Token

_Text = Annotated[str, Meta(min_length=1)]
_Milliseconds = Annotated[int, Meta(ge=0, le=253_402_300_799_999)]
_MILLISECOND = timedelta(milliseconds=1)
_NO_NONCE = b'"extraData":{"nonce":""'


@dataclass(frozen=True, slots=True)
class PendingFile:
    """One finished, unpublished file of an attempt.

    Attributes:
        target: Its name at the destination.
        size_bytes: Its size.
        upload: The upload that makes it visible when completed.
    """

    target: Target
    size_bytes: int
    upload: PendingUpload


class _Etag(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    etag: _Text
    algorithm: None = msgspec.field(default=None, name="checksumAlgorithm")
    checksum: None = None


class _NoStatistics(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Hadoop's statistics of the uploads, left empty: a job keeps its own."""


class _OfFile(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    nonce: Annotated[str, Meta(pattern=r"^([0-9a-f]{32})?\Z")]
    part_sizes: str


class _Commit(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    version: Literal[2] = 2
    filename: Literal[""] = ""
    uri: str
    upload_id: _Text = msgspec.field(name="uploadId")
    bucket: str
    key: str = msgspec.field(name="destinationKey")
    created: _Milliseconds
    saved: _Milliseconds
    date: str
    job_id: str = msgspec.field(name="jobId")
    task_id: str = msgspec.field(name="taskId")
    text: Literal[""] = ""
    etags: list[_Etag]
    extra: _OfFile = msgspec.field(name="extraData")
    length: Count
    statistics: _NoStatistics = msgspec.field(name="iostatistics")


_DECODER = msgspec.json.Decoder(list[_Commit])
_COMMITS = b'"commits":'


class _OfSet(Struct, frozen=True, forbid_unknown_fields=True):
    attempt_id: AttemptIdText = msgspec.field(name="task.attempt.id")
    nonce: NonceText
    created: str
    rows: Annotated[str, Meta(pattern=r"^(0|[1-9][0-9]{0,18})?\Z")] = ""


class _PendingSet(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    version: Literal[3] = 3
    job_id: JobIdText = msgspec.field(name="jobId")
    commits: msgspec.Raw
    extra: _OfSet = msgspec.field(name="extraData")
    statistics: _NoStatistics = msgspec.field(name="iostatistics")


@dataclass(frozen=True, slots=True)
class PendingSet:
    """The files of one attempt.

    Attributes:
        layout: The attempt.
        nonce: Makes the record unlike any other.
        created: When it was written, to the millisecond; for people only.
        files: Every file, by name.
        rows: How many rows they hold, where this library wrote the format.
        adopted: Whether another program has begun the uploads, by the bytes that were decoded.
    """

    limit_bytes: ClassVar[int] = RECORD_BYTES_MAX

    layout: AttemptLayout
    nonce: str
    created: datetime
    files: Sized[PendingFile]
    rows: int | None = None
    adopted: bool = field(default=False, compare=False)

    def encode(self) -> bytes:
        """The canonical bytes."""
        form = _Form(self.layout, self.created)
        return with_entries(
            _PendingSet(
                job_id=self.layout.job.job_id,
                commits=NO_ENTRIES,
                extra=_OfSet(
                    self.layout.attempt_id,
                    self.nonce,
                    str(form.created_ms),
                    "" if self.rows is None else str(self.rows),
                ),
                statistics=_NoStatistics(),
            ),
            _COMMITS,
            ([form.commit(file) for file in batch] for batch in in_batches(self.files)),
        )

    @classmethod
    def decode(cls, data: bytes, layout: AttemptLayout, *, is_checked: bool = False) -> Self:
        """Read the pending set of *layout*'s attempt.

        Args:
            data: The record.
            layout: The attempt.
            is_checked: Whether these bytes were decoded before: then files are not compared with
                each other again, nor with their canonical form.

        Raises:
            NewerVersionError: It is of a later version.
            RecordError: *data* is not canonical, names a key outside the destination, names one
                file twice, or is another attempt's.
        """
        name = layout.manifest_name
        try:
            raw = decode_strictly(data, _PendingSet, cls.limit_bytes)
        except NewerVersionError as error:
            raise newer(name, layout.job.job_id, error) from error
        if (raw.job_id, raw.extra.attempt_id) != (layout.job.job_id, layout.attempt_id):
            raise RecordError(f"{name}: a pending set of another attempt")
        try:
            created = NEVER + int(raw.extra.created) * _MILLISECOND
            form = _Form(layout, created, is_checked=is_checked)
            files = _files(data, raw, form)
        except (RecordError, RequestError, ValueError, OverflowError) as error:
            raise RecordError(f"{name}: {error}") from error
        rows = int(raw.extra.rows) if raw.extra.rows else None
        # In canonical bytes no text holds a bare quotation mark, so this is a file's own.
        adopted = _NO_NONCE in data
        return cls(layout, raw.extra.nonce, created, files, rows, adopted)


class _Form:
    """The form in which one attempt's files are recorded; anything else is refused."""

    def __init__(
        self, layout: AttemptLayout, created: datetime, *, is_checked: bool = False
    ) -> None:
        self.is_checked = is_checked
        destination = layout.job.destination
        self._layout = layout
        self._destination = destination
        self.bucket, self._prefix = destination.object_name(destination.final(Target("")))
        self._uri = f"s3a://{self.bucket}/{uri_path(self._prefix)}"
        self.created_ms = (created - NEVER) // _MILLISECOND
        self._date = datetime.fromtimestamp(self.created_ms // 1000, UTC).isoformat()
        self._task_id = str(layout.task_id)

    def commit(self, file: PendingFile) -> _Commit:
        """*file* as one of Hadoop's ``SinglePendingCommit``."""
        upload = file.upload
        return _Commit(
            uri=self._uri + uri_path(file.target),
            upload_id=upload.upload_id,
            bucket=self.bucket,
            key=self._prefix + file.target,
            created=self.created_ms,
            saved=self.created_ms,
            date=self._date,
            job_id=self._layout.job.job_id,
            task_id=self._task_id,
            etags=[_Etag(part.token) for part in upload.parts],
            extra=_OfFile(upload.nonce, _part_sizes(upload)),
            length=file.size_bytes,
            statistics=_NoStatistics(),
        )

    def files(self, commits: Sequence[_Commit]) -> list[PendingFile]:
        """The files that *commits* stand for.

        Raises:
            RecordError: One does not have this attempt's form, or its name is not allowed.
        """
        try:
            return [self.file(commit) for commit in commits]
        except (RequestError, ValueError, OverflowError) as error:
            raise RecordError(str(error)) from error

    def file(self, commit: _Commit) -> PendingFile:
        """The file that *commit* stands for.

        Raises:
            RecordError: *commit* does not have this attempt's form.
            ValueError: Its name, or a size, is not allowed.
        """
        if not commit.key.startswith(self._prefix):
            raise RecordError(f"{commit.key!r} is not below the destination")
        name = target(commit.key[len(self._prefix) :])
        adopted = not commit.extra.nonce
        sizes = _sizes_of_parts(commit)
        if len(sizes) != len(commit.etags):
            raise RecordError(f"{commit.key!r}: sizes of other parts than it has")
        upload = PendingUpload(
            path=self._destination.final(name),
            upload_id=commit.upload_id,
            nonce=Nonce(commit.extra.nonce),
            parts=tuple(
                Part(number, Token(etag.etag), size)
                for number, (etag, size) in enumerate(zip(commit.etags, sizes, strict=True), 1)
            ),
            object_bytes=commit.length if adopted else None,
        )
        file = PendingFile(name, commit.length, upload)
        if self.is_checked:
            return file
        known = [size for size in sizes if size is not None]
        fits = bool(sizes) if adopted else sum(known) == file.size_bytes and min(known) >= 0
        if not fits or self.commit(file) != commit:
            raise RecordError(f"{commit.key!r}: not as an attempt writes its files down")
        return file


def _part_sizes(upload: PendingUpload) -> str:
    if upload.object_bytes is not None:
        return ""
    return ",".join(str(part.size_bytes) for part in upload.parts)


def _sizes_of_parts(commit: _Commit) -> Sequence[int | None]:
    if not commit.extra.nonce:
        return [None] * len(commit.etags)
    return [int(size) for size in commit.extra.part_sizes.split(",")]


def _files(data: bytes, raw: _PendingSet, form: _Form) -> Sized[PendingFile]:
    """The files of *raw*, decoded from *data*; checked to be canonical, and each named once."""
    if str(form.created_ms) != raw.extra.created:
        raise RecordError("not a canonical PendingSet record")
    without = msgspec.json.encode(msgspec.structs.replace(raw, commits=NO_ENTRIES))
    entries = Entries(
        data,
        span_of(data, without, _COMMITS),
        _DECODER,
        between=b'},{"version":',
        read=form.files,
        is_checked=form.is_checked,
    )
    if form.is_checked:
        return Many(entries, None)
    hashes = set[int]()
    files = Many(entries, lambda batch: hashes.update(hash(file.target) for file in batch))
    if len(hashes) != len(files) and len({file.target for file in files}) != len(files):
        raise RecordError("names one file twice")
    return files


class _Marker(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    upload_id: _Text
    nonce: NonceText
    etag: _Text


def marker_identity(upload: PendingUpload) -> FileIdentity:
    """A prepared marker as the decision records it, with all that completing its upload takes."""
    (part,) = upload.parts
    token = msgspec.json.encode(_Marker(upload.upload_id, upload.nonce, part.token)).decode()
    return FileIdentity(size=part.size_bytes or 0, token=token)


def marker_upload(layout: DestinationLayout, identity: FileIdentity) -> PendingUpload:
    """The upload of a marker with this :func:`marker_identity`.

    Raises:
        RecordError: The identity is not one of a pending upload.
    """
    raw = decode_strictly(identity.token.encode(), _Marker, RECORD_BYTES_MAX)
    part = Part(1, Token(raw.etag), identity.size)
    return PendingUpload(
        path=layout.success, upload_id=raw.upload_id, nonce=Nonce(raw.nonce), parts=(part,)
    )
