"""What was acknowledged, on disk: read again when the server was killed and is started anew."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

# One change of the state: its kind, then what it needs.
Step = tuple[Any, ...]


class Journal:
    """Records of steps that happen together, each with a payload that is no JSON.

    A record is written with one call before it is acknowledged. That outlives the process, which is
    what the tests end; a power cut it need not outlive. A record that is cut off was never
    acknowledged, and is dropped.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: int | None = None

    def replay(self) -> Iterator[tuple[list[Step], bytes]]:
        """All that is there; afterwards it can be appended to."""
        if self._path is None:
            return
        content = self._path.read_bytes() if self._path.exists() else b""
        place = 0
        while (end := content.find(b"\n", place)) >= 0:
            head = json.loads(content[place:end])
            whole = end + 1 + head["size_bytes"]
            if whole > len(content):
                break
            yield head["steps"], content[end + 1 : whole]
            place = whole
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.ftruncate(self._file, place)

    def append(self, steps: Sequence[Step], payload: bytes) -> None:
        if self._file is None:
            return
        head = json.dumps({"steps": list(steps), "size_bytes": len(payload)}).encode()
        left = memoryview(head + b"\n" + payload)
        while left:
            left = left[os.write(self._file, left) :]
