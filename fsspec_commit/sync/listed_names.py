"""Names of files as a filesystem that lists them: what is there, and below which directories.

A directory is there with the files in it, at any depth. The root is named ``""``, ``"."`` or
``"/"``; beside that, no name begins with a slash.
"""

from collections.abc import Callable, Iterator
from typing import Any

from fsspec import AbstractFileSystem

from fsspec_commit.sync.attempt_file import bare_path


def rooted(path: object) -> str:
    """A path without the filesystem's protocol; ``""`` for the root.

    Raises:
        RequestError: The path is not a ``str``.
    """
    bare = bare_path(path)
    return "" if bare == "/" else bare


class ListedNames(AbstractFileSystem):
    """A filesystem that lists names, and neither reads nor writes.

    Args:
        sizes: The names at or below a directory, with the sizes of their files; it may give more.
    """

    cachable = False
    root_marker = ""

    def __init__(self, sizes: Callable[[str], dict[str, int]]) -> None:
        super().__init__(skip_instance_cache=True)
        self._sizes = sizes
        # No directory is really made; but a library that has made one looks for it, as DuckDB does.
        self._made: set[str] = set()

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        # Not "": Dask joins names to it with a slash, and "/name" would be an absolute path.
        return rooted(str(path)) or "."

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """A file, or a directory that contains one."""
        bare = rooted(path)
        if not bare:
            return _directory("")
        sizes = self._sizes(bare)
        if bare in sizes:
            return _file(bare, sizes[bare])
        if bare in self._made or any(name.startswith(f"{bare}/") for name in sizes):
            return _directory(bare)
        raise FileNotFoundError(path)

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:  # noqa: FBT001, FBT002
        """The files and their directories directly below *path*."""
        bare = rooted(path)
        found = {entry["name"]: entry for entry in self._children(bare)}
        if not found and bare not in self._made:
            found = {entry["name"]: entry for entry in [self.info(path)] if entry["name"]}
        entries = [found[name] for name in sorted(found)]
        return entries if detail else [entry["name"] for entry in entries]

    def _children(self, directory: str) -> Iterator[dict[str, Any]]:
        prefix = f"{directory}/" if directory else ""
        for name, size in self._sizes(directory).items():
            if name.startswith(prefix):
                child, slash, _ = name[len(prefix) :].partition("/")
                yield _directory(prefix + child) if slash else _file(name, size)

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,  # noqa: FBT001, FBT002
        detail: bool = False,  # noqa: FBT001, FBT002
        **_: Any,
    ) -> Any:
        """The files, and on request their directories, at any depth below *path*."""
        if maxdepth is not None and maxdepth < 1:
            message = "maxdepth must be at least 1"
            raise ValueError(message)
        # Not by fsspec's own, which looks at every name once for each directory.
        entries = self._entries_below(rooted(path), maxdepth, withdirs=withdirs)
        found = {entry["name"]: entry for entry in entries}
        names = sorted(found)
        return {name: found[name] for name in names} if detail else names

    def _entries_below(
        self, directory: str, maxdepth: int | None, *, withdirs: bool
    ) -> Iterator[dict[str, Any]]:
        prefix = f"{directory}/" if directory else ""
        has_any = directory in self._made
        for name, size in self._sizes(directory).items():
            if name == directory:
                yield _file(name, size)
            if not name.startswith(prefix):
                continue
            has_any = True
            *above, _ = name[len(prefix) :].split("/")
            if withdirs:
                for depth in range(1, len(above[:maxdepth]) + 1):
                    yield _directory(prefix + "/".join(above[:depth]))
            if maxdepth is None or len(above) < maxdepth:
                yield _file(name, size)
        if withdirs and directory and has_any:
            yield _directory(directory)


def _file(name: str, size: int) -> dict[str, Any]:
    return {"name": name, "size": size, "type": "file"}


def _directory(name: str) -> dict[str, Any]:
    return {"name": name, "size": 0, "type": "directory"}
