"""Where a store is certified: a fresh directory below a URL, and nothing outside it.

The contracts' tests get their destinations here. What they read and write past the adapter goes
through plain fsspec, except for names that fsspec's clients misread. At the end all of it is
removed, including uploads that nobody completed.
"""

import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING, TypeVar

import fsspec_commit as fc
from fsspec_commit.effects.confirm import ask
from fsspec_commit.effects.pacing import Pace
from fsspec_commit.errors import RequestError
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.location import Location, locate
from fsspec_commit.names import Target
from fsspec_commit.selection import Request
from fsspec_commit.store import (
    AtomicRename,
    Capabilities,
    CompletesUploads,
    Directory,
    Entry,
    Expect,
    OpenOptions,
    RemovesEmptyDirectories,
    RenamesDirectories,
    RenamesFiles,
    Store,
)
from fsspec_commit.store.registry import open_store, protocol_of, wrapping
from fsspec_commit.sync.bridge import blocking
from fsspec_commit.testing.assertions import plain_filesystem
from fsspec_commit.testing.wrapped import WrappedStore

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

T = TypeVar("T")

GROUND_GIVEN = "fsspec-commit-ground"
"""The name of a plugin of pytest whose ``ground`` the tests use, where a program laid it out."""

_RAW_MAX = 1 << 26
_GROUND = re.compile(r"fsspec-commit-certify-[0-9a-f]{16}")
# Some of fsspec's clients take these for patterns, versions and parts of URLs, or leave them out.
_MISREAD = re.compile(r"[*?\[#;\t\n\r]")
# There fsspec's rmdir removes a directory; elsewhere it might remove the bucket around it.
_REMOVES_DIRECTORIES = frozenset({"file", "local", "hdfs", "webhdfs"})


@dataclass(frozen=True, kw_only=True)
class ProvingGround:
    """A fresh directory, the facts that were found there, and what is needed to look into it.

    Attributes:
        place: The URL below which it is.
        url: The URL of the directory itself.
        committer: The committer that jobs are to use.
        root: The directory as the adapter names it.
        declared: What the adapter says of the store.
        probe: What a probe found.
        capabilities: What jobs go by: on an unverified endpoint, what the probe found completes
            what is declared.
        selections: Which committers are safe, and why, by name.
        was_missing: Whether nothing stood at `place`.
    """

    place: str
    url: str
    storage_options: Mapping[str, object] = field(repr=False)
    committer: Request
    root: StorePath
    declared: Capabilities
    probe: fc.ProbeReport
    capabilities: Capabilities
    selections: Mapping[str, fc.Selection]
    was_missing: bool
    _numbers: Iterator[int] = field(default_factory=lambda: count(1), repr=False)

    @classmethod
    def lay_out(
        cls,
        destination: str,
        storage_options: Mapping[str, object] | None = None,
        *,
        committer: Request = "auto",
    ) -> "ProvingGround":
        """Find out what the store at *destination* is; the directory appears with its first file.

        Raises:
            RequestError: Something stands at *destination* already.
            StoreError: The store does not answer, or nothing can be written there.
        """
        place = locate(destination, storage_options)
        declared, was_missing = _looked_at(place)
        name = f"fsspec-commit-certify-{token_hex(8)}"
        url = f"{place.url.rstrip('/')}/{name}"
        options = place.storage_options
        ground = None
        try:
            probe = fc.probe(f"{url}/probe", storage_options=options)
            selections = {
                request: fc.explain(f"{url}/probe", committer=request, storage_options=options)
                for request in ("auto", "v1", "manifest", "magic")
            }
            ground = cls(
                place=place.url,
                url=url,
                storage_options=options,
                committer=committer,
                root=_root(replace(place, url=url)),
                declared=declared,
                probe=probe,
                capabilities=selections["auto"].capabilities,
                selections=selections,
                was_missing=was_missing,
            )
        finally:
            if ground is None:
                _emptied(place, name)
        return ground

    def destination(self) -> str:
        """The URL of a destination that nobody else uses; there is nothing there."""
        return f"{self.url}/{next(self._numbers)}/top/out"

    async def open_store(self, url: str) -> Store:
        """Open the store at *url*, with the capabilities that jobs there go by."""
        store = await open_store(url, OpenOptions(storage_options=self.storage_options))
        if store.unverified_endpoint is None:
            return store
        return _KnownStore(store, store.capabilities.completed_by(self.probe.capabilities))

    @property
    def races_in_threads(self) -> bool:
        """Whether calls can race only in threads, because the adapter answers at once."""
        return protocol_of(self.url) in {"file", "local", "memory"}

    def read_raw(self, path: StorePath) -> bytes | None:
        """Read a file by plain fsspec, or by the adapter where fsspec might read another."""
        if is_misread(path):
            return _read(Location(self.url, self.storage_options), path)
        filesystem, _ = plain_filesystem(self.url, self.storage_options)
        try:
            data: bytes = filesystem.cat_file(self._plain(path))
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        return data

    def write_raw(self, path: StorePath, data: bytes) -> None:
        """Write a file as `read_raw` reads it, with the directories it needs."""
        if is_misread(path):
            _write(Location(self.url, self.storage_options), path, data)
            return
        filesystem, _ = plain_filesystem(self.url, self.storage_options)
        plain = self._plain(path)
        filesystem.makedirs(plain.rpartition("/")[0], exist_ok=True)
        filesystem.pipe_file(plain, data)

    def looks_past_the_adapter_at(self, name: str) -> bool:
        """Whether plain fsspec sees the file, and lists the directory, of this name here."""
        filesystem, root = plain_filesystem(self.url, self.storage_options)
        return not misreads(filesystem, f"{root.rstrip('/')}/{name}/{name}")

    def _plain(self, path: StorePath) -> str:
        """What plain fsspec calls *path*."""
        _, root = plain_filesystem(self.url, self.storage_options)
        return root.rstrip("/") + path.removeprefix(self.root)

    def remove(self) -> list[str]:
        """Remove everything that was written; return what is still there."""
        _emptied(Location(self.place, self.storage_options), self.url.rpartition("/")[2])
        filesystem, root = plain_filesystem(self.url, self.storage_options)
        root = root.rstrip("/")
        filesystem.invalidate_cache()
        if filesystem.exists(root):
            with suppress(Exception):  # Whatever failed shows in what is left.
                filesystem.rm(root, recursive=True)
            filesystem.invalidate_cache()
        found = filesystem.find(root, detail=True)
        # s3fs names a prefix that versitygw lists although all below it was deleted.
        left = sorted(name for name, what in found.items() if what["type"] != "directory")
        if not left and self.was_missing and protocol_of(self.place) in _REMOVES_DIRECTORIES:
            with suppress(OSError):  # Somebody else has come there since.
                filesystem.rmdir(root.rpartition("/")[0])
        return left


