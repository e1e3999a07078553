"""How many connections the stores of this process may hold, of what it may hold open at all."""

import os
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_MOST = 512
_LEAST = 64
_OPEN_FILES = "SC_OPEN_MAX"


class Connections:
    """How many connections one client may have, each made when a call finds none that is idle.

    Where the caller does not say how many, half of what the process may hold open is left to other
    uses, and what the clients of other stores may hold is left to them; but each client has some.

    Attributes:
        most: How many.
        is_resting: Whether no opened store uses its client just now.
    """

    def __init__(self, asked: int | None) -> None:
        self.is_resting = False
        self._asked = asked
        self._pid = os.getpid()
        with _lock:
            self.most: int = asked or _left(one for one in _held if one.is_here)
            _held.add(self)

    @property
    def is_here(self) -> bool:
        """Whether this process may hold them: a forked child never uses those that rest."""
        return not self.is_resting or self._pid == os.getpid()

    @property
    def are_enough(self) -> bool:
        """Whether a client made now would have no more, even if all that rest were closed."""
        with _lock:
            return self._asked is not None or self.most >= _left(
                one for one in _held if not one.is_resting and one is not self
            )

    def give_back(self) -> None:
        """Let other stores have them; dropping this object does so as well."""
        with _lock:
            _held.discard(self)


@contextmanager
def to_open(asked: int | None) -> Iterator[Connections]:
    """The connections of a store that the block opens; given back at once if it fails.

    Dropping them would not do: the error, which somebody may keep, keeps all that the block knew.
    """
    connections = Connections(asked)
    try:
        yield connections
    except BaseException:
        connections.give_back()
        raise


def are_short() -> bool:
    """Whether a client made now has fewer connections than it would have as the only one."""
    with _lock:
        return _left(one for one in _held if one.is_here) < _left(())


def _left(held: Iterable[Connections]) -> int:
    """How many a client may have beside those that *held* may have."""
    return max(_LEAST, min(_MOST, _half_of_open_files() - sum(one.most for one in held)))


_held = weakref.WeakSet[Connections]()
_lock = threading.Lock()
# A child that is forked while another thread opens a store must be able to open its own.
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)


def _half_of_open_files() -> int:
    open_max = os.sysconf(_OPEN_FILES) if _OPEN_FILES in getattr(os, "sysconf_names", ()) else -1
    return open_max // 2 if open_max > 0 else 1 << 30
