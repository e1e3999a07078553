"""manifest: an attempt lists its files, which stay where they are; the job renames each of them.

Named after Hadoop's manifest committer (MAPREDUCE-7341), whose task manifests it shares. Unlike
v1's directory rename, it does not take an attempt's files out of the reach of late writers. So the
list has each file's token, the job renames that content and no other, and attempts share no path.
"""

from operator import attrgetter

from fsspec_commit.committers import AttemptOutput, FileWriter
from fsspec_commit.committers.renaming import RenamingCommitter
from fsspec_commit.committers.working_files import WorkingFiles
from fsspec_commit.effects.confirmed.files import ConfirmedFiles
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.void_areas import delete_emptied
from fsspec_commit.errors import CommitFailedError
from fsspec_commit.layout import AttemptLayout
from fsspec_commit.names import Target
from fsspec_commit.records.job import CommitterName


class ManifestAttempt(WorkingFiles):
    """Files in a working directory, each known by its token.

    A request that was given up may be carried out late, and replace what was written under the same
    name since: the token in the manifest would be gone. So a name is not written again after a
    request of its writer was not answered.
    """

    _is_late = False

    def writer(self, name: Target) -> FileWriter:
        """Write one file on the event loop.

        Raises:
            CommitFailedError: A request of an earlier writer of that name was not answered.
        """
        if name in self.unanswered:
            message = (
                f"cannot write {name!r} again: an earlier request to write it was not answered, "
                "and may still be carried out; run the task again"
            )
            raise CommitFailedError(message, path=name, task_id=self._layout.task_id)
        return super().writer(name)

    async def delete(self, name: Target) -> None:
        """Leave a finished file out of the list; it is removed with the job's area.

        It is not deleted: a delete request that was given up may be carried out late, so deleting
        would take a condition, which disks do not support.
        """
        self._finished.pop(name, None)

    async def seal(self, rows: int | None) -> bytes:
        """List the files in a manifest."""
        return self.manifest(rows, directory=self._layout.working_name)

    async def is_active(self) -> bool:
        """Look for ``job.json``: nothing else here says that the area is gone."""
        self._is_late = await self._store.stat(self._layout.job.spec) is None
        return not self._is_late

    async def discard(self) -> None:
        """Remove everything of the attempt, and the directories that it has made too late."""
        await super().discard()
        if self._is_late:
            await delete_emptied(self._store, self._layout.job, self._layout.shared_directories)


class ManifestCommitter(RenamingCommitter):
    """The driver side, which needs renames of files.

    Args:
        store: Holds the manifests.
        files: Renames files.
    """

    name: CommitterName = "manifest"

    def __init__(self, store: ConfirmedStore, files: ConfirmedFiles) -> None:
        super().__init__(store, files, directory=attrgetter("working_name"))

    def attempt(self, layout: AttemptLayout) -> AttemptOutput:
        """The worker side of one attempt."""
        return ManifestAttempt(self._store, layout)
