"""magic: a task uploads to the final names and completes nothing; the job completes each upload.

Named after Hadoop's S3A committer, whose pending sets it shares. A worker uploads to a file's final
name, so nothing is ever copied or renamed, and nothing of an upload is visible to anyone until it
is completed.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from fsspec_commit.committers import (
    AttemptFiles,
    AttemptOutput,
    Expectations,
    FileWriter,
    Lost,
    ManifestBytes,
    NewFile,
    report_lost,
)
from fsspec_commit.committers.adopted import AdoptedFile, not_adopted
from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.confirmed.uploads import ConfirmedUploads
from fsspec_commit.effects.ending import ending
from fsspec_commit.effects.parallel import Progress, both, for_each
from fsspec_commit.effects.part_writer import PartWriter
from fsspec_commit.effects.stored_records import establish, inactive
from fsspec_commit.errors import CommitError, RecordError, Stage
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import AttemptLayout, JobLayout, StorePath
from fsspec_commit.names import SUCCESS, Partition, Target, job_named_in
from fsspec_commit.records.entries import in_batches
from fsspec_commit.records.job import CommitterName, FileIdentity
from fsspec_commit.records.pending_set import (
    PendingFile,
    PendingSet,
    marker_identity,
    marker_upload,
)
from fsspec_commit.records.upload import UploadRecord
from fsspec_commit.store import DirectWriter, Entry, Expect, Part, PendingUpload, Token

_UPLOADING = "cannot upload: "
_LOST = (
    "is not in place, and its upload is gone, or has other parts by now: somebody else aborted or "
    "changed it, or a rule of the bucket did"
)


class MagicAttempt:
    """Uploads to the final names, and which of them are finished.

    An upload is attributed to its job by the job id in its name. If the name has none, or the store
    cannot list uploads, the upload is recorded in the job's area once it has begun, and then
    ``job.json`` is read, before the first part. A driver that ends the job deletes ``job.json``
    first and reads the records afterwards, so one of the two sees the other. A crash before the
    record leaves an upload without data.
    """

    def __init__(
        self,
        store: ConfirmedStore,
        uploads: ConfirmedUploads,
        layout: AttemptLayout,
        *,
        records_all: bool,
    ) -> None:
        self._store = store
        self._uploads = uploads
        self._layout = layout
        self._records_all = records_all
        self._has_recorded = False
        self._finished: dict[Target, PendingFile] = {}
        self._begun: dict[tuple[StorePath, str], PendingUpload] = {}

    def writer(self, name: Target) -> FileWriter:
        """Upload one file; the upload begins with its first part."""

        async def begin(path: StorePath, begun: Callable[[PendingUpload], None]) -> None:
            await self._begin(name, path, begun)

        path = self._layout.job.destination.final(name)
        budget = self._store.budget
        parts = PartWriter(self._uploads, path, begin=begin, abort=self._abort, budget=budget)
        return _Recording(parts, name, self._finished, self._begun)

    def direct_writer(self, name: Target) -> DirectWriter[NewFile] | None:  # noqa: ARG002
        """None: parts are sent on the event loop."""
        return None

    def finished(self) -> Sequence[NewFile]:
        """Every finished file, by name."""
        return self._files()

    async def delete(self, name: Target) -> None:
        """Drop a finished file: abort its upload."""
        file = self._finished.pop(name, None)
        if file is not None:
            self._begun[_key(file.upload)] = file.upload
            await self._abort(file.upload)

    async def adopt(self, files: Mapping[Target, AdoptedFile]) -> None:
        """Take the pending uploads of *files*, which another program has begun.

        The parts of each are listed first. An upload that cannot be completed must be found before
        the decision: after that the job could be neither finished nor aborted.

        Raises:
            RequestError: A file has no upload, or one that is not as described; or the store
                completes only uploads of this library.
            JobNotActiveError: The job was settled meanwhile.
        """

        async def adopt(one: tuple[Target, AdoptedFile]) -> None:
            await self._adopt(*one)

        adopting = [*files.items()]
        await for_each(adopting, adopt, in_flight_max=self._store.in_flight_max)

    async def _adopt(self, name: Target, file: AdoptedFile) -> None:
        if not file.upload_id or not file.part_tokens:
            why = "tasks upload here, and it has no upload_id or no part_tokens"
            raise not_adopted(self._layout, file, why)
        upload = PendingUpload(
            path=self._layout.job.destination.final(name),
            upload_id=file.upload_id,
            nonce=Nonce(""),
            object_bytes=file.size_bytes,
        )
        parts = await self._uploads.adopted(upload, file.part_tokens)
        if isinstance(parts, str):
            raise not_adopted(self._layout, file, parts)
        upload = replace(upload, parts=tuple(replace(part, size_bytes=None) for part in parts))
        self._finished[name] = PendingFile(name, file.size_bytes, upload)
        if self._records_all:
            await self._record(name, upload, self._store.ids.nonce())

    async def seal(self, rows: int | None) -> bytes:
        """Abort every upload that belongs to no finished file, and list the others."""
        for stray in list(self._begun.values()):
            await self._abort(stray)
        ids = self._store.ids
        return PendingSet(self._layout, ids.nonce(), ids.now(), self._files(), rows).encode()

    async def is_active(self) -> bool:
        """Look for ``job.json``: whoever has ended the job may not have seen the last uploads."""
        return await self._store.stat(self._layout.job.spec) is not None

    async def discard(self) -> None:
        """Remove everything of the attempt: uploads, their records, and the list of them."""
        for file in self._finished.values():
            self._begun[_key(file.upload)] = file.upload
        self._finished.clear()
        uploads = list(self._begun.values())
        await for_each(uploads, self._abort, in_flight_max=self._store.in_flight_max)
        permit = deletion.of_own_attempt(self._layout)
        await self._store.delete(self._layout.manifest, permit)
        if self._has_recorded:
            permit = deletion.of_own_upload_records(self._layout)
            await self._store.delete_tree(self._layout.uploads, permit)

    async def _begin(
        self, name: Target, path: StorePath, begun: Callable[[PendingUpload], None]
    ) -> None:
        # If a name is written again: uploads may be keyed by path, so abort the earlier one first.
        await self.delete(name)

        def note(upload: PendingUpload) -> None:
            self._begun[_key(upload)] = upload
            begun(upload)

        upload = await self._uploads.start(path, note)
        if self._records_all or job_named_in(name) != self._layout.job.job_id:
            await self._record(name, upload, upload.nonce)
            await _check_active(self._store, self._layout.job, "write")

    async def _record(self, name: Target, upload: PendingUpload, nonce: Nonce) -> None:
        self._has_recorded = True
        path = self._layout.upload_record(nonce)
        await _record(self._store, self._layout.job, path, name, upload)

    async def _abort(self, upload: PendingUpload) -> None:
        permit = deletion.of_own_uploads(self._layout, [upload])
        await self._uploads.abort(upload, permit)
        self._begun.pop(_key(upload), None)

    def _files(self) -> Sequence[PendingFile]:
        return [self._finished[name] for name in sorted(self._finished)]


class _Recording:
    """A writer whose finished file is recorded."""

    def __init__(
        self,
        parts: PartWriter,
        name: Target,
        finished: dict[Target, PendingFile],
        begun: dict[tuple[StorePath, str], PendingUpload],
    ) -> None:
        self._parts = parts
        self._name = name
        self._finished = finished
        self._begun = begun
        self.write = parts.write
        self.discard = parts.discard

    async def finish(self) -> NewFile:
        return self._finished_by(await self._parts.finish())

    async def store(self, data: bytes) -> NewFile:
        return self._finished_by(await self._parts.store(data))

    def _finished_by(self, upload: PendingUpload) -> NewFile:
        size_bytes = sum(part.size_bytes or 0 for part in upload.parts)
        file = self._finished[self._name] = PendingFile(self._name, size_bytes, upload)
        self._begun.pop(_key(upload), None)
        return file


class MagicCommitter:
    """The driver side, which needs uploads that another process can complete.

    Args:
        store: Holds the records.
        uploads: Holds the files.
        records_all: Whether every upload is recorded, since the store cannot list them.
    """

    name: CommitterName = "magic"

    def __init__(
        self, store: ConfirmedStore, uploads: ConfirmedUploads, *, records_all: bool
    ) -> None:
        self._store = store
        self._uploads = uploads
        self._records_all = records_all

    def attempt(self, layout: AttemptLayout) -> AttemptOutput:
        """The worker side of one attempt."""
        return MagicAttempt(self._store, self._uploads, layout, records_all=self._records_all)

    def read(self, manifest: ManifestBytes) -> AttemptFiles:
        """Decode a pending set strictly."""
        decoded = _decoded(manifest)
        return AttemptFiles(decoded.files, decoded.rows, decoded.adopted)

    async def make_directories(self, directories: Iterable[Partition]) -> None:
        """Do nothing: objects need no directories."""

    async def publish(
        self,
        manifests: AsyncIterable[ManifestBytes],
        expected: Expectations,
        *,
        resuming: bool,
        lost: Lost | None,
        progress: Progress | None,
    ) -> int:
        """Complete the upload of every file.

        A completion consumes its upload, so repeating all of them publishes what is missing and
        nothing else: upload gone and target with its nonce is done. When resuming, only the file
        itself shows that its upload has been completed.
        """

        async def complete(file: PendingFile) -> None:
            expecting = expected[file.target]
            if not await self._uploads.complete(
                file.upload, expecting=expecting, resuming=resuming
            ):
                report_lost(file.target, lost, _LOST)

        return await for_each(
            _pending_files(manifests),
            complete,
            in_flight_max=self._store.in_flight_max,
            progress=progress,
        )

    async def prepare_success(
        self, layout: JobLayout, claim_nonce: str, data: bytes
    ) -> FileIdentity:
        """Upload the marker; the decision records what completing the upload takes.

        All jobs use the marker's name, so the upload is recorded under the claim before it holds
        a byte. If that fails, or is given up, what was begun is aborted.
        """
        begun = list[PendingUpload]()
        try:
            upload = await self._uploads.start(layout.destination.success, begun.append)
            self._uploads.remember(upload, layout.job_id)
            part = await self._fill_marker(layout, claim_nonce, upload, data)
        except (CommitError, asyncio.CancelledError):
            for one in begun:
                await self._abort_marker(layout, one)
            raise
        return marker_identity(replace(upload, parts=(part,)))

    async def _fill_marker(
        self, layout: JobLayout, claim_nonce: str, upload: PendingUpload, data: bytes
    ) -> Part:
        record = layout.prepared_success(claim_nonce)
        recording = _record(self._store, layout, record, SUCCESS, upload)
        if data:
            await recording
            await _check_active(self._store, layout, "prepare")
            return await self._uploads.put_part(upload, 1, data)
        _, part = await both(recording, self._uploads.put_part(upload, 1, data))
        return part

    async def publish_success(
        self,
        layout: JobLayout,
        claim_nonce: str,  # noqa: ARG002  # the decision names the upload itself
        marker: FileIdentity,
        stale: FileIdentity | None,
    ) -> bool:
        """Complete the marker's upload, replacing *stale*, unless another job's marker stands.

        The upload is consumed, so a stale driver cannot write its marker over a later job's.
        """
        upload = marker_upload(layout.destination, marker)
        expecting = Expect.ABSENT if stale is None else Token(stale.token)
        if await self._uploads.complete(upload, expecting=expecting, accept_existing=True):
            return True
        # Etags depend on the content only, so a later job's empty marker looks like the stale one.
        if stale is None or stale.size:
            return False
        return isinstance(await self._store.stat(layout.destination.success), Entry)

    async def has_prepared_success(
        self,
        layout: JobLayout,
        claim_nonce: str,  # noqa: ARG002  # the decision names the upload itself
        marker: FileIdentity,
    ) -> bool:
        """Whether the marker's upload is pending."""
        try:
            upload = marker_upload(layout.destination, marker)
        except RecordError:
            return False  # It is a file: another committer has prepared it.
        return await self._uploads.is_pending(upload)

    async def withdraw_success(self, layout: JobLayout, marker: FileIdentity) -> None:
        """Abort the marker's upload."""
        await self._abort_marker(layout, marker_upload(layout.destination, marker))

    async def _abort_marker(self, layout: JobLayout, upload: PendingUpload) -> None:
        await self._uploads.abort_or_leave(upload, deletion.of_own_marker(layout, upload))


async def _record(
    store: ConfirmedStore, layout: JobLayout, path: StorePath, name: str, upload: PendingUpload
) -> None:
    record = UploadRecord(
        nonce=store.ids.nonce(), job_id=layout.job_id, name=name, upload_id=upload.upload_id
    )
    if await establish(store, path, record, within=layout.area) is None:
        raise inactive(layout, "write", doing=_UPLOADING)


async def _check_active(store: ConfirmedStore, layout: JobLayout, stage: Stage) -> None:
    """Raise :class:`JobNotActiveError` if ``job.json`` is gone."""
    if await store.stat(layout.spec) is None:
        raise inactive(layout, stage, doing=_UPLOADING)


async def _pending_files(
    manifests: AsyncIterable[ManifestBytes],
) -> AsyncIterator[Sequence[PendingFile]]:
    async with ending(aiter(manifests)) as each:
        async for manifest in each:
            for batch in in_batches(_decoded(manifest).files):
                yield batch


def _decoded(manifest: ManifestBytes) -> PendingSet:
    return PendingSet.decode(manifest.data, manifest.layout, is_checked=manifest.is_checked)


def _key(upload: PendingUpload) -> tuple[StorePath, str]:
    return upload.path, upload.upload_id
