"""Idle clients of stores: kept open for a minute, in the pool of one event loop.

Opening a store takes a client, a connection, and often TLS and a request for credentials: for a
small job, more time than its requests. So a store that is closed leaves its client here, and
whoever opens the same store next begins with it.

A pool belongs to a loop that runs as long as its process: that of the bridge. Other loops have
none, and what is opened on them is closed with its job. In a forked child every client is still
the parent's: its connections lead to answers that the parent waits for.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable

from fsspec_commit.store.clients import Client

STORES_MAX = 8
"""The most stores whose clients are kept: those that were used last."""
IDLE_S = 60.0
AGE_S = 300.0
"""The age up to which a client is used again: nothing announces, say, a store's new address."""

_log = logging.getLogger("fsspec_commit")


class _Kept:
    """One client, and when it is closed if nobody takes it."""

    def __init__(self, client: Client, expiry: asyncio.TimerHandle) -> None:
        self.client = client
        self.expiry = expiry
        self.since_s = time.time()

    @property
    def is_fresh(self) -> bool:
        """Whether it may be used again, by the wall clock: the loop's may stop during suspend."""
        now_s = time.time()
        is_idle = 0 <= now_s - self.since_s <= IDLE_S
        return is_idle and 0 <= now_s - self.client.made_s <= AGE_S


class ClientPool:
    """The idle clients of one loop, used on that loop alone: the last one kept is taken first.

    It holds clients of few stores, but of each store as many as it had in use at once: a client is
    made only where none is left. Many jobs may end at one moment, and as many begin at the next.

    Args:
        loop: That loop.
        tell_first: Called when the first client is kept.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, tell_first: Callable[[], object] | None = None
    ) -> None:
        self._loop = loop
        self._tell_first = tell_first
        self._kept: dict[bytes, list[_Kept]] = {}
        """By key; the key for which a client was kept last comes last."""
        self._closing = set[asyncio.Task[None]]()
        self._is_closed = False

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    def take(self, key: bytes) -> Client | None:
        """A client that was kept under *key*; it is the caller's from now on."""
        kept = self._kept.get(key, [])
        while kept:
            found = kept[-1]
            self._remove(key, found)
            if found.is_fresh:
                return found.client
            self._close_later(found.client)
        return None

    def keep(self, key: bytes, client: Client) -> bool:
        """Take over a client that works, with nothing under way.

        Returns:
            Whether it is kept; if not, the caller closes it.
        """
        if self._is_closed or not 0 <= time.time() - client.made_s <= AGE_S:
            return False
        expiry = self._loop.call_later(IDLE_S, self._expire, key, client)
        self._kept[key] = [*self._kept.pop(key, ()), _Kept(client, expiry)]
        while len(self._kept) > STORES_MAX:
            self._close_all_of(next(iter(self._kept)))
        if self._tell_first is not None:
            self._tell_first()
            self._tell_first = None
        return True

    async def close(self) -> None:
        """Close all that are kept, and wait for those that are being closed."""
        for key in list(self._kept):
            self._close_all_of(key)
        while self._closing:
            await asyncio.wait(self._closing)

    async def end(self) -> None:
        """Close all that are kept, and keep none from now on."""
        self._is_closed = True
        await self.close()

    def _expire(self, key: bytes, client: Client) -> None:
        for one in self._kept.get(key, []):
            if one.client is client:
                self._remove(key, one)
                self._close_later(client)
                return

    def _close_all_of(self, key: bytes) -> None:
        for one in list(self._kept[key]):
            self._remove(key, one)
            self._close_later(one.client)

    def _remove(self, key: bytes, one: _Kept) -> None:
        one.expiry.cancel()
        kept = self._kept[key]
        kept.remove(one)
        if not kept:
            del self._kept[key]

    def _close_later(self, client: Client) -> None:
        task = self._loop.create_task(_closed(client))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


async def _closed(client: Client) -> None:
    try:
        await client.close()
    except Exception as error:  # noqa: BLE001  # nothing depends on it; its text may hold a secret
        _log.debug("a client that nobody used was not closed well: %s", type(error).__name__)


_pools: dict[asyncio.AbstractEventLoop, ClientPool] = {}
_left_to_parent: list[object] = []
"""The parent's pools, which a forked child never touches: collecting them would close them."""


def serve(
    loop: asyncio.AbstractEventLoop, *, tell_first: Callable[[], object] | None = None
) -> ClientPool:
    """Keep clients of *loop*, which runs as long as this process.

    Args:
        loop: That loop.
        tell_first: Called when the first client is kept: they must all be closed before exit.
    """
    for ended in [one for one in _pools if one.is_closed()]:
        del _pools[ended]
    return _pools.setdefault(loop, ClientPool(loop, tell_first=tell_first))


def of_running_loop() -> ClientPool | None:
    """The pool of the loop that runs in this thread, if it has one."""
    return _pools.get(asyncio.get_running_loop())


def kept() -> int:
    """How many clients are kept in this process."""
    return sum(map(len, _pools.values()))


async def close_idle() -> None:
    """Close all clients of the running loop that nobody uses."""
    pool = of_running_loop()
    if pool is not None:
        await pool.close()


async def end() -> None:
    """Close all clients of the running loop that nobody uses, and keep none from now on."""
    pool = of_running_loop()
    if pool is not None:
        await pool.end()


def _leave_to_parent() -> None:
    global _pools  # noqa: PLW0603  # one set of them per process
    _left_to_parent.append(_pools)
    _pools = {}


os.register_at_fork(after_in_child=_leave_to_parent)
