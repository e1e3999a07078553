"""What an adapter has made to reach a store, kept for whoever opens the same store next.

A client is used by one opened store at a time, so that nothing but its connections, and what it
knows of its credentials, passes from one to the next. It is known by a key, which an adapter makes
of all that a client depends on; what a key is made of, such as secrets, must not show in it.
"""

from typing import Protocol


class Client(Protocol):
    """Connections to a store and what belongs to them; of one event loop."""

    @property
    def made_s(self) -> float:
        """When it was made, by the wall clock."""

    async def close(self) -> None:
        """Close the connections; once is enough."""


class Clients(Protocol):
    """The idle clients of one event loop, known to that loop only."""

    def take(self, key: bytes) -> Client | None:
        """A client that was kept under *key*; it is the caller's from now on."""

    def keep(self, key: bytes, client: Client) -> bool:
        """Take over a client that works, with nothing under way.

        Returns:
            Whether it is kept; if not, the caller closes it.
        """

    async def close(self) -> None:
        """Close all that are kept."""
