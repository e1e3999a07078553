"""A file written through the loop, on a store where a chunk may be refused or its answer lost."""

from fsspec_commit.effects.confirm import ask, classified, to_its_end
from fsspec_commit.effects.pacing import Pace
from fsspec_commit.store import Entry, Writer


class ConfirmedWriter:
    """A writer that is called again as long as it says that it can go on.

    Only the store's own writer knows what has arrived: it finds out, and sends what is missing.
    """

    def __init__(self, writer: Writer[Entry], pace: Pace) -> None:
        self._writer = writer
        self._pace = pace

    async def write(self, data: bytes) -> None:
        """Append *data*.

        Raises:
            StoreError: *data* could not be sent, and repeating the call did not help.
        """
        await ask(
            lambda: to_its_end(self._writer.write(data)),
            self._pace,
            go_on=lambda: to_its_end(self._writer.write(b"")),
        )

    async def finish(self) -> Entry:
        """Close the file.

        Raises:
            StoreError: The file may not exist, and repeating the call did not help.
        """
        return await ask(self._finish, self._pace, go_on=self._finish)

    async def _finish(self) -> Entry:
        return await to_its_end(self._writer.finish())

    async def discard(self) -> None:
        """Remove what was written."""
        await classified(self._writer.discard())
