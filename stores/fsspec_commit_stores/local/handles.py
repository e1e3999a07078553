"""Directory handles that renames remember, so that a directory of files is opened once.

A handle is the directory, not its name, so it can outlive the name: a directory may be removed
and made again, or renamed away by anybody. Therefore a remembered handle is looked at again
(the kernel knows under which path it is now) when it has not been for a few milliseconds: the
window in which a rename can act on a directory that has just been moved is then no longer than
the one between opening a path and acting on it on a busy machine. A directory that was removed
answers ``ENOENT``; the caller forgets it and begins anew.

Only renames use this, for sources anywhere and for targets outside the work area. What may go
wrong in that window, and does not:

* A source directory ``committed/<task>/<attempt>`` goes to ``gone-…`` with its area when another
  driver has finished or aborted the job. Finished: every file was published before, so the name
  is not there and the rename fails, as it should. Aborted: then no ``committed`` decision stands,
  and nobody publishes from there.
* A target in the area would be different: a file renamed into ``<job>/trash`` under a stale
  handle lands in ``gone-…`` and is deleted with it; a record created there would be seen by
  nobody, and ``job.json`` be found in an area that is gone. So nothing in the area is remembered
  as a target, and no other verb uses a remembered handle at all.
"""

import os
from collections import OrderedDict
from time import monotonic_ns

from fsspec_commit.layout import StorePath
from fsspec_commit_stores.local.directories import Directories, encoded, is_in_area

CAPACITY = 128
TRUSTED_NS = 5_000_000


class Handle:
    """One open directory.

    Attributes:
        descriptor: Open as long as it is remembered.
        is_in_area: Whether it is, or lies in, the destination's work area.
    """

    __slots__ = ("descriptor", "is_in_area", "link", "looked_at_ns", "path")

    def __init__(
        self, descriptor: int, path: StorePath, looked_at_ns: int, *, is_in_area: bool
    ) -> None:
        self.descriptor = descriptor
        self.is_in_area = is_in_area
        self.looked_at_ns = looked_at_ns
        self.path = path.encode()
        self.link = b"/proc/self/fd/%d" % descriptor

    def is_in_place(self) -> bool:
        """Whether the directory still has the path that it was opened by.

        Where there is no ``/proc`` (macOS) that is not known, hence false: such handles live for
        one look, which costs speed only.
        """
        now = monotonic_ns()
        if now - self.looked_at_ns <= TRUSTED_NS:
            return True
        try:
            if os.readlink(self.link) != self.path:  # noqa: PTH115  # bytes, and speed
                return False
        except OSError:
            return False
        self.looked_at_ns = now
        return True


class Handles:
    """At most `capacity` open directories, by path; for one thread only.

    The least recently used is closed first. What :meth:`parent_of` answers may be closed by the
    second next call of it, so it is used at once.
    """

    def __init__(self, directories: Directories, capacity: int = CAPACITY) -> None:
        self._directories = directories
        # A call remembers two at most, and the answer of the one before must outlive it.
        self._capacity = max(capacity, 4)
        self._held: OrderedDict[str, Handle] = OrderedDict()

    def parent_of(self, path: StorePath) -> tuple[Handle, bytes]:
        """A handle on the directory that *path* is in, which stays ours, and its name in that.

        Raises:
            OSError: As `Directories.open`.
            StoreError: It is not below the root, or no disk can hold such a name.
        """
        directory, _, name = path.rpartition("/")
        held = self._held.get(directory)
        if held is not None and held.is_in_place():
            self._held.move_to_end(directory)
        else:
            held = self._open(directory, self._directories.split(path)[0])
        return held, encoded(name, path)

    def forget(self, path: StorePath) -> None:
        """Close the handle on the directory that *path* is in, if there is one."""
        self._close(path.rpartition("/")[0])

    def forget_below(self, directory: StorePath) -> None:
        """Close every handle on *directory* and below it."""
        below = f"{directory}/"
        for path in [p for p in self._held if p == directory or p.startswith(below)]:
            self._close(path)

    def close(self) -> None:
        """Close them all."""
        while self._held:
            _, held = self._held.popitem()
            os.close(held.descriptor)

    def __del__(self) -> None:
        # Whoever forgets to close the store must not run out of descriptors for it.
        self.close()

    def _open(self, directory: str, relative: str) -> Handle:
        """Open a directory in the one above it, which is remembered as well: siblings will come."""
        if not relative:
            return self._keep(directory, relative, self._directories.open(""), monotonic_ns())
        above = directory.rpartition("/")[0]
        parent = self._held.get(above)
        if parent is None or not parent.is_in_place():
            over = relative.rpartition("/")[0]
            parent = self._keep(above, over, self._directories.open(over), monotonic_ns())
        # As long as the parent was not looked at again, neither was the way to what is in it.
        descriptor = self._directories.open_in(parent.descriptor, relative)
        return self._keep(directory, relative, descriptor, parent.looked_at_ns)

    def _keep(self, directory: str, relative: str, descriptor: int, looked_at_ns: int) -> Handle:
        self._close(directory)
        held = Handle(
            descriptor,
            self._directories.path(relative),
            looked_at_ns,
            is_in_area=is_in_area(relative),
        )
        self._held[directory] = held
        if len(self._held) > self._capacity:
            _, oldest = self._held.popitem(last=False)
            os.close(oldest.descriptor)
        return held

    def _close(self, directory: str) -> None:
        held = self._held.pop(directory, None)
        if held is not None:
            os.close(held.descriptor)
