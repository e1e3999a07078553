"""Credentials that run out while many requests are under way: renewed by one of them for all."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

_REMEMBERED_S_MAX = 5.0


class Renewal:
    """Lets one after the other renew what they share; a failure is that of all who waited for it.

    Each would find nothing renewed, and ask again: where whoever gives out credentials does not
    answer, as many timeouts in a row as there are requests and tries of them, which is hours. So
    nobody asks again for as long as it took to fail.
    """

    def __init__(self) -> None:
        self._asking = asyncio.Lock()
        self._failure: Exception | None = None
        self._failed_until_s = 0.0

    async def run(self, renew: Callable[[], Awaitable[T]]) -> T:
        """Call *renew*, which asks only for what is not there yet.

        Raises:
            Exception: Whatever it raises, or what another has been told just before.
        """
        loop = asyncio.get_running_loop()
        async with self._asking:
            began_s = loop.time()
            if self._failure is not None and began_s < self._failed_until_s:
                raise self._failure
            self._failure = None
            try:
                return await renew()
            except Exception as error:
                self._failure, failed_s = error, loop.time()
                self._failed_until_s = failed_s + min(failed_s - began_s, _REMEMBERED_S_MAX)
                raise
