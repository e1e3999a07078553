"""The fsspec filesystem of one task attempt, to which other libraries write.

Paths are relative to the destination, by the names that the caller gives; with ``names="unique"`` a
file is published under another name. The filesystem shows the finished files of this attempt and
nothing else, and its files are write-once, on every store.
"""

from collections.abc import Callable, Iterator
from typing import IO, Any

from fsspec import AbstractFileSystem
from fsspec.transaction import Transaction

from fsspec_commit.names import Target
from fsspec_commit.spec import not_from_here
from fsspec_commit.sync.attempt_file import bare_path
from fsspec_commit.sync.attempt_names import AttemptNames
from fsspec_commit.sync.unsupported import unsupported, unsupported_rename


class _InTransaction:
    """A file of an fsspec transaction; a rollback also removes its name's earlier content."""

    def __init__(
        self,
        name: Target,
        file: Any,
        names: AttemptNames,
        remove: Callable[[Target], None],
        *,
        rewrites: bool,
    ) -> None:
        self._name = name
        self._file = file
        self._names = names
        self._remove = remove
        self._rewrites = rewrites

    def commit(self) -> None:
        """Nothing to do: the file counts once it is closed."""

    def discard(self) -> None:
        """Remove the file, closed or not.

        If the transaction has opened its name again, the file that is open is discarded later.
        """
        self._file.discard()
        if self._name in self._names.removable() and not self._names.is_open(self._name):
            self._remove(self._name)
            if self._rewrites:
                self._names.spoil(self._name)


class _Transaction(Transaction):
    """An fsspec transaction that knows which of its names had content before it began."""

    def take(
        self, name: Target, file: Any, names: AttemptNames, remove: Callable[[Target], None]
    ) -> None:
        """Add *file* to those that a rollback discards."""
        held = self._held.setdefault(name, names.is_spoiled(name))
        self.files.append(_InTransaction(name, file, names, remove, rewrites=held))

    def start(self) -> None:
        """Begin the transaction, without files."""
        super().start()
        self._held: dict[Target, bool] = {}


class AttemptFileSystem(AbstractFileSystem):
    """A filesystem that writes into one attempt; only :class:`~fsspec_commit.Task` makes one."""

    cachable = False
    root_marker = ""
    protocol: str
    transaction_type = _Transaction

    def __init__(
        self,
        attempt_id: str,
        *,
        open_file: Callable[..., IO[Any]],
        sizes: Callable[[str], dict[str, int]],
        names: AttemptNames,
        remove: Callable[[Target], None],
    ) -> None:
        super().__init__(skip_instance_cache=True)
        self.protocol = f"commit-{attempt_id}"
        self._open_file = open_file
        self._sizes = sizes
        self._names = names
        self._remove = remove
        # No directory is really made; but a library that has made one looks for it, as DuckDB does.
        self._made: set[str] = set()

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        # Not "": Dask joins names to it with a slash, and "/name" would be an absolute path.
        return bare_path(str(path)) or "."

    def unstrip_protocol(self, name: str) -> str:
        """The URL of *name*, for libraries that take URLs of registered filesystems."""
        return f"{self.protocol}://{bare_path(name)}"

    def open(
        self,
        path: str,
        mode: str = "wb",
        block_size: int | None = None,  # noqa: ARG002  # parts are sized by the store
        cache_options: object = None,  # noqa: ARG002  # nothing is read
        compression: str | None = None,
        **options: Any,
    ) -> IO[Any]:
        """Open a new file of the attempt; see :meth:`fsspec_commit.Task.open`."""
        text = {name: options[name] for name in ("encoding", "newline") if name in options}
        file = self._open_file(path, mode, compression=compression, **text)
        if self._intrans:
            self.transaction.take(Target(bare_path(path)), file, self._names, self._remove)
        return file

    def _open(self, path: str, mode: str = "wb", **_: Any) -> IO[Any]:
        return self._open_file(path, mode)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """A finished file of this attempt, or a directory that contains one."""
        bare = bare_path(path)
        sizes = self._sizes(bare)
        if bare in sizes:
            return {"name": bare, "size": sizes[bare], "type": "file"}
        if bare in {"", *self._made} or any(name.startswith(f"{bare}/") for name in sizes):
            return {"name": bare, "size": 0, "type": "directory"}
        raise FileNotFoundError(path)

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:  # noqa: FBT001, FBT002
        """The finished files and their directories directly below *path*."""
        found = {entry["name"]: entry for entry in self._children(bare_path(path))}
        if not found and bare_path(path) not in self._made:
            found = {entry["name"]: entry for entry in [self.info(path)] if entry["name"]}
        entries = [found[name] for name in sorted(found)]
        return entries if detail else [entry["name"] for entry in entries]

    def _children(self, directory: str) -> Iterator[dict[str, Any]]:
        prefix = f"{directory}/" if directory else ""
        for name, size in self._sizes(directory).items():
            if name.startswith(prefix):
                child, slash, _ = name[len(prefix) :].partition("/")
                kind = "directory" if slash else "file"
                yield {"name": prefix + child, "size": 0 if slash else size, "type": kind}

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,  # noqa: FBT001, FBT002
        detail: bool = False,  # noqa: FBT001, FBT002
        **_: Any,
    ) -> Any:
        """The finished files, and on request their directories, at any depth below *path*."""
        found = super().find(path, maxdepth, withdirs, detail=True)
        found.pop(".", None)
        return found if detail else list(found)

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:  # noqa: ARG002, FBT001, FBT002
        """Remove files of this attempt, finished or spoiled; a directory only with *recursive*."""
        for one in path if isinstance(path, list | tuple | set) else [path]:
            bare = bare_path(one)
            names = self._names.removable()
            if bare in names:
                self._remove(Target(bare))
                continue
            below = [name for name in names if name.startswith(f"{bare}/")]
            if below and not recursive:
                raise IsADirectoryError(one)
            for name in below:
                self._remove(Target(name))

    def rm_file(self, path: str) -> None:
        """Remove one finished file of this attempt."""
        self.rm(path)

    def _rm(self, path: str) -> None:
        self.rm(path)

    def touch(self, path: str, truncate: bool = True, **_: Any) -> None:  # noqa: ARG002, FBT001, FBT002
        """Write an empty file."""
        self._open_file(path, "wb").close()

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:  # noqa: ARG002, FBT001, FBT002
        """Only note the name: directories exist with the files in them."""
        names = bare_path(path).split("/")
        self._made.update("/".join(names[: depth + 1]) for depth in range(len(names)))

    def makedirs(self, path: str, exist_ok: bool = True) -> None:  # noqa: ARG002, FBT001, FBT002
        """Only note the name: directories exist with the files in them."""
        self.mkdir(path)

    def rmdir(self, path: str) -> None:
        """Only forget the name: directories exist with the files in them."""
        self._made.discard(bare_path(path))

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:  # noqa: ARG002  # fsspec's names
        """Refuse: written files cannot be read back."""
        raise unsupported("copy", path1)

    def mv(self, path1: str, path2: str, **_: Any) -> None:  # noqa: ARG002
        """Refuse: an unfinished upload cannot be renamed."""
        raise unsupported_rename(path1)

    mv_file = mv

    def cat_file(self, path: str, *_: Any, **__: Any) -> bytes:
        """Refuse: written files cannot be read back."""
        raise unsupported("read", path)

    def __reduce__(self) -> Any:
        raise TypeError(not_from_here("the filesystem of a task"))
