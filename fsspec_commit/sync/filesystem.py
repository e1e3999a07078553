"""The fsspec filesystem of one task attempt, to which other libraries write.

Paths are relative to the destination, by the names that the caller gives; with ``names="unique"`` a
file is published under another name. The filesystem shows the finished files of this attempt and
nothing else, and its files are write-once, on every store.
"""

import codecs
from collections.abc import Callable, Collection, Iterable
from typing import IO, Any

from fsspec.transaction import Transaction

from fsspec_commit.errors import RequestError
from fsspec_commit.names import Target
from fsspec_commit.spec import not_from_here
from fsspec_commit.sync.attempt_file import bare_path
from fsspec_commit.sync.attempt_names import AttemptNames
from fsspec_commit.sync.listed_names import ListedNames, rooted
from fsspec_commit.sync.removals import names_in, names_like
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


class AttemptFileSystem(ListedNames):
    """A filesystem that writes into one attempt; only :class:`~fsspec_commit.Task` makes one."""

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
        super().__init__(sizes)
        self.protocol = f"commit-{attempt_id}"
        self._open_file = open_file
        self._names = names
        self._remove = remove

    def unstrip_protocol(self, name: str) -> str:
        """The URL of *name*, for libraries that take URLs of registered filesystems."""
        return f"{self.protocol}://{bare_path(name)}"

    def open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,  # noqa: ARG002  # parts are sized by the store
        cache_options: object = None,  # noqa: ARG002  # nothing is read
        compression: str | None = None,
        **options: Any,
    ) -> IO[Any]:
        """Open a new file of the attempt; see :meth:`fsspec_commit.Task.open`.

        Without a mode it would be read, as everywhere in fsspec, which is refused.
        """
        errors = options.get("errors")
        _check_options(path, errors, options.get("autocommit"))
        text = {name: options[name] for name in ("encoding", "newline") if name in options}
        file: Any = self._open_file(path, mode, compression=compression, **text)
        if errors is not None and "b" not in mode:
            file.reconfigure(errors=errors)
        if self._intrans:
            self.transaction.take(Target(bare_path(path)), file, self._names, self._remove)
        opened: IO[Any] = file
        return opened

    def _open(self, path: str, mode: str = "rb", **_: Any) -> IO[Any]:
        return self._open_file(path, mode)

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:  # noqa: FBT001, FBT002
        """Remove files of this attempt, finished or spoiled; a directory only with *recursive*.

        What is the name of a file is not taken for a pattern.

        Raises:
            FileNotFoundError: Nothing is there; raised when everything else was removed.
            IsADirectoryError: A directory is named without *recursive*; nothing was removed.
            RequestError: A file of that name is being written.
        """
        wanted: dict[str, None] = {}
        missing: FileNotFoundError | None = None
        names = self._names.removable()
        for one in path if isinstance(path, list | tuple | set) else [path]:
            try:
                found = self._removed_by(one, names, recursive=recursive, maxdepth=maxdepth)
                wanted.update(dict.fromkeys(found))
            except FileNotFoundError as error:
                missing = missing or error
        for name in wanted:
            self._remove(Target(name))
        if missing is not None:
            raise missing

    def _removed_by(
        self, path: str, names: Collection[str], *, recursive: bool, maxdepth: int | None
    ) -> Iterable[str]:
        bare = rooted(path)
        if bare in names or self._names.is_open(bare):
            return [bare]
        made = {made for made in self._made if f"{made}/".startswith(f"{bare}/" if bare else "")}
        if recursive and maxdepth is None:
            self._made -= made
        try:
            return names_in(path, names, recursive=recursive, maxdepth=maxdepth)
        except FileNotFoundError:
            return () if made else names_like(path, names, recursive=recursive, maxdepth=maxdepth)

    def rm_file(self, path: str) -> None:
        """Remove one file of this attempt, finished or spoiled."""
        bare, names = rooted(path), self._names.removable()
        if bare not in names and not self._names.is_open(bare):
            names_in(path, names, recursive=False, maxdepth=None)
        self._remove(Target(bare))

    _rm = rm_file

    def touch(self, path: str, truncate: bool = True, **_: Any) -> None:  # noqa: FBT001, FBT002
        """Write an empty file, or leave one as it is: files of an attempt have no times."""
        if truncate or not self._names.exists(bare_path(path)):
            self.open(path, "wb").close()

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


def _check_options(path: str, errors: object, autocommit: object) -> None:
    """Refuse options that cannot be heeded, before the name gives up its content.

    Raises:
        RequestError: There is no such rule for letters that the encoding lacks; or the file would
            not count once it is closed.
    """
    try:
        codecs.lookup_error("strict" if errors is None else errors)  # type: ignore[arg-type]
    except (LookupError, TypeError) as error:
        message = f"cannot open {path!r} with errors={errors!r}: {error}"
        raise RequestError(message, kind="invalid_option", path=path) from error
    if autocommit is not None and not autocommit:
        message = (
            "autocommit=False: a file of a task counts once it is closed; to take back several, "
            "write them inside: with task.filesystem.transaction"
        )
        raise RequestError(message, kind="invalid_option", path=path)
