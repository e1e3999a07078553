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

from fsspec_commit_stores.local.directories import Directories

CAPACITY = 128
TRUSTED_NS = 5_000_000


class _Handle:
    __slots__ = ("descriptor", "link", "looked_at_ns", "path")

    def __init__(self, descriptor: int, path: bytes) -> None:
        self.descriptor = descriptor
        self.path = path
        self.link = b"/proc/self/fd/%d" % descriptor
        self.looked_at_ns = monotonic_ns()

    def is_in_place(self) -> bool:
        """Whether the directory still has the path that it was opened by.

        Where there is no ``/proc`` (macOS) that is not known, hence false: such handles live for
        one look, which costs speed only.
        """
        try:
            return os.readlink(self.link) == self.path  # noqa: PTH115  # bytes, and speed
        except OSError:
            return False


class Handles:
    """At most `capacity` open directories, by path relative to the root; for one thread only.

    The least recently used is closed first. What :meth:`at` answers may be closed by the second
    next call of it, so it is used at once.
    """

    def __init__(self, directories: Directories, capacity: int = CAPACITY) -> None:
        self._directories = directories
        self._capacity = max(capacity, 2)
        self._held: OrderedDict[str, _Handle] = OrderedDict()

    def at(self, directory: str) -> int:
        """A handle on *directory*, which stays ours.

        Raises:
            OSError: As `Directories.open`.
        """
        held = self._held.get(directory)
        if held is None:
            return self.keep(directory, self._directories.open(directory))
        now = monotonic_ns()
        if now - held.looked_at_ns > TRUSTED_NS:
            if not held.is_in_place():
                self.forget(directory)
                return self.keep(directory, self._directories.open(directory))
            held.looked_at_ns = now
        self._held.move_to_end(directory)
        return held.descriptor

    def keep(self, directory: str, descriptor: int) -> int:
        """Remember a handle just opened, instead of any other of that name."""
        self.forget(directory)
        self._held[directory] = _Handle(descriptor, self._directories.path(directory).encode())
        if len(self._held) > self._capacity:
            _, oldest = self._held.popitem(last=False)
            os.close(oldest.descriptor)
        return descriptor

    def forget(self, directory: str) -> None:
        """Close the handle on *directory*, if there is one."""
        held = self._held.pop(directory, None)
        if held is not None:
            os.close(held.descriptor)

    def forget_below(self, directory: str) -> None:
        """Close every handle on *directory* and below it."""
        below = f"{directory}/"
        for name in [n for n in self._held if n == directory or n.startswith(below)]:
            self.forget(name)

    def close(self) -> None:
        """Close them all."""
        while self._held:
            _, held = self._held.popitem()
            os.close(held.descriptor)

    def __del__(self) -> None:
        # Whoever forgets to close the store must not run out of descriptors for it.
        self.close()
