"""The contract of committers, by which the files of finished attempts become visible.

A committer has a worker side, :class:`AttemptOutput`, which collects files that nobody sees, and
a driver side, :class:`Committer`, which makes the files of chosen manifests visible. Between the
two only bytes are passed, so a commit and its resumption are the same code.
"""

from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fsspec_commit.committers.adopted import AdoptedFile
from fsspec_commit.effects.parallel import Progress
from fsspec_commit.errors import PartialCommitError
from fsspec_commit.layout import AttemptLayout, JobLayout
from fsspec_commit.names import Partition, Target
from fsspec_commit.records.entries import Sized
from fsspec_commit.records.job import CommitterName, FileIdentity
from fsspec_commit.store import DirectWriter, Expectation, Writer


class NewFile(Protocol):
    """One finished file of an attempt."""

    @property
    def target(self) -> Target:
        """Its name at the destination."""

    @property
    def size_bytes(self) -> int:
        """Its size."""


@dataclass(frozen=True, slots=True)
class ManifestBytes:
    """The manifest of one attempt, as bytes that only its committer reads.

    Attributes:
        layout: The attempt's paths.
        data: The record.
        is_checked: Whether this process has checked these bytes before, by their digest.
    """

    layout: AttemptLayout
    data: bytes
    is_checked: bool = False


@dataclass(frozen=True, slots=True)
class AttemptFiles:
    """The files in one manifest, their rows, if known, and whether another program wrote them."""

    files: Sized[NewFile]
    rows: int | None
    adopted: bool = False


class Expectations(Protocol):
    """What must stand at a target for a file to be published there."""

    def __getitem__(self, name: Target, /) -> Expectation:
        """``Expect.ABSENT``, or the token of the old file that is replaced in place."""


Lost = Callable[[Target], None]
"""Called with a file whose source is gone for good, if the operator accepts the loss."""


class FileLostError(PartialCommitError):
    """A file can no longer be published, unless somebody puts back what its task has left."""


def report_lost(name: Target, lost: Lost | None, why: str) -> None:
    """Call *lost* with a file that can never be published.

    Raises:
        FileLostError: The loss is not accepted; *why* is what the message says of the file.
    """
    if lost is None:
        raise FileLostError(f"{name!r} {why}; nothing was deleted", path=name, stage="publish")
    lost(name)


class FileWriter(Writer[NewFile], Protocol):
    """A writer of one file of an attempt, piece by piece or whole."""

    async def store(self, data: bytes) -> NewFile:
        """Write *data*, the whole file, and close it.

        The caller bounds what is on its way: it has reserved room for the bytes.
        """


class AttemptOutput(Protocol):
    """The worker side, for one attempt; nothing it does is visible.

    Writers may be opened, used and finished on any thread; one writer belongs to one thread at a
    time.
    """

    def writer(self, name: Target) -> FileWriter:
        """Write one file on the event loop."""

    def direct_writer(self, name: Target) -> DirectWriter[NewFile] | None:
        """Write one file on the caller's thread; ``None`` if the store cannot."""

    def finished(self) -> Sequence[NewFile]:
        """Every finished file, in the order of their names."""

    async def delete(self, name: Target) -> None:
        """Drop a finished file."""

    async def adopt(self, files: Mapping[Target, AdoptedFile]) -> None:
        """Take finished files of another program as those of this attempt.

        Raises:
            RequestError: A file is not there, or is not as described.
            JobNotActiveError: The job was settled meanwhile.
        """

    async def seal(self, rows: int | None) -> bytes:
        """Fix the set of files, so that late writers cannot change it, and return its manifest."""

    async def is_active(self) -> bool:
        """Whether the job is not over; asked while the manifest is being created.

        An attempt whose sealing has shown that, or whose manifest can only be created in the job's
        area, sends no request.
        """

    async def discard(self) -> None:
        """Remove everything of the attempt."""


class Committer(Protocol):
    """The driver side; everything it does is safe to repeat, by anyone, after any crash."""

    @property
    def name(self) -> CommitterName:
        """Its name in ``job.json``."""

    def attempt(self, layout: AttemptLayout) -> AttemptOutput:
        """The worker side of one attempt."""

    def read(self, manifest: ManifestBytes) -> AttemptFiles:
        """Decode a manifest strictly.

        Raises:
            RecordError: The manifest is torn, hostile or another attempt's.
        """

    async def make_directories(self, directories: Iterable[Partition]) -> None:
        """Make the directories that publishing would find missing, if each miss costs a request.

        Args:
            directories: Those of the files; making these makes all that are needed.
        """

    async def publish(
        self,
        manifests: AsyncIterable[ManifestBytes],
        expected: Expectations,
        *,
        resuming: bool,
        lost: Lost | None,
        progress: Progress | None,
    ) -> int:
        """Make every file visible and return how many are.

        Args:
            manifests: Those of the chosen attempts.
            expected: What must stand at each target.
            resuming: An earlier driver may have published some of them.
            lost: Called with each file that is gone for good, if the job is to go on without it.
            progress: Called with the number of files that have become visible.

        Raises:
            PartialCommitError: A file is neither where the attempt left it nor published, and
                *lost* is ``None``; nothing was deleted.
            StoreError: Something else stands at a target.
        """

    async def prepare_success(
        self, layout: JobLayout, claim_nonce: str, data: bytes
    ) -> FileIdentity:
        """Prepare the marker of one claim, so that publishing it is one-shot like any file's."""

    async def publish_success(
        self,
        layout: JobLayout,
        claim_nonce: str,
        marker: FileIdentity,
        stale: FileIdentity | None,
    ) -> bool:
        """Publish the prepared marker; another job's marker that stands by now is left alone.

        The marker replaces *stale*, which was seen before the decision and could not be removed;
        ``None`` if it was removed, or there was none.

        Returns:
            False if no marker stands and the prepared one is gone: nothing was changed.
        """

    async def has_prepared_success(
        self, layout: JobLayout, claim_nonce: str, marker: FileIdentity
    ) -> bool:
        """Whether the marker that another job has prepared can still be published."""

    async def withdraw_success(self, layout: JobLayout, marker: FileIdentity) -> None:
        """Drop a prepared marker that no decision names, unless it is removed with the area."""
