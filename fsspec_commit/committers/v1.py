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
from fsspec_commit.errors import CommitFailedError, JobNotActiveError
from fsspec_commit.layout import AttemptLayout
from fsspec_commit.names import Target, folded
from fsspec_commit.records.job import CommitterName
from fsspec_commit.store import Entry


class V1Attempt(WorkingFiles):
    """Files in a working directory, which one rename takes out of the reach of late writers.

    A request that was given up may still be carried out before the rename, and replace or delete
    what was written under the same name since. So when none can come any more, such names are
    looked at.
    """

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
        # If it was adopted before, a late writer may have made another working directory since.
        if files and await self._store.stat(layout.committed_directory) is None:
            await self._adopt_directory(next(iter(files.values())))
        await self._adopt_from(layout.committed_directory, files)

    async def delete(self, name: Target) -> None:
        """Drop a finished file."""
        # It may take two requests, and the first may arrive after the name is written again.
        self.unanswered.add(name)
        await super().delete(name)

    async def seal(self, rows: int | None) -> bytes:
        """Rename the working directory to ``committed/``; an attempt without files has none.

        Raises:
            JobNotActiveError: The working directory is gone: the job was settled meanwhile.
            CommitFailedError: A file is not what its last writer has left, because of an earlier
                request for its name.
        """
        if self._finished and not self._has_adopted:
            await self._commit_directory()
            await self._refuse_late()
        return self.manifest(rows, directory=self._layout.committed_name)

    async def is_active(self) -> bool:
        """Ask nothing: the directory was renamed in the area, and the manifest is created there."""
        return True

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

    async def _refuse_late(self) -> None:
        """Refuse to commit if an earlier request for the name of a file was carried out late.

        Once decided, the job could be neither finished nor aborted: what the manifest names would
        be gone. Names count as the same here if a file system that folds names takes them for one.
        """
        unanswered = set(map(folded, self.unanswered))
        if not unanswered:
            return
        files = [file for file in self.all() if folded(file.target) in unanswered]
        paths = self._layout.sealed_files(self._layout.committed_name, [one.name for one in files])
        for file, path in zip(files, paths, strict=True):
            there = await self._store.stat(path)
            if not isinstance(there, Entry) or there.token != file.token:
                task_id = self._layout.task_id
                message = (
                    f"task {task_id} cannot commit: after {file.target!r} was written again, an "
                    "earlier request for that name was carried out; run the task again"
                )
                raise CommitFailedError(message, path=file.target, task_id=task_id)


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
