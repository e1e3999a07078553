"""Credentials that run out while many requests are under way: renewed by one of them for all."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

_ASKED_MAX = 8
"""How many renewals in a row may fail: as many as one request has tries."""
_REMEMBERED_S_MAX = 5.0


class Renewal:
    """Lets one request at a time renew what all share; if it fails, so do all that waited for it.

    Otherwise each would find nothing renewed, and ask again: where whoever gives out credentials
    does not answer, that is one timeout after another for each try of each request, which is hours.
    All together ask as often as one alone that is tried again. After that nobody asks for as long
    as the last renewal took to fail, at most 5 s, so that the requests that are left use up their
    tries.
    """

    def __init__(self) -> None:
        self._asking = asyncio.Lock()
        self._failure: Exception | None = None
        self._failures = 0
        self._in_a_row = 0
        self._failed_until_s = 0.0

    async def run(self, renew: Callable[[], Awaitable[T]]) -> T:
        """Call *renew*, which asks only for what is not there yet.

        Raises:
            Exception: Whatever *renew* raises, or has raised for another meanwhile or just before.
        """
        loop = asyncio.get_running_loop()
        failures = self._failures
        async with self._asking:
            began_s = loop.time()
            is_told = failures < self._failures or began_s < self._failed_until_s
            if self._failure is not None and is_told:
                # Else it would hold the frames, and so the bodies, of all that it was raised to.
                raise self._failure.with_traceback(None)
            try:
                renewed = await renew()
            except Exception as error:
                self._remember(error, began_s, loop.time())
                raise
            self._failure, self._in_a_row = None, 0
            return renewed

    def _remember(self, failure: Exception, began_s: float, failed_s: float) -> None:
        self._failure = failure
        self._failures += 1
        self._in_a_row += 1
        if self._in_a_row == _ASKED_MAX:
            self._in_a_row = 0
            self._failed_until_s = failed_s + min(failed_s - began_s, _REMEMBERED_S_MAX)
