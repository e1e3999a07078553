"""A file written through the loop, on a store where a chunk may be refused or its answer lost."""

from fsspec_commit.effects.confirm import ask, classified
from fsspec_commit.effects.pacing import Pace
from fsspec_commit.store import Entry, Writer


class ConfirmedWriter:
    """A writer that is asked again as long as it says that it can go on.

    What was sent, only the store's own writer knows: it looks, and sends what is missing.
    """

    def __init__(self, writer: Writer[Entry], pace: Pace) -> None:
        self._writer = writer
        self._pace = pace

    async def write(self, data: bytes) -> None:
        """Append *data*.

        Raises:
            StoreError: It could not be sent, and asking again did not help.
        """
        await ask(
            lambda: self._writer.write(data), self._pace, go_on=lambda: self._writer.write(b"")
        )

    async def finish(self) -> Entry:
        """Close the file.

        Raises:
            StoreError: It is not certain that it stands, and asking again did not help.
        """
        return await ask(self._writer.finish, self._pace, go_on=self._writer.finish)

    async def discard(self) -> None:
        """Leave nothing of it."""
        await classified(self._writer.discard())
