"""Publishing from manifests, by one rename per file: what the rename committers share."""

import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from itertools import repeat, takewhile
from typing import NamedTuple

from fsspec_commit.committers import (
    AttemptFiles,
    Expectations,
    Lost,
    ManifestBytes,
    report_lost,
)
from fsspec_commit.effects.confirmed.files import Carried, ConfirmedFiles
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.ending import ending
from fsspec_commit.effects.parallel import Progress, for_each
from fsspec_commit.errors import CommitStateUnknownError
from fsspec_commit.ids import NONCE, Nonce
from fsspec_commit.layout import AttemptLayout, DestinationLayout, JobLayout, StorePath
from fsspec_commit.names import Partition
from fsspec_commit.records.entries import in_batches
from fsspec_commit.records.job import FileIdentity
from fsspec_commit.records.task_manifest import TaskManifest, WorkingFile
from fsspec_commit.store import Entry, Expect, Token

_NAMES_MAX = 8
"""The most names that are tried to prepare a marker."""
_NAMED = re.compile(rf"({NONCE.pattern})/(.*)", re.DOTALL)
"""A prepared marker's token, preceded by the nonce in its name if that is not the claim's."""


class Sealed(NamedTuple):
    """A file of a committed attempt, with its source and its target."""

    source: StorePath
    target: StorePath
    file: WorkingFile
    nonce: Nonce | None

    @property
    def carried(self) -> Carried:
        """What identifies it at its target, whatever its token is there."""
        return Carried(self.nonce, self.file.size_bytes)

    @property
    def why_lost(self) -> str:
        """What an error says of it if it can no longer be published."""
        return (
            f"is not in place, and not at {self.source!r} either as its task wrote it: somebody "
            "else removed or changed it"
        )


