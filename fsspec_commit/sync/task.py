"""Worker side, synchronous: one attempt at one part of a job's work."""

from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal, Self

from fsspec_commit.committers.write_behind import DroppedError
from fsspec_commit.errors import CommitError, StoreError
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.names import ROOT_PARTITION, Target, partition_of
from fsspec_commit.protocol.attempt import commit_attempt, may_discard
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.driver import NotThereYetError
from fsspec_commit.protocol.manifests import outside_partition
from fsspec_commit.records.job import TaskCommit
from fsspec_commit.spec import JobSpec, check_spec, check_task_id, not_from_here, open_spec
from fsspec_commit.sync import bridge
from fsspec_commit.sync.attempt_file import AttemptFile, check_mode, given_name
from fsspec_commit.sync.attempt_mistakes import check_bound, explain_failure, repeats_destination
from fsspec_commit.sync.attempt_names import AttemptNames
from fsspec_commit.sync.attempt_state import AttemptState
from fsspec_commit.sync.closed_files import ClosedFiles
from fsspec_commit.sync.forks import tell_after_fork
from fsspec_commit.sync.layered_file import LayeredFile, Layers
from fsspec_commit.sync.local_file import LocalFile
from fsspec_commit.sync.open_files import OpenFiles

if TYPE_CHECKING:
    import os

    from fsspec import AbstractFileSystem

    from fsspec_commit.sync.filesystem import AttemptFileSystem
    from fsspec_commit.sync.task_owner import TaskOwner


