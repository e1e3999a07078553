"""Tokens that are renewed while whoever asked for them is given up."""

from __future__ import annotations

import asyncio
import gc
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


def test_what_a_refresh_fails_for_that_was_given_up_is_not_logged(
    runner: asyncio.Runner, caplog: pytest.LogCaptureFixture
) -> None:
    """asyncio wrote it to stderr: whatever who gives out tokens has said."""
    credentials = Slow(OSError("secret"))

    async def given_up() -> None:
        authorization = Authorization(credentials)
        asking = asyncio.create_task(authorization.headers())
        await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.wait([asking])
        credentials.may.set()
        await asyncio.wait(
            [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]
        )

    runner.run(given_up())
    gc.collect()
    assert [one.message for one in caplog.records if one.name == "asyncio"] == []
