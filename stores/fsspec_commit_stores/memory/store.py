"""fsspec's process-wide memory filesystem as a store: what is written here, fsspec reads.

Every verb runs inline under one lock, so each is atomic for everybody who comes through this
adapter. Programs that use ``fsspec.filesystem("memory")`` beside it take no lock: they see every
change, and at worst a renamed directory under both its names for a moment.

A directory *exists* when fsspec lists it in ``pseudo_dirs`` or any file lies below it, which is
also what ``fsspec.filesystem("memory").isdir`` answers. Directories that this adapter makes are
listed, so that they outlive their last file, as on a disk, until a tree is deleted or renamed.
"""

from collections.abc import AsyncIterator
from typing import Self

from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

from fsspec_commit.errors import RequestError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import (
    AtomicRename,
    Capabilities,
    Content,
    Directory,
    Entry,
    Expectation,
    ListsAtOnce,
    OpenOptions,
    RenamesDirectories,
    RenamesFiles,
    Store,
    Token,
    Unusable,
    Writer,
    WritesDirectly,
)
from fsspec_commit_stores.memory import tree
from fsspec_commit_stores.memory.renaming import Renames
from fsspec_commit_stores.memory.writing import Direct, LoopWriter, MemoryWriter

CAPABILITIES = Capabilities(
    atomic_rename=AtomicRename.DIRECTORY,
    exclusive_rename=True,
    consistent_listing=True,
    paged_listing=False,
    multipart=False,
    exclusive_create=True,
    replace_if_match=True,
    delete_if_match=True,
    whole_object_publish=True,
    token_survives_rename=True,
    unique_tokens=True,
)


class MemoryStore:
    """One destination in fsspec's memory filesystem."""

    capabilities = CAPABILITIES
    in_flight_max = unverified_endpoint = bulk = bulk_deletion = in_order = None
    directory_creation = empty_directories = uploads = None

    def __init__(self, root: StorePath) -> None:
        self.root = root
        self.files: RenamesFiles | None = Renames()
        self.directories: RenamesDirectories | None = Renames()
        self.direct: WritesDirectly | None = Direct()

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        """Open ``memory://…``; nothing is made before something is written.

        Raises:
            RequestError: The URL is not one plain path, or asks for a filesystem of its own, which
                the job's workers and readers would not share.
        """
        if not options.storage_options.get("global_store", True):
            message = f"cannot open {url!r}: global_store=False is seen by one instance only"
            raise RequestError(message, kind="invalid_option", path=url)
        root = url.removeprefix("memory://").strip("/")
        if any(name in {"", ".", ".."} for name in root.split("/")) and root:
            message = f"cannot open {url!r}: empty, '.' and '..' components name nothing here"
            raise RequestError(message, kind="invalid_url", path=url)
        return cls(StorePath(f"/{root}" if root else ""))

    async def stat(self, path: StorePath) -> Entry | Directory | None:
        """What stands at *path*."""
        with tree.LOCK:
            file = tree.files().get(path)
            if file is not None:
                return tree.entry_of(path, file)
            return Directory(path) if tree.is_directory(path) else None

    async def read(self, path: StorePath, *, limit_bytes: int) -> Content | None:
        """The whole file at *path*, if there is one."""
        with tree.LOCK:
            file = tree.files().get(path)
            if file is None:
                return None
            entry = tree.entry_of(path, file)
            if entry.size_bytes > limit_bytes:
                raise tree.refused(
                    f"{path!r} has {entry.size_bytes} bytes, over {limit_bytes}", path
                )
            return Content(entry, bytes(file.getbuffer()))

    async def read_range(self, path: StorePath, *, start: int, length: int) -> bytes | None:
        """At most *length* bytes from *start*; ``None`` when there is no such file."""
        with tree.LOCK:
            file = tree.files().get(path)
            return None if file is None else bytes(file.getbuffer()[start : start + length])

    async def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        """Every file below the directory *path*, as they stood at one moment."""
        with tree.LOCK:
            entries = [tree.entry_of(name, file) for name, file in tree.below(path, without)]
        for entry in entries:
            yield entry

    @property
    def at_once(self) -> ListsAtOnce:
        """This store itself: its listings are of one moment."""
        return self

    async def list_at_once(self, path: StorePath) -> list[Entry | Directory | Unusable]:
        """What stands directly in the directory *path*, as it stood at one moment."""
        return [child async for child in self.list_children(path)]

    async def list_children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        """What stands directly in the directory *path*, as it stood at one moment."""
        beginning = f"{path}/"
        children: dict[str, Entry | Directory] = {}
        with tree.LOCK:
            for name, file in tree.below(path):
                child, slash, _ = name[len(beginning) :].partition("/")
                if not slash:
                    children[child] = tree.entry_of(name, file)
                elif child not in children:
                    children[child] = Directory(StorePath(beginning + child))
            for listed in tree.directories_at(path):
                if listed != path:
                    child = listed[len(beginning) :].partition("/")[0]
                    children.setdefault(child, Directory(StorePath(beginning + child)))
        for entry in children.values():
            yield entry

    def writer(
        self,
        path: StorePath,
        *,
        within: StorePath,
        nonce: Nonce | None = None,  # noqa: ARG002  # the token survives a rename
    ) -> Writer[Entry]:
        """Write the file *path*, which appears when it is finished."""
        return LoopWriter(MemoryWriter(path, within))

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None = None,  # noqa: ARG002  # no metadata to keep it in, as on disks
    ) -> Token:
        """Write a small file whole, atomically on condition of *expecting*."""
        file = MemoryFile(MemoryFileSystem(), path, bytes(data))
        with tree.LOCK:
            tree.check(path, expecting)
            tree.make_way(path, within)
            tree.place(path, file, expecting)
            return tree.token_of(file)

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        """Delete one file, atomically on condition of *expecting*."""
        with tree.LOCK:
            tree.check(path, expecting)
            if path not in tree.files() and path in tree.directories():
                raise tree.refused(f"{path!r} is a directory", path)
            tree.files().pop(path, None)

    async def delete_tree(self, path: StorePath) -> None:
        """Delete a directory and all below it; a missing one counts as deleted."""
        with tree.LOCK:
            if path in tree.files():
                raise tree.refused(f"{path!r} is a file, not a directory", path)
            for name, _ in list(tree.below(path)):
                tree.files().pop(name, None)
            tree.remove_directories(
                filter(None, tree.directories_at(path))
            )  # fsspec keeps its own root

    def go_by(self, facts: Capabilities) -> None:
        """Do nothing: tokens have one form."""

    async def close(self) -> None:
        """Do nothing: nothing was opened."""


_store: type[Store] = MemoryStore