class _KnownStore(WrappedStore):
    """A store of which more is known than its adapter declares; its abilities follow from that."""

    def __init__(self, store: Store, capabilities: Capabilities) -> None:
        super().__init__(store, _let_through)
        self._capabilities = capabilities

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    @property
    def files(self) -> RenamesFiles | None:
        known = self._capabilities.atomic_rename in {AtomicRename.FILE, AtomicRename.DIRECTORY}
        return super().files if known else None

    @property
    def directories(self) -> RenamesDirectories | None:
        known = self._capabilities.atomic_rename is AtomicRename.DIRECTORY
        return super().directories if known else None

    @property
    def empty_directories(self) -> RemovesEmptyDirectories | None:
        return None if self.directories is None else super().empty_directories

    @property
    def uploads(self) -> CompletesUploads | None:
        return super().uploads if self._capabilities.multipart else None


def is_misread(path: str) -> bool:
    """Whether some client of fsspec's takes *path* for another one."""
    return _MISREAD.search(path) is not None


def misreads(client: "AbstractFileSystem | type[AbstractFileSystem]", path: str) -> bool:
    """Whether *client* takes *path* for another one; some cut it as if it were a URL."""
    asked: str = client._strip_protocol(path)  # noqa: SLF001  # what it makes of every path
    return asked != path


@contextmanager
def counted_calls() -> Iterator[Counter[str]]:
    """Count the calls of every store that this process opens in the block, by verb."""
    counts = Counter[str]()
    lock = threading.Lock()

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG001  # a Carry
        with lock:
            counts[verb] += 1
        return await call()

    with wrapping(lambda store: WrappedStore(store, carry)):
        yield counts


async def _let_through(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:  # noqa: ARG001  # a Carry
    return await call()


@blocking
async def _looked_at(place: Location) -> tuple[Capabilities, bool]:
    """What is declared of the store there, and whether nothing stands there.

    Raises:
        RequestError: Something stands there.
    """
    store = await _opened(place)
    try:
        pace = Pace(SYSTEM_IDS)
        found = await ask(lambda: store.stat(store.root), pace)
        inside = await ask(lambda: _stranger(store), pace)
        if isinstance(found, Entry) or inside is not None:
            what = repr(inside) if inside else "a file"
            message = (
                f"{place.url!r} already holds data ({what}), and a store is certified in an empty"
                " place only; name a directory that is empty or not there yet"
            )
            raise RequestError(message, kind="not_empty", path=place.url)
        return store.capabilities, found is None
    finally:
        await store.close()


async def _stranger(store: Store) -> str | None:
    """The name of anything there that does not belong to another certification."""
    async for child in store.list_children(store.root):
        name = child.path.removeprefix(f"{store.root}/")
        if not (isinstance(child, Directory) and _GROUND.fullmatch(name)):
            return name
    return None


@blocking
async def _root(place: Location) -> StorePath:
    store = await _opened(place)
    try:
        return store.root
    finally:
        await store.close()


@blocking
async def _emptied(place: Location, name: str) -> None:
    """Remove the directory *name* of *place*, and abort every upload below it."""
    store = await _opened(place)
    directory = DestinationLayout(store.root).final(Target(name))
    pace = Pace(SYSTEM_IDS)
    try:
        uploads = store.uploads
        if uploads is not None and store.capabilities.uploads_listable is not False:
            with suppress(fc.StoreError):  # Where they cannot be listed, nothing can be done.
                for upload in [found async for found in uploads.pending(directory)]:
                    with suppress(fc.StoreError):
                        await uploads.abort(upload)
        with suppress(fc.StoreError):  # What is left is found afterwards, and named.
            await ask(lambda: store.delete_tree(directory), pace)
    finally:
        await store.close()


@blocking
async def _read(place: Location, path: StorePath) -> bytes | None:
    store = await _opened(place)
    try:
        found = await ask(lambda: store.read(path, limit_bytes=_RAW_MAX), Pace(SYSTEM_IDS))
        return None if found is None else found.data
    finally:
        await store.close()


@blocking
async def _write(place: Location, path: StorePath, data: bytes) -> None:
    store = await _opened(place)
    try:
        await store.put(path, data, expecting=Expect.ANYTHING, within=None)
    finally:
        await store.close()


async def _opened(place: Location) -> Store:
    async def asking(question: Callable[[], Awaitable[T]], /) -> T:
        return await ask(question, Pace(SYSTEM_IDS))

    return await open_store(
        place.url, OpenOptions(storage_options=place.storage_options, ask=asking)
    )
