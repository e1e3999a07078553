"""The finished files of an attempt of a rename committer, in its working directory."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fsspec_commit.committers import FileWriter, NewFile
from fsspec_commit.committers.adopted import AdoptedFile, not_adopted
from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.layout import AttemptLayout, StorePath
from fsspec_commit.names import PENDING, Target, is_digested, working_name
from fsspec_commit.records.task_manifest import TaskManifest, WorkingFile
from fsspec_commit.store import DirectWriter, Entry, Writer


class WorkingFiles:
    """The finished files of one attempt, by target, and the writers that make them.

    Attributes:
        unanswered: Names for which a request may still be carried out, since it failed, say.
    """

    def __init__(self, store: ConfirmedStore, layout: AttemptLayout) -> None:
        self._store = store
        self._layout = layout
        self._nonce = store.ids.nonce()
        self._finished: dict[Target, WorkingFile] = {}
        self.unanswered = set[Target]()
        self._has_adopted = False

    def writer(self, name: Target) -> FileWriter:
        """Write one file on the event loop."""
        path = self._layout.working_file(name)
        writer = self._store.writer(path, within=self._area, nonce=self._nonce)
        return _Recording(writer, self._recorder(name), lambda: self.unanswered.add(name))

    def direct_writer(self, name: Target) -> DirectWriter[NewFile] | None:
        """Write one file on the caller's thread; ``None`` if the store cannot."""
        direct = self._store.direct
        if direct is None:
            return None
        writer = direct.writer(self._layout.working_file(name), within=self._area)
        return _RecordingDirectly(writer, self._recorder(name))

    def all(self) -> Sequence[WorkingFile]:
        """Every finished file, by name."""
        return [self._finished[name] for name in sorted(self._finished)]

    def finished(self) -> Sequence[NewFile]:
        """Every finished file, by name."""
        return self.all()

    async def delete(self, name: Target) -> None:
        """Drop a finished file."""
        self._finished.pop(name, None)
        path = self._layout.working_file(name)
        await self._store.delete(path, deletion.of_own_attempt(self._layout))

    async def adopt(self, files: Mapping[Target, AdoptedFile]) -> None:
        """Take *files* of another program, which stand in the working directory.

        Raises:
            RequestError: A file is not there, or is not as long as it should be.
        """
        await self._adopt_from(self._layout.working_directory, files)

    async def discard(self) -> None:
        """Remove everything of the attempt, sealed or not."""
        self._finished.clear()
        permit = deletion.of_own_attempt(self._layout)
        await self._store.delete(self._layout.manifest, permit)
        for tree in permit.trees:
            await self._store.delete_tree(tree, permit)

    def manifest(self, rows: int | None, *, directory: str) -> bytes:
        """The manifest of every finished file, all of which are in *directory*."""
        files = self.all()
        return TaskManifest(
            self._layout,
            self._nonce,
            files,
            rows,
            directory=directory,
            adopted=self._has_adopted,
        ).encode()

    async def _adopt_from(self, directory: StorePath, files: Mapping[Target, AdoptedFile]) -> None:
        """Take *files* from *directory*, with the tokens that the store shows for them.

        There may be 100,000 of them, so nothing else of the listing is kept.
        """
        beginning = f"{directory}/"
        digested = {working_name(name): name for name in files if is_digested(name)}
        if files:
            async for entry in self._store.list_tree(directory):
                working = entry.path.removeprefix(beginning)
                name = digested.get(working, Target(working.removesuffix(PENDING)))
                if name in files and working == working_name(name):
                    name = Target(files[name].name)  # An equal string, in memory already.
                    self._finished[name] = WorkingFile(name, entry.size_bytes, entry.token)
        for name, file in files.items():
            path = f"{beginning}{working_name(name)}"
            found = self._finished.get(name)
            if file.upload_id is not None or file.part_tokens:
                why = "tasks write files here, and upload nothing"
            elif found is None:
                why = f"there is no file {path!r}"
            elif found.size_bytes != file.size_bytes:
                why = f"{path!r} has {found.size_bytes} bytes, and should have {file.size_bytes}"
            else:
                continue
            raise not_adopted(self._layout, file, why)
        self._has_adopted = True

    @property
    def _area(self) -> StorePath:
        return self._layout.job.area

    def _recorder(self, name: Target) -> Callable[[Entry], NewFile]:
        def record(entry: Entry) -> NewFile:
            file = WorkingFile(name, entry.size_bytes, entry.token)
            self._finished[name] = file
            return file

        return record


class _Recording:
    """A writer whose finished file, or failure, is recorded."""

    def __init__(
        self,
        writer: Writer[Entry],
        record: Callable[[Entry], NewFile],
        fail: Callable[[], None],
    ) -> None:
        self._writer = writer
        self._record = record
        self._fail = fail
        self._asking = False

    async def write(self, data: bytes) -> None:
        self._asking = True
        await self._writer.write(data)
        self._asking = False

    async def finish(self) -> NewFile:
        self._asking = True
        entry = await self._writer.finish()
        self._asking = False
        return self._record(entry)

    async def store(self, data: bytes) -> NewFile:
        if data:
            await self.write(data)
        return await self.finish()

    async def discard(self) -> None:
        if self._asking:
            self._fail()
        await self._writer.discard()


class _RecordingDirectly:
    """A direct writer whose finished file is recorded; ``write`` is the store's own."""

    def __init__(self, writer: DirectWriter[Entry], record: Callable[[Entry], NewFile]) -> None:
        self._writer = writer
        self._record = record
        self.write: Callable[[Any], int] = writer.write

    def finish(self) -> NewFile:
        return self._record(self._writer.finish())

    def discard(self) -> None:
        self._writer.discard()