class RenamingCommitter:
    """The driver side of a rename committer.

    Args:
        store: Holds the manifests.
        files: Renames files.
        directory: The directory of a committed attempt's files, relative to the job's area.
    """

    def __init__(
        self,
        store: ConfirmedStore,
        files: ConfirmedFiles,
        *,
        directory: Callable[[AttemptLayout], str],
    ) -> None:
        self._store = store
        self._renames = files
        self._directory = directory

    def read(self, manifest: ManifestBytes) -> AttemptFiles:
        """Decode a manifest strictly."""
        decoded = self._decoded(manifest)
        return AttemptFiles(decoded.files, decoded.rows, decoded.adopted)

    async def make_directories(self, directories: Iterable[Partition]) -> None:
        """Make every directory that files need, if a rename into a missing one costs a request.

        Elsewhere the renames make missing directories, so a job pays for new ones only.
        """
        making, layout = self._store.directory_creation, DestinationLayout(self._store.root)
        if making is None:
            return

        async def make(directory: Partition) -> None:
            await making.make(layout.directory(directory), within=layout.root)

        await for_each(directories, make, in_flight_max=self._store.in_flight_max)

    async def publish(
        self,
        manifests: AsyncIterable[ManifestBytes],
        expected: Expectations,
        *,
        resuming: bool,  # noqa: ARG002  # a source is renamed once only: nothing to verify
        lost: Lost | None,
        progress: Progress | None,
    ) -> int:
        """Rename every file of the manifests from where its attempt left it to its target.

        A rename consumes its source, so repeating all of it publishes what is missing and nothing
        else: source gone and target as expected is done (HADOOP-18163). The source's token is
        pinned, so what a late writer leaves there is never published.
        """
        layout = DestinationLayout(self._store.root)
        done = 0

        def count(files: int) -> None:
            nonlocal done
            done += files
            if progress is not None:
                progress(files)

        async def publish_together(files: Sequence[Sealed]) -> int:
            there = [expected[sealed.file.target] for sealed in files]
            new = takewhile(lambda one: one[1] is Expect.ABSENT, zip(files, there, strict=True))
            pairs = [(sealed.source, sealed.target) for sealed, _ in new]
            smooth = await self._renames.rename_in_bulk(pairs, within=layout.root)
            count(smooth)
            return smooth

        async def publish(files: Sequence[Sealed]) -> None:
            smooth = await publish_together(files) if self._renames.bulk_max > 1 else 0
            for sealed in files[smooth:]:
                arrived = await self._renames.rename(
                    sealed.source,
                    sealed.target,
                    token=Token(sealed.file.token),
                    carried=sealed.carried,
                    expecting=expected[sealed.file.target],
                    within=layout.root,
                )
                if not arrived:
                    report_lost(sealed.file.target, lost, sealed.why_lost)
                count(1)

        sealed = self._sealed(manifests, layout, self._renames.bulk_max)
        await for_each(sealed, publish, in_flight_max=self._store.in_flight_max)
        return done

    async def prepare_success(
        self, layout: JobLayout, claim_nonce: str, data: bytes
    ) -> FileIdentity:
        """Write the marker to the area, whole and flushed.

        A request that was not answered may be carried out after the marker has been published, and
        then whoever finishes the job late would publish a second one, over a later job's files. So
        no name is written again: the marker gets another name, which the decision records.
        """
        nonce = claim_nonce
        for failed in range(_NAMES_MAX):
            path = layout.prepared_success(nonce)
            try:
                entry = await self._store.create_once(
                    path, data, within=layout.area, backoff=failed
                )
            except CommitStateUnknownError:
                if failed + 1 == _NAMES_MAX:
                    raise
                nonce = self._store.ids.nonce()
            else:
                break
        named = "" if nonce == claim_nonce else f"{nonce}/"
        return FileIdentity(size=entry.size_bytes, token=f"{named}{entry.token}")

    async def publish_success(
        self,
        layout: JobLayout,
        claim_nonce: str,
        marker: FileIdentity,
        stale: FileIdentity | None,
    ) -> bool:
        """Rename the prepared marker into place, over *stale* only; another job's marker stays.

        The source is consumed, so a stale driver cannot write its marker over a later job's. The
        source is identified by its name, which is written once only: its token may have changed
        with its metadata.
        """
        nonce, prepared_token = _prepared_as(marker, claim_nonce)
        prepared = layout.prepared_success(nonce)

        async def publish(token: str) -> bool:
            return await self._renames.rename(
                prepared,
                layout.destination.success,
                token=Token(token),
                expecting=Expect.ABSENT if stale is None else Token(stale.token),
                within=layout.destination.root,
                accept_existing=True,
            )

        if await publish(prepared_token):
            return True
        there = await self._store.stat(prepared)
        if not isinstance(there, Entry) or there.size_bytes != marker.size:
            return False
        # If its token is unchanged, another job's marker stands in the way, and would again.
        return there.token != prepared_token and await publish(there.token)

    async def has_prepared_success(
        self, layout: JobLayout, claim_nonce: str, marker: FileIdentity
    ) -> bool:
        """Whether the prepared marker is there, by its name and size."""
        nonce, _ = _prepared_as(marker, claim_nonce)
        there = await self._store.stat(layout.prepared_success(nonce))
        return isinstance(there, Entry) and there.size_bytes == marker.size

    async def withdraw_success(self, layout: JobLayout, marker: FileIdentity) -> None:
        """Do nothing: the marker is removed with the area."""

    def _decoded(self, manifest: ManifestBytes) -> TaskManifest:
        layout = manifest.layout
        return TaskManifest.decode(
            manifest.data,
            layout,
            directory=self._directory(layout),
            is_checked=manifest.is_checked,
        )

    async def _sealed(
        self, manifests: AsyncIterable[ManifestBytes], layout: DestinationLayout, together: int
    ) -> AsyncIterator[list[list[Sealed]]]:
        """The files of every manifest, in batches of at most *together*."""
        async with ending(aiter(manifests)) as each:
            async for manifest in each:
                decoded = self._decoded(manifest)
                nonces = repeat(None if decoded.adopted else decoded.nonce)
                for batch in in_batches(decoded.files):
                    targets = layout.finals(file.target for file in batch)
                    files = list(map(Sealed, decoded.sources(batch), targets, batch, nonces))
                    starts = range(0, len(files), together)
                    yield [files[start : start + together] for start in starts]


def _prepared_as(marker: FileIdentity, claim_nonce: str) -> tuple[str, str]:
    """The nonce in the name of a prepared marker, and the token that it had when prepared."""
    named = _NAMED.fullmatch(marker.token)
    return (named[1], named[2]) if named else (claim_nonce, marker.token)
