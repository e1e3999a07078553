"""How many blocks are sent side by side: of one file, and of all files of a store together.

A block is held until it is stored, so what is on its way takes as much memory. One block of each
file may always be on its way, so that no file waits for another. Further ones make a file faster;
their number is bounded, and shared by all files.
"""

from weakref import WeakKeyDictionary

AHEAD_MAX = 8
"""Besides the first of each file, for all files together: of 8 MiB each they take 64 MiB."""


class BlocksAhead:
    """What the files of one store hold that is not stored."""

    def __init__(self) -> None:
        self._blocks = WeakKeyDictionary[object, int]()
        """Of the files that have any."""

    def at_once_max(self, file: object) -> int:
        """How many blocks of *file* may be on their way, as things stand: one alone has most."""
        others = [blocks for other, blocks in self._blocks.items() if other is not file]
        share, over = divmod(AHEAD_MAX, 1 + len(others))
        # What does not divide evenly goes to as many files, a block each.
        share += sum(blocks - 1 > share for blocks in others) < over
        left = AHEAD_MAX - sum(blocks - 1 for blocks in others)
        return 1 + max(0, min(share, left))

    def note(self, file: object, blocks: int) -> None:
        """Note how many blocks of *file* are on their way now, or have failed and are held."""
        if blocks:
            self._blocks[file] = blocks
        else:
            self._blocks.pop(file, None)