class Task:
    """One attempt at one part of a job's work: open files, write them, commit.

    Nothing is visible before the *job* commits with this attempt's :attr:`message`. Use it as a
    context manager: leaving the block commits; an exception drops the attempt and propagates. Get
    one from :meth:`Job.task <fsspec_commit.Job.task>` in the driver, and from :meth:`from_spec`
    elsewhere.

    Files may be opened and closed on any thread; one file belongs to one thread at a time.

    Attributes:
        task_id: The number of the part.
        attempt_id: The id of the attempt, which is never used again.
    """

    def __init__(
        self,
        job: BoundJob,
        task_id: int,
        *,
        owner: "TaskOwner | None" = None,
        write_behind: bool = True,
    ) -> None:
        check_bound(job)
        self.task_id = task_id
        self.attempt_id: str = job.store.ids.attempt_id()
        self._job = job
        self._owner = owner
        self._layout = job.layout.attempt(task_id, self.attempt_id)
        another = "Task.from_spec()" if owner is None else "job.task()"
        self._state = AttemptState(job, task_id, another=another)
        self._names = AttemptNames(task_id)
        self._files = OpenFiles()
        aborting = None if owner is None else owner.aborting
        self._explain = partial(
            bridge.blocking(explain_failure), job=job, task_id=task_id, aborting=aborting
        )
        self._closed = ClosedFiles(
            job.committer.attempt(self._layout),
            job.store.budget if write_behind else None,
            self._names,
            self._explain,
        )
        # Not a method: it is called even for a task that nobody references any more.
        self.stop_writing = self._closed.stop
        self._is_told = False  # A name that is hardly meant is warned of once.
        self._rows: int | None = None
        self._filesystem: AttemptFileSystem | None = None
        tell_after_fork(self)

    @classmethod
    def from_spec(
        cls,
        spec: JobSpec,
        task_id: int,
        *,
        storage_options: Mapping[str, object] | None = None,
        filesystem: "AbstractFileSystem | None" = None,
    ) -> Self:
        """Begin an attempt, in any process on any host; a task may be attempted repeatedly.

        Args:
            spec: The job's spec, as the driver sent it.
            task_id: The number of the part of the work.
            storage_options: fsspec's options for this worker, such as its credentials.
            filesystem: An fsspec filesystem, instead of *storage_options*.
        """
        check_spec(spec)
        check_task_id(task_id, spec.record)
        destination = bridge.run(
            open_spec(spec, storage_options=storage_options, filesystem=filesystem, ids=SYSTEM_IDS)
        )
        return cls(destination.bind(spec.record), task_id, write_behind=spec.write_behind)

    @property
    def message(self) -> TaskCommit:
        """The message for the driver; known once the task has committed, at the end of its block.

        Raises:
            RuntimeError: The task has not committed.
        """
        return self._state.message

    @property
    def filesystem(self) -> "AttemptFileSystem":
        """An fsspec filesystem for libraries to write to; paths are relative to the destination."""
        self._state.check("give a filesystem", NotThereYetError)
        if self._filesystem is None:
            from fsspec_commit.sync.filesystem import (  # noqa: PLC0415  # fsspec is slow to load
                AttemptFileSystem,
            )

            self._filesystem = AttemptFileSystem(
                self.attempt_id,
                open_file=self.open,
                sizes=self._closed.sizes,
                names=self._names,
                remove=self._remove,
            )
        return self._filesystem

    def url(self, path: str = "") -> str:
        """*path* as a URL, for a library that takes URLs of filesystems registered with it.

        DuckDB does, after ``connection.register_filesystem(task.filesystem)``. polars does not, and
        may take the URL for the name of a local directory: give it what :meth:`open` returns.
        """
        # From a bare "scheme://" DuckDB strips the slashes, and takes the rest for a local path.
        return f"commit-{self.attempt_id}://{path or '.'}"

    def open(
        self,
        path: "str | os.PathLike[str]",
        mode: Literal["wb", "w", "xb", "x", "wt", "xt"] = "wb",
        *,
        encoding: str | None = None,
        newline: str | None = None,
        compression: str | None = None,
    ) -> IO[Any]:
        """Open a new file of this attempt.

        An exception inside ``with task.open(...)`` discards the file, and so does garbage
        collection. Opening the name of a closed file again replaces that file: from then on, until
        the name is written whole or removed, the task does not commit.

        Args:
            path: Its name relative to the destination; directories are made as needed.
            mode: Binary or text; a file can only be written from its beginning.
            encoding: The encoding of text; UTF-8 by default.
            newline: The line ends of text, as for the built-in ``open``.
            compression: ``"gzip"``, ``"zstd"``, ``"lz4"`` or another that fsspec knows, or
                ``"infer"``: by the name's extension.

        Raises:
            RequestError: The name leaves the destination, is reserved, too long, or still open;
                or the encoding, line end or compression is unknown.
            io.UnsupportedOperation: The mode would read the file or append to it.
            CommitFailedError: A file that was closed before could not be stored; raised once.
            JobNotActiveError: The job was settled meanwhile.
        """
        self._state.check("open a file")
        name = given_name(path)
        check_mode(mode, name)
        self._closed.raise_failure()
        layers = Layers(name, mode, encoding, newline, compression)
        file = self._open_binary(name, exclusive="x" in mode)
        if layers.is_bare:
            return file  # type: ignore[return-value]  # a BufferedIOBase is an IO[bytes]
        return LayeredFile(file, layers)  # type: ignore[return-value]  # has what a file has

    def local_file(self, path: "str | os.PathLike[str]") -> LocalFile:
        """Give a path on a local disk to a writer that seeks: HDF5, GDAL, SQLite, Zarr.

        At the end of ``with task.local_file("a.h5") as local:`` the file at ``local`` becomes the
        file *path* of this attempt; after an exception it does not. If a directory was made there,
        all files in it become files of the attempt, with ``names="exact"`` only.

        Args:
            path: The name of the file, relative to the destination.

        Raises:
            RequestError: The name is refused, as by :meth:`open`; or nothing was written, or more
                than this file.
        """
        self._state.check("write a local file")
        return LocalFile(
            given_name(path),
            open_file=self.open,
            names=self._names,
            remove=self._remove,
            keeps_names=self._job.record.names == "exact",
        )

    def commit(self) -> TaskCommit:
        """Seal what the attempt produced; nothing becomes visible.

        Returns:
            The message for ``job.commit(messages)``; the attempt counts once the driver has it.

        Raises:
            RequestError: A file is still open, or one was opened and not finished.
            JobNotActiveError: The job was settled while the task ran.
            CommitFailedError: The commit did not happen; run the task again. If a closed file could
                not be stored, ``path`` names it, and it may be written again or removed.
        """
        if self._state.now != "committed":
            self._refuse_commit()
            self._closed.wait()
            bridge.run(self._commit())
        return self._tell_committed()

    def abort(self) -> None:
        """Drop the attempt and what it wrote, and leave the task out of the job.

        Beside a :meth:`commit` in another thread it waits for the end of that, which takes as long
        as the store does, and then drops the attempt if the commit has failed.

        Raises:
            RuntimeError: The attempt has committed: the driver chooses now whether it counts.
        """
        if not self._drop():
            message = (
                f"task {self.task_id} has committed; leave its message out of job.commit() instead"
            )
            raise RuntimeError(message)
        if self._owner is not None:
            self._owner.task_left_out(self)

    def __enter__(self) -> Self:
        self._state.check("enter")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._state.now == "aborted" or self._state.is_elsewhere:
            return
        if error is None:
            try:
                self.commit()
            except BaseException as failure:
                self._fail(failure)
                raise
        else:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Drop the attempt, unless it is committed: then its message may be on its way already."""
        try:
            if not self._drop(error):
                self._tell_committed()
        except (CommitError, OSError) as failure:
            error.add_note(f"what task {self.task_id} wrote could not be removed: {failure}")

    def _drop(self, error: BaseException | None = None) -> bool:
        """Drop the attempt, because of *error* if it has failed, unless it is committed.

        Returns:
            Whether it is dropped, and not committed.
        """
        if self._state.now in {"aborted", "committed"}:
            return self._state.now == "aborted"
        self._state.check_process()
        before = bridge.run(self._state.give_up(self._closed.take_no_more))
        if before in {"aborted", "committed"}:
            return before == "aborted"
        if self._owner is not None and error is not None:
            self._owner.task_failed(self, error)
        for file in self._files.living():
            file.discard()
        self._files.discard_left()
        bridge.run(self._discard(may_be_chosen=before == "committing"))
        if self._owner is not None:
            self._owner.task_dropped(self)
        return True

    def _tell_committed(self) -> TaskCommit:
        """Tell the job, again if that is done: an interrupt may have kept it from hearing of it."""
        message = self.message
        if self._owner is not None:
            self._owner.task_committed(self, message)
        return message

    async def _commit(self) -> None:
        await self._state.commit(self._names.refuse_unfinished, self._seal)

    async def _seal(self) -> TaskCommit:
        message = await commit_attempt(
            self._layout,
            self._closed.output,
            self._job.store,
            rows=self._rows,
            collect=self._job.record.collect,
            kept=None if self._owner is None else self._job.own_manifests,
            choosing=partial(setattr, self._state, "now", "committing"),
        )
        await self._let_go()
        return message

    async def _discard(self, *, may_be_chosen: bool) -> None:
        try:
            if not may_be_chosen or await may_discard(self._layout, self._job.store):
                await self._closed.output.discard()
        finally:
            await self._let_go()

    async def _let_go(self) -> None:
        """Close the store, unless it is the job's: a worker may run many tasks in turn."""
        if self._owner is None:
            await self._job.store.close()

    def _open_binary(self, name: Target, *, exclusive: bool) -> AttemptFile:
        final = self._final_name(name)
        self._is_told = self._is_told or repeats_destination(name, self._job.record)
        self._files.discard_left()
        self._names.begin(name, partial(self._state.check, "open a file"), exclusive=exclusive)
        try:
            sink = self._closed.sink(final)
        except BaseException as error:
            self._names.discard(name)
            if isinstance(error, StoreError | DroppedError):
                self._explain(error, name)
            raise
        file = AttemptFile(
            name, sink, names=self._names, leave=self._files.leave, explain=self._explain
        )
        self._files.add(file)
        return file

    def job_aborted(self) -> None:
        """Discard abandoned files and those this thread has open; a later commit will raise."""
        self._state.is_job_aborted = True
        self._files.discard_own()
        self._files.discard_left()

    def _final_name(self, name: Target) -> Target:
        record = self._job.record
        if record.mode == "overwrite_partitions" and partition_of(name) == ROOT_PARTITION:
            raise outside_partition(record.destination, name)
        return self._job.final_name(name, self._layout)

    def _remove(self, name: Target) -> None:
        self._state.check("remove a file")
        self._files.discard_left()
        with self._names.removing(name, partial(self._state.check, "remove a file")):
            try:
                bridge.run(self._closed.output.delete(self._final_name(name)))
            except CommitError:
                # The file is in no list any more; its remains are removed with the attempt.
                self._names.forget(name)
                raise
            self._names.forget(name)

    def _refuse_commit(self) -> None:
        """Refuse to commit an attempt that is over, or of which a part may be missing."""
        self._state.check("commit")
        self._names.refuse_unfinished()

    def leave_to_parent(self) -> None:
        """Take part in nothing more: in a forked child, the attempt belongs to the parent."""
        self._names.leave_to_parent()
        for file in self._files.living():
            file.leave_to_parent()

    def __reduce__(self) -> Any:
        raise TypeError(not_from_here("a task"))

    def __repr__(self) -> str:
        return (
            f"<Task {self.task_id} attempt {self.attempt_id} of job {self._job.record.job_id}: "
            f"{self._state.now}>"
        )


def count_rows(task: Task, rows: int) -> None:
    """Set how many rows the files of *task* hold; for engines, which know it."""
    task._rows = rows  # noqa: SLF001  # not for callers, who could say anything
