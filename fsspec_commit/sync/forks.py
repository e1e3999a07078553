"""Objects that a forked child inherits belong to its parent: the child marks them at once.

Otherwise the ``with`` blocks that the child leaves, its garbage collector and the end of its
interpreter would finish or drop what the parent is writing.
"""

import os
import weakref
from typing import Protocol


class Inherited(Protocol):
    """An object that only the process which made it may finish or drop."""

    def leave_to_parent(self) -> None:
        """Take part in nothing more: in a forked child, the object belongs to the parent."""


def tell_after_fork(thing: Inherited) -> None:
    """Call ``leave_to_parent`` of *thing* in each forked child, as long as it is referenced."""
    _known.add(thing)


def _leave_to_parent() -> None:
    for thing in list(_known):
        thing.leave_to_parent()


_known: weakref.WeakSet[Inherited] = weakref.WeakSet()
os.register_at_fork(after_in_child=_leave_to_parent)
