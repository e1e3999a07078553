"""What file writers have in common: they hold what is not sent, and some can go on after errors."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Token
from fsspec_commit_stores.http.pieces import Held


class UnfinishedFile:
    """A file written bit by bit; it holds what is not sent, until it is finished or discarded.

    Attributes:
        path: Where it will stand.
        held: What is not sent.
        size_bytes: Of all that was written.
    """

    def __init__(self, path: StorePath) -> None:
        self.path = path
        self.held = Held()
        self.size_bytes = 0
        self._state = "open"

    def check(self) -> None:
        """Refuse to go on with a file that has come to its end.

        Raises:
            ValueError: It is finished, or discarded.
        """
        if self._state != "open":
            raise ValueError(f"{self.path!r} is {self._state}")

    def append(self, data: bytes) -> None:
        """Hold *data* as the next bytes of the file."""
        self.check()
        self.held.append(data)
        self.size_bytes += len(data)

    def finish(self, token: Token, nonce: Nonce | None = None) -> Entry:
        """The file, which is visible now."""
        self._state = "finished"
        self.held.clear()
        return Entry(path=self.path, size_bytes=self.size_bytes, token=token, nonce=nonce)

    def discard(self) -> bool:
        """Let go of it, unless it is finished; say whether it was open until now."""
        if self._state != "open":
            return False
        self._state = "discarded"
        self.held.clear()
        return True

    def warn_if_open(self) -> None:
        """Warn of a writer that nobody holds any more, with no loop to clean up on."""
        if self._state == "open":
            warnings.warn(f"{self.path!r} was abandoned", ResourceWarning, stacklevel=3)


@contextmanager
def going_on() -> Iterator[None]:
    """Let a failure that is not a refusal say that nothing is lost."""
    try:
        yield
    except StoreError as error:
        error.can_go_on = error.reply is not Reply.REFUSED
        raise
