"""Tokens that are renewed while whoever asked for them is given up."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from fsspec_commit_stores.gcs.credentials import Authorization
from tests.unit.stores.gcs.tokens import Renewed


class Slow(Renewed):
    """Gives out a token, or fails, when it is let."""

    def __init__(self, failure: Exception | None) -> None:
        super().__init__(failure=failure, expired=True)
        self.may = threading.Event()

    def refresh(self, request: Any) -> None:
        self.may.wait(10)
        super().refresh(request)


@pytest.mark.parametrize("failure", [None, OSError("503")], ids=["given", "failed"])
def test_one_refresh_is_under_way_at_a_time(
    runner: asyncio.Runner, failure: Exception | None
) -> None:
    """Each who was given up, as by Ctrl-C, left one in a thread, and the next began another."""
    credentials = Slow(failure)
    authorization = Authorization(credentials)

    async def asked() -> dict[str, str] | BaseException:
        for _ in range(3):
            given_up = asyncio.create_task(authorization.headers())
            await asyncio.sleep(0.01)
            given_up.cancel()
            await asyncio.wait([given_up])
        asking = asyncio.create_task(authorization.headers())
        await asyncio.sleep(0.01)
        credentials.may.set()
        [told] = await asyncio.gather(asking, return_exceptions=True)
        return told

    told = runner.run(asked())
    assert credentials.asked == 1
    assert told == (failure or {"authorization": "Bearer token-1"})
