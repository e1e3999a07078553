"""The way to the JVM and back: a line of JSON for each request, answer and event."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from select import select
from typing import BinaryIO

_READ_BYTES = 1 << 20


class Requests:
    """The lines of standard input, until it ends or this process is told to end."""

    def __init__(self, lines: int, told_to_end: int) -> None:
        self._lines = lines
        self._told_to_end = told_to_end

    @classmethod
    def take_standard_input(cls) -> "Requests":
        """Keep standard input for these; programs that this process starts are given none.

        One that finds credentials (``credential_process``) would otherwise read what is meant for
        this process, secrets included. SIGTERM ends the requests, and interrupts nothing that is
        under way.
        """
        lines, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        told_to_end, tell = os.pipe()
        os.set_blocking(tell, False)
        signal.set_wakeup_fd(tell)
        signal.signal(signal.SIGTERM, lambda _signal, _frame: None)
        return cls(lines, told_to_end)

    def __iter__(self) -> Iterator[bytes]:
        begun = bytearray()
        while self._told_to_end not in select([self._lines, self._told_to_end], [], [])[0]:
            read = os.read(self._lines, _READ_BYTES)
            if not read:
                break
            *ends, rest = read.split(b"\n")
            for end in ends:
                begun += end
                yield _taken(begun)
            begun += rest
        if begun:
            yield _taken(begun)  # Of a JVM that was killed in the midst of it.


def _taken(begun: bytearray) -> bytes:
    """The line that was *begun*, which is cleared: a line may be 10 MB."""
    line = bytes(begun)
    begun.clear()
    return line


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
        """Send a line; there may be nobody left to read it.

        It is ASCII, so that any text of an error can be sent: a file's name may not be valid text.
        """
        line = json.dumps(said).encode("ascii")
        with self._lock:
            try:
                self._out.write(line + b"\n")
                self._out.flush()
            except (BrokenPipeError, ValueError):
                return
