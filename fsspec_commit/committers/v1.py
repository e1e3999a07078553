"""v1: an attempt commits by one directory rename; the job publishes its files one rename each.

Named after Hadoop's ``FileOutputCommitter`` algorithm 1, whose task commit it shares. Its job
commit does not merge directories: a merge would publish what no manifest names.
"""

from collections.abc import AsyncIterable

from fsspec_commit.committers import (
    AttemptFiles,
    AttemptOutput,
    Expectations,
    Lost,
    ManifestBytes,
)
from fsspec_commit.committers.renaming import (
    prepare_success,
    publish_by_renaming,
    publish_success,
)
from fsspec_commit.committers.working_files import WorkingFiles
from fsspec_commit.effects.parallel import Progress
from fsspec_commit.effects.settled import SettledDirectories, SettledFiles, SettledStore
from fsspec_commit.errors import JobNotActiveError
from fsspec_commit.layout import AttemptLayout, JobLayout
from fsspec_commit.records.job import CommitterName, FileIdentity
from fsspec_commit.records.task_manifest import TaskManifest


class V1Attempt(WorkingFiles):
    """Files in a working directory that one rename puts out of reach of late writers."""

    def __init__(
        self, store: SettledStore, directories: SettledDirectories, layout: AttemptLayout
    ) -> None:
        super().__init__(store, layout)
        self._directories = directories

    async def seal(self, rows: int | None) -> bytes:
        """Rename the working directory to ``committed/``; an attempt without files has none.

        Raises:
            JobNotActiveError: The working directory is gone: the job was settled meanwhile.
        """
        files = self.all()
        if files and not await self._directories.rename(
            self._layout.working_directory,
            self._layout.committed_directory,
            within=self._layout.job.area,
        ):
            job_id, task_id = self._layout.job.job_id, self._layout.task_id
            message = f"task {task_id} cannot commit: the files of job {job_id} are gone"
            raise JobNotActiveError(
                message, job_id=job_id, task_id=task_id, outcome="unknown", stage="seal"
            )
        return TaskManifest(self._layout, self._store.ids.nonce(), files, rows).encode()


class V1Committer:
    """Needs, in types: directory rename for the attempt, file rename for the job."""

    name: CommitterName = "v1"

    def __init__(
        self, store: SettledStore, directories: SettledDirectories, files: SettledFiles
    ) -> None:
        self._store = store
        self._directories = directories
        self._renames = files

    def attempt(self, layout: AttemptLayout) -> AttemptOutput:
        """The worker side of one attempt."""
        return V1Attempt(self._store, self._directories, layout)

    def read(self, manifest: ManifestBytes) -> AttemptFiles:
        """Decode a manifest strictly."""
        decoded = TaskManifest.decode(manifest.data, manifest.layout)
        return AttemptFiles(decoded.files, decoded.rows)

    async def publish(
        self,
        manifests: AsyncIterable[ManifestBytes],
        expected: Expectations,
        *,
        again: bool,  # noqa: ARG002  # the second rename of a source is refused: nothing to verify
        lost: Lost | None,
        progress: Progress | None,
    ) -> int:
        """One exclusive rename a file."""
        return await publish_by_renaming(
            self._store, self._renames, manifests, expected, lost=lost, progress=progress
        )

    async def prepare_success(
        self, layout: JobLayout, claim_nonce: str, data: bytes
    ) -> FileIdentity:
        """Write the marker into the area."""
        return await prepare_success(self._store, layout, claim_nonce, data)

    async def publish_success(
        self,
        layout: JobLayout,
        claim_nonce: str,
        marker: FileIdentity,
        stale: FileIdentity | None,
    ) -> None:
        """Rename the prepared marker into place."""
        await publish_success(self._renames, layout, claim_nonce, marker, stale)

    async def withdraw_success(self, layout: JobLayout, marker: FileIdentity) -> None:
        """It goes with the area."""
