"""Credentials that many requests need at one moment, and that cannot be had."""

from __future__ import annotations

import asyncio
from traceback import walk_tb

import pytest

from fsspec_commit_stores.http.renewal import Renewal


class Host:
    """Gives out credentials, or fails after a while."""

    def __init__(self, *, fails: bool) -> None:
        self.fails = fails
        self.asked = 0
        self.gave = 0

    async def renew(self) -> int:
        if not self.gave:
            self.asked += 1
            await asyncio.sleep(0.03)
            if self.fails:
                raise OSError("no answer")
            self.gave = self.asked
        return self.gave


def test_a_failure_is_that_of_all_who_waited(runner: asyncio.Runner) -> None:
    """64 requests asked 64 times in a row."""
    host, renewal = Host(fails=True), Renewal()

    async def asked() -> None:
        told = await asyncio.gather(
            *(renewal.run(host.renew) for _ in range(8)), return_exceptions=True
        )
        assert {type(one) for one in told} == {OSError}
        assert host.asked == 1

    runner.run(asked())


def test_who_is_tried_again_asks_again(runner: asyncio.Runner) -> None:
    """Told the same at once, a request had used up its tries before the host was back."""
    host, renewal = Host(fails=True), Renewal()

    async def asked() -> int:
        for times in range(1, 8):
            with pytest.raises(OSError, match="no answer"):
                await renewal.run(host.renew)
            assert host.asked == times
        host.fails = False
        return await renewal.run(host.renew)

    assert runner.run(asked()) == 8


def test_all_together_ask_as_often_as_one_alone(runner: asyncio.Runner) -> None:
    """Those that are sent one after the other asked eight times each; later the host is asked."""
    host, renewal = Host(fails=True), Renewal()

    async def asked() -> int:
        for _ in range(8 * 8):
            with pytest.raises(OSError, match="no answer"):
                await renewal.run(host.renew)
        assert host.asked == 8
        host.fails = False
        await asyncio.sleep(0.06)
        return await renewal.run(host.renew)

    assert runner.run(asked()) == 9


def test_a_failure_does_not_keep_what_all_who_were_told_had_in_hand(
    runner: asyncio.Runner,
) -> None:
    """Each left its frames in the one traceback, with the bodies that it was to send."""
    host, renewal = Host(fails=True), Renewal()

    async def told() -> Exception:
        with pytest.raises(OSError, match="no answer") as caught:
            await renewal.run(host.renew)
        return caught.value

    async def asked() -> None:
        for _ in range(8):
            failure = await told()
        before = len(list(walk_tb(failure.__traceback__)))
        for _ in range(8):
            assert await told() is failure
        assert len(list(walk_tb(failure.__traceback__))) <= before

    runner.run(asked())


def test_what_one_has_renewed_is_there_for_all(runner: asyncio.Runner) -> None:
    """Also where the first was given up meanwhile."""
    host, renewal = Host(fails=False), Renewal()

    async def asked() -> list[int]:
        first, *others = [asyncio.ensure_future(renewal.run(host.renew)) for _ in range(4)]
        await asyncio.sleep(0)
        first.cancel()
        return await asyncio.gather(*others)

    assert runner.run(asked()) == [2, 2, 2]
