"""What an attempt of a rename committer has finished: files in its working directory."""

from collections.abc import Callable, Sequence
from typing import Any

from fsspec_commit.committers import NewFile
from fsspec_commit.effects import deletion
from fsspec_commit.effects.settled import SettledStore
from fsspec_commit.layout import AttemptLayout, StorePath
from fsspec_commit.names import Target, working_name
from fsspec_commit.records.task_manifest import WorkingFile
from fsspec_commit.store import DirectWriter, Entry, Writer


class WorkingFiles:
    """The finished files of one attempt, by target, and the writers that make them."""

    def __init__(self, store: SettledStore, layout: AttemptLayout) -> None:
        self._store = store
        self._layout = layout
        self._finished: dict[Target, WorkingFile] = {}

    def writer(self, name: Target) -> Writer[NewFile]:
        """Write one file through the loop."""
        path = self._layout.working_file(name)
        return _Recording(self._store.writer(path, within=self._area), self._recorder(name))

    def direct_writer(self, name: Target) -> DirectWriter[NewFile] | None:
        """Write one file on the caller's thread; ``None`` where the store cannot."""
        direct = self._store.direct
        if direct is None:
            return None
        writer = direct.writer(self._layout.working_file(name), within=self._area)
        return _RecordingDirectly(writer, self._recorder(name))

    def all(self) -> Sequence[WorkingFile]:
        """Every finished file, by name."""
        return [file for _, file in sorted(self._finished.items())]

    def finished(self) -> Sequence[NewFile]:
        """Every finished file, by name."""
        return self.all()

    async def delete(self, name: Target) -> None:
        """Drop a finished file."""
        self._finished.pop(name, None)
        path = self._layout.working_file(name)
        await self._store.delete(path, deletion.of_own_attempt(self._layout))

    async def discard(self) -> None:
        """Leave nothing of the attempt: all its trees, whether sealed or not."""
        self._finished.clear()
        permit = deletion.of_own_attempt(self._layout)
        await self._store.delete(self._layout.manifest, permit)
        for tree in permit.trees:
            await self._store.delete_tree(tree, permit)

    @property
    def _area(self) -> StorePath:
        return self._layout.job.area

    def _recorder(self, name: Target) -> Callable[[Entry], NewFile]:
        def record(entry: Entry) -> NewFile:
            file = WorkingFile(name, working_name(name), entry.size_bytes, entry.token)
            self._finished[name] = file
            return file

        return record


class _Recording:
    """A writer whose finished file is recorded."""

    def __init__(self, writer: Writer[Entry], record: Callable[[Entry], NewFile]) -> None:
        self._writer = writer
        self._record = record

    async def write(self, data: bytes) -> None:
        await self._writer.write(data)

    async def finish(self) -> NewFile:
        return self._record(await self._writer.finish())

    async def discard(self) -> None:
        await self._writer.discard()


class _RecordingDirectly:
    """The same on the caller's thread; bytes go straight to the store's own ``write``."""

    def __init__(self, writer: DirectWriter[Entry], record: Callable[[Entry], NewFile]) -> None:
        self._writer = writer
        self._record = record
        self.write: Callable[[Any], int] = writer.write

    def finish(self) -> NewFile:
        return self._record(self._writer.finish())

    def discard(self) -> None:
        self._writer.discard()
