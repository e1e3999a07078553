"""In what order the pages of a listing show what there is."""

from collections.abc import Callable
from functools import cache
from hashlib import md5
from typing import TypeAlias

Order: TypeAlias = Callable[[str], str]
"""What is compared instead of names; where they are compared themselves it is ``str``."""


def in_no_order(seed: int) -> Order:
    """An order that has nothing to do with names, and is another one for another *seed*.

    It stays the same for all pages and listings: where a page ends, the next one goes on.
    """

    @cache
    def place(name: str) -> str:
        return md5(f"{seed} {name}".encode(), usedforsecurity=False).hexdigest()

    return place
