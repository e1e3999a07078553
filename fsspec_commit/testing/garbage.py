"""Collect what a test gave up before the next one begins, in no time."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

BLOCKS_UNTIL_ALL = 500
"""Every so-many-th block begins with a collection of everything."""

_frozen: list[bool] = []
_blocks = count(1)


@contextmanager
def only_what_comes() -> Iterator[None]:
    """Let collections within the block look only at what was made in it.

    After some thousand tests and the libraries that they import, a full collection takes a quarter
    of a second; what was made since it was frozen is looked at in no time. Garbage from before
    the block is left to collections after it. A block within another one changes nothing.

    Python itself would hardly ever look at everything again: it does when much has survived, and
    what is frozen does not count. Tests that leave half a megabyte each would fill the memory.
    """
    if _frozen:
        yield
        return
    _frozen.append(True)
    if next(_blocks) % BLOCKS_UNTIL_ALL == 0:
        gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        _frozen.clear()
