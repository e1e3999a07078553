"""The client of an opened store: one that was kept when another was closed, or a new one.

What is new with each opening: all that was seen and counted, and how long to wait for an endpoint
that has never answered. What may pass on: connections, what was found out about credentials, how
requests are put together, and the facts by which a committer is chosen. Each job asks for these
facts anew, but while it begins, and not before.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Generic, TypeVar

from fsspec.config import conf

from fsspec_commit.store import OpenOptions
from fsspec_commit.store.clients import Clients
from fsspec_commit_stores.http.client_keys import key_of, own
from fsspec_commit_stores.http.connections import Connections, are_short, to_open
from fsspec_commit_stores.http.opening import is_wanted

F = TypeVar("F")
T = TypeVar("T")
Close = Callable[[], Coroutine[Any, Any, None]]
Make = Callable[[OpenOptions], Awaitable[tuple[T, Close]]]

_KEPT = "kept_clients"


class _Keeping:
    """Keeps a client under the key of what it was made from, if that is still the same.

    Until it is let go of, a client may read any of that at any time: an SDK looks for credentials
    when it first sends something.
    """

    def __init__(self, clients: Clients, key: bytes, look: Callable[[], bytes | None]) -> None:
        """Keep it with *clients* under *key*, which *look* finds until something changes."""
        self._clients = clients
        self._key = key
        self._look = look

    @property
    def is_unchanged(self) -> bool:
        """Whether a client that is made now would be known by the same key."""
        return self._look() == self._key

    def keep(self, client: "Client[Any]") -> bool:
        """Whether *client* is kept; if not, the caller closes it."""
        return self.is_unchanged and self._clients.keep(self._key, client)


class Client(Generic[T]):
    """What one opened store sends its requests through, and no other store meanwhile.

    Attributes:
        made: What the adapter has made.
        facts: Those by which committers were chosen with it; to be confirmed before they count.
        connections: How many connections there may be.
        made_s: When it was made, by the clock on the wall.
    """

    def __init__(
        self,
        made: T,
        close: Close,
        connections: Connections,
        keeping: _Keeping | None = None,
    ) -> None:
        """Hold *made*, which *close* closes, if *keeping* does not keep it for the next."""
        self.made = made
        self.connections = connections
        self.made_s = time.time()
        self.facts: dict[object, object] = {}
        self._close = close
        self._keeping = keeping

    async def let_go(self, *, is_sound: bool) -> None:
        """Leave the client to the next opening; close it if it is not sound, or cannot be kept."""
        if is_sound and self._keeping is not None:
            self.connections.is_resting = True
            if self._keeping.keep(self):
                return
        await self.close()

    async def close(self) -> None:
        """Close the connections, and let other clients have them."""
        try:
            await self._close()
        finally:
            self.connections.give_back()


async def client_of(
    url: str,
    options: OpenOptions,
    made_from: tuple[object, ...],
    make: Make[T],
    *,
    files: Iterable[str] = (),
) -> Client[T]:
    """A client for the store at *url* that nobody else uses.

    Args:
        url: For messages.
        options: The user's.
        made_from: The kind of client, and what of the URL it is made from.
        make: Makes a client, with as many connections as the options that it is called with say.
        files: Where the client looks for credentials by itself.

    Raises:
        RequestError: The option that forbids keeping clients is neither on nor off.
        Exception: Whatever *make* raises.
    """
    kept = options.clients if is_wanted(url, options, _KEPT) else None
    given = {name: value for name, value in options.storage_options.items() if name != _KEPT}
    keeping = None
    if kept is not None:
        look = partial(key_of, *made_from, options.concurrency, conf, files=files)
        key = look(options=given)
        if key is not None:
            # The client reads them as long as it lives, and they are part of its key.
            given = own(given)
            keeping = _Keeping(kept, key, partial(look, options=given))
            # So that the loop first notices the connections that the server has closed: it may not
            # have run for as long as nobody used them.
            await asyncio.sleep(0)
            found = kept.take(key)
            if isinstance(found, Client) and found.connections.are_enough:
                found.connections.is_resting = False
                return found
            if found is not None:
                # How that ends does not matter here: the client may be at odds with its network.
                with suppress(Exception):
                    await found.close()
        if options.concurrency is None and are_short():
            await kept.close()
    with to_open(options.concurrency) as connections:
        most = connections.most
        made, close = await make(replace(options, storage_options=given, concurrency=most))
        is_known = keeping is not None and keeping.is_unchanged
        return Client(made, close, connections, keeping if is_known else None)


async def facts_for(
    client: Client[Any], options: OpenOptions, about: object, ask: Callable[[], Awaitable[F]]
) -> F:
    """The facts by which a committer is chosen: asked now, or remembered and confirmed later.

    Args:
        client: Remembers what was asked with it.
        options: Say whether something may be remembered, and ask again.
        about: What the facts are about.
        ask: Asks the store.

    Raises:
        Exception: Whatever *ask* raises.
    """

    async def asked() -> F:
        client.facts.pop(about, None)
        client.facts[about] = found = await options.ask(ask)
        return found

    if options.later is None or about not in client.facts:
        return await asked()
    remembered: Any = client.facts[about]

    async def hold() -> bool:
        return bool(await asked() == remembered)

    options.later(hold)
    facts: F = remembered
    return facts
