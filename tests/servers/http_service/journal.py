"""Every change in the order in which it was made, in one file: written before it is acknowledged.

It is not synced: what is to be survived is the end of the process, not that of the machine.
"""

from __future__ import annotations

import os
import pickle
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SIZE = struct.Struct(">Q")


class Journal:
    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._path = path

    def entries(self) -> Iterator[Any]:
        """What was written. One that breaks off was never acknowledged: it is cut away."""
        whole = 0
        with self._path.open("rb") as written:
            while len(head := written.read(_SIZE.size)) == _SIZE.size:
                [size] = _SIZE.unpack(head)
                content = written.read(size)
                if len(content) < size:
                    break
                whole = written.tell()
                yield pickle.loads(content)
        os.ftruncate(self._file, whole)
        os.lseek(self._file, whole, os.SEEK_SET)

    def write(self, entry: object) -> None:
        """Write one that happens as a whole or not at all."""
        content = pickle.dumps(entry, protocol=pickle.HIGHEST_PROTOCOL)
        left = memoryview(_SIZE.pack(len(content)) + content)
        while left:
            left = left[os.write(self._file, left) :]
