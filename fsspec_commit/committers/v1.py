"""v1: an attempt commits by one directory rename; the job publishes its files one rename each.

Named after Hadoop's ``FileOutputCommitter`` algorithm 1, whose task commit it shares. Its job
commit does not merge directories: a merge would publish what no manifest names.
"""

from collections.abc import Mapping
from operator import attrgetter

from fsspec_commit.committers import AttemptOutput
from fsspec_commit.committers.adopted import AdoptedFile, not_adopted
from fsspec_commit.committers.renaming import RenamingCommitter
from fsspec_commit.committers.working_files import WorkingFiles
from fsspec_commit.effects.confirmed.directories import ConfirmedDirectories
from fsspec_commit.effects.confirmed.files import ConfirmedFiles
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.stored_records import inactive
from fsspec_commit.errors import JobNotActiveError
from fsspec_commit.layout import AttemptLayout
from fsspec_commit.names import Target
from fsspec_commit.records.job import CommitterName


class V1Attempt(WorkingFiles):
    """Files in a working directory, which one rename takes out of the reach of late writers."""

    def __init__(
        self, store: ConfirmedStore, directories: ConfirmedDirectories, layout: AttemptLayout
    ) -> None:
        super().__init__(store, layout)
        self._directories = directories

    async def adopt(self, files: Mapping[Target, AdoptedFile]) -> None:
        """Take *files* of another program out of the reach of late writers, then list them.

        Raises:
            RequestError: A file is not there, or is not as long as it should be.
            JobNotActiveError: The working directory is gone: the job was settled meanwhile.
        """
        layout = self._layout
        # It may have been adopted before; whatever a late writer has put in its place since.
        if files and await self._store.stat(layout.committed_directory) is None:
            await self._adopt_directory(next(iter(files.values())))
        await self._adopt_from(layout.committed_directory, files)

    async def seal(self, rows: int | None) -> bytes:
        """Rename the working directory to ``committed/``; an attempt without files has none.

        Raises:
            JobNotActiveError: The working directory is gone: the job was settled meanwhile.
        """
        if self._finished and not self._has_adopted:
            await self._commit_directory()
        return self.manifest(rows, directory=self._layout.committed_name)

    async def _adopt_directory(self, file: AdoptedFile) -> None:
        if await self._rename_directory():
            return
        if await self._store.stat(self._layout.job.spec) is None:
            raise inactive(self._layout.job, "commit_task", task_id=self._layout.task_id)
        why = f"there is no directory {self._layout.working_directory!r}"
        raise not_adopted(self._layout, file, why)

    async def _rename_directory(self) -> bool:
        return await self._directories.rename(
            self._layout.working_directory,
            self._layout.committed_directory,
            within=self._layout.job.area,
        )

    async def _commit_directory(self) -> None:
        if not await self._rename_directory():
            job_id, task_id = self._layout.job.job_id, self._layout.task_id
            message = f"task {task_id} cannot commit: the files of job {job_id} are gone"
            raise JobNotActiveError(
                message, job_id=job_id, task_id=task_id, outcome="unknown", stage="commit_task"
            )


class V1Committer(RenamingCommitter):
    """The driver side, which needs renames of directories for attempts and of files for jobs."""

    name: CommitterName = "v1"

    def __init__(
        self, store: ConfirmedStore, directories: ConfirmedDirectories, files: ConfirmedFiles
    ) -> None:
        super().__init__(store, files, directory=attrgetter("committed_name"))
        self._directories = directories

    def attempt(self, layout: AttemptLayout) -> AttemptOutput:
        """The worker side of one attempt."""
        return V1Attempt(self._store, self._directories, layout)
