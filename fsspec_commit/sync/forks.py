"""What a forked child has inherited is its parent's: told at once, not when it is used next.

The blocks that the child unwinds, its collector and the end of its interpreter would all finish or
drop what the parent is writing.
"""

import os
import weakref
from typing import Protocol


class Inherited(Protocol):
    """Something that one process alone may finish or drop."""

    def leave_to_parent(self) -> None:
        """In a forked child: nothing is finished, dropped or written from here."""


def tell_after_fork(thing: Inherited) -> None:
    """Have *thing* told, in each child, as long as somebody holds it."""
    _known.add(thing)


def _leave_to_parent() -> None:
    for thing in list(_known):
        thing.leave_to_parent()


_known: weakref.WeakSet[Inherited] = weakref.WeakSet()
os.register_at_fork(after_in_child=_leave_to_parent)
