"""The way back to the JVM: answers and events, a line of JSON each."""

import os
import threading
from typing import BinaryIO

import msgspec


class Channel:
    """Standard output, which nothing else of this process may write to."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lock = threading.Lock()

    @classmethod
    def take_standard_output(cls) -> "Channel":
        """Keep standard output for the channel; whatever prints, prints to standard error."""
        out = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        return cls(out)

    def send(self, **said: object) -> None:
        """Send a line; nobody may be there any more to read it."""
        line = msgspec.json.encode(said)
        with self._lock:
            try:
                self._out.write(line + b"\n")
                self._out.flush()
            except (BrokenPipeError, ValueError):
                return
