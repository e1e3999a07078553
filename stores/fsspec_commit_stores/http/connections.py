"""How many connections the stores of this process may hold, of what it may hold open at all."""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

_MOST = 512
_LEAST = 64
_OPEN_FILES = "SC_OPEN_MAX"


class Connections:
    """So many connections of one opened store, each made when a call finds none that is idle.

    Where the caller does not say how many, half of what the process may hold open is left to
    others, and what other opened stores may hold is theirs; but each store has some.

    Attributes:
        most: How many.
    """

    def __init__(self, asked: int | None) -> None:
        with _lock:
            held = sum(one.most for one in _held)
            self.most: int = asked or max(_LEAST, min(_MOST, _half_of_open_files() - held))
            _held.add(self)

    def give_back(self) -> None:
        """Let other stores have them; who drops this object does so as well."""
        with _lock:
            _held.discard(self)


@contextmanager
def to_open(asked: int | None) -> Iterator[Connections]:
    """The connections of a store that the block opens; given back at once where it does not.

    The error, which somebody may keep, keeps all that the block knew.
    """
    connections = Connections(asked)
    try:
        yield connections
    except BaseException:
        connections.give_back()
        raise


_held = weakref.WeakSet[Connections]()
_lock = threading.Lock()
# A child that is forked while another thread opens a store must be able to open its own.
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)


def _half_of_open_files() -> int:
    open_max = os.sysconf(_OPEN_FILES) if _OPEN_FILES in getattr(os, "sysconf_names", ()) else -1
    return open_max // 2 if open_max > 0 else 1 << 30
