"""How long the chunks of an upload are: the longer the file, the fewer round trips a byte.

A chunk that the service did not keep is sent again, so a file holds the one that is on its way, and
what is to follow it. Google's own clients send chunks of 16 MiB in Java and 100 MiB in Python, from
a file's first byte on; here a file is to hold little in proportion to what it has sent, and all
files of a store little together.

https://cloud.google.com/storage/docs/performing-resumable-uploads#chunked-upload
"""

from weakref import WeakSet

MIB = 1 << 20
CHUNK_BYTES = 8 * MIB
"""A multiple of 256 KiB, as all chunks but the last must be."""
_LONGER = ((256 * MIB, 32 * MIB), (128 * MIB, 16 * MIB))
"""Bytes that were sent, and how long chunks are from then on: an eighth of them."""
_LONG_FILES_MAX = 4


class Chunks:
    """The lengths of the chunks of all files of one store.

    At most four files at a time have longer chunks than they begin with. Once a file has been told
    a length, it is never told a shorter one.

    Args:
        may_grow: Whether any file may have longer chunks. Where a request must be over in a given
            time, a chunk that takes longer would fail each time that it is sent.
    """

    def __init__(self, *, may_grow: bool = True) -> None:
        self._longer = _LONGER if may_grow else ()
        self._long = WeakSet[object]()

    def length_bytes(self, file: object, sent_bytes: int) -> int:
        """How long the next chunk of *file* is, of which *sent_bytes* were sent."""
        longer = next((length for begin, length in self._longer if sent_bytes >= begin), 0)
        if not longer:
            return CHUNK_BYTES
        if file not in self._long:
            if len(self._long) >= _LONG_FILES_MAX:
                return CHUNK_BYTES
            self._long.add(file)
        return longer

    def end(self, file: object) -> None:
        """Let another file have longer chunks than *file*, which has come to its end."""
        self._long.discard(file)
