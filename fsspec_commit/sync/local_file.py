"""Files for writers that seek: written to a local disk, and uploaded when the block succeeds."""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from fsspec_commit.errors import CommitError, RequestError
from fsspec_commit.names import Target
from fsspec_commit.sync.attempt_names import AttemptNames

_BLOCK_BYTES = 1 << 20


class LocalFile:
    """A path on a local disk for one file of an attempt, or for a directory of files.

    Made by :meth:`Task.local_file <fsspec_commit.Task.local_file>`. It is in a new temporary
    directory (``TMPDIR``), which is removed at the end of the block. What was written becomes a
    part of the task only then, and only if no exception was raised.
    """

    def __init__(
        self,
        name: Target,
        *,
        open_file: Callable[[str], IO[Any]],
        names: AttemptNames,
        remove: Callable[[Target], None],
        keeps_names: bool,
    ) -> None:
        self._name = name
        self._open_file = open_file
        self._names = names
        self._remove = remove
        self._keeps_names = keeps_names
        self._pid = os.getpid()
        self._directory = ""

    def __enter__(self) -> str:
        """Make the temporary directory, and return the path, at which nothing stands yet."""
        self._directory = tempfile.mkdtemp(prefix="fsspec-commit-")
        return self._path

    if not TYPE_CHECKING:
        # Hidden from type checkers, which would take this object for a path.
        def __fspath__(self) -> str:
            """Refuse, saying how to get a path, when a library was given this object as one."""
            message = f"a block gives the path: with task.local_file({str(self._name)!r}) as path"
            raise TypeError(message)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Upload what was written, unless the block has failed; remove it from the disk.

        Raises:
            RequestError: Nothing was written, or more than one file; or this process still has the
                file open, as far as that can be known.
        """
        if self._pid != os.getpid():
            return  # A forked child unwinds what it has inherited; the file is its parent's.
        try:
            if kind is None:
                self._upload()
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def _path(self) -> str:
        return os.path.join(self._directory, self._name.rpartition("/")[2])  # noqa: PTH118  # text

    def _upload(self) -> None:
        self._refuse_others()
        self._refuse_open()
        if not os.path.isdir(self._path):  # noqa: PTH112
            self._upload_file(self._path, self._name)
            return
        if not self._keeps_names:
            message = (
                f"{self._name!r} is a directory: what reads it looks for the names in it, and "
                'names="unique" would change them; use names="exact"'
            )
            raise self._refusal(message, kind="directory_needs_names")
        uploaded: list[Target] = []
        rewritten = self._names.whole()
        try:
            for path, name in _files_below(self._path, self._name):
                self._upload_file(path, name)
                uploaded.append(name)
        except BaseException:
            # Part of a directory would look like a whole one, and so would a directory without
            # what one of its names held before.
            self._take_back(uploaded, rewritten)
            raise
        if not uploaded:
            raise self._nothing()

    def _take_back(self, uploaded: Collection[Target], rewritten: Collection[str]) -> None:
        """Remove what was uploaded; until that is done, the task cannot commit."""
        for name in uploaded:
            self._names.spoil(name)
        for name in uploaded:
            with suppress(CommitError):  # It is in no list, and is removed with the attempt.
                self._remove(name)
            if name in rewritten:
                self._names.spoil(name)

    def _upload_file(self, path: str, name: str) -> None:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            message = f"{name!r} is neither a file nor a directory: write the data itself"
            raise self._refusal(message, kind="special_file")
        with open(path, "rb") as source, self._open_file(name) as target:  # noqa: PTH123
            shutil.copyfileobj(source, target, _BLOCK_BYTES)

    def _refuse_others(self) -> None:
        """Refuse files beside the requested one: without them the data may be incomplete."""
        wanted = os.path.basename(self._path)  # noqa: PTH119
        found = sorted(os.listdir(self._directory))  # noqa: PTH208
        if wanted not in found:
            raise self._nothing()
        others = [name for name in found if name != wanted]
        if others:
            message = (
                f"{others[0]!r} was written beside {wanted!r}, and would be left out: close what "
                "has written them before the block ends; if they belong together, make a "
                'directory of that path, write into it, and use names="exact"'
            )
            raise self._refusal(message, kind="file_not_alone")

    def _refuse_open(self) -> None:
        """Refuse a file that its writer has not closed: its end may still be in a buffer."""
        ours = f"{os.path.realpath(self._directory)}/"
        for path in _open_for_writing():
            if path.startswith(ours):
                message = (
                    f"{os.path.basename(path)!r} is still open for writing, and what is not "  # noqa: PTH119
                    "flushed would be left out: close what writes it before the block ends"
                )
                raise self._refusal(message, kind="file_open")

    def _nothing(self) -> RequestError:
        message = f"nothing was written to {self._name!r}: write to the path that the block gives"
        return self._refusal(message, kind="file_missing")

    def _refusal(self, message: str, *, kind: str) -> RequestError:
        return RequestError(message, kind=kind, path=self._name)


def _open_for_writing() -> Iterator[str]:
    """The paths that this process has open for writing; none if that cannot be known."""
    with suppress(OSError), os.scandir("/proc/self/fd") as descriptors:
        for one in descriptors:
            with suppress(OSError):  # The listing's own, and what another thread closes.
                path = os.readlink(one.path)  # noqa: PTH115  # text
                if not path.startswith("/") or not os.path.exists(path):  # noqa: PTH110
                    continue
                with open(f"/proc/self/fdinfo/{one.name}", encoding="ascii") as known:  # noqa: PTH123
                    flags = next(line for line in known if line.startswith("flags:"))
                if int(flags.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY:
                    yield path


def _files_below(directory: str, name: str) -> Iterator[tuple[str, Target]]:
    """Every file below a directory, with the name that it is to have."""
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        below = f"{name}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _files_below(entry.path, below)
        else:
            yield entry.path, Target(below)
