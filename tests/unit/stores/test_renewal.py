"""Credentials that many requests need at one moment, and that cannot be had."""

from __future__ import annotations

import asyncio

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
            await asyncio.sleep(0.05)
            if self.fails:
                raise OSError("no answer")
            self.gave = self.asked
        return self.gave


def test_a_failure_is_that_of_all_who_waited(runner: asyncio.Runner) -> None:
    """And of who comes soon after: 64 requests with eight tries each asked 512 times in a row."""
    host, renewal = Host(fails=True), Renewal()

    async def asked() -> None:
        told = await asyncio.gather(
            *(renewal.run(host.renew) for _ in range(8)), return_exceptions=True
        )
        assert {type(one) for one in told} == {OSError}
        assert host.asked == 1
        with pytest.raises(OSError, match="no answer"):
            await renewal.run(host.renew)
        assert host.asked == 1

    runner.run(asked())


def test_who_comes_later_asks_again(runner: asyncio.Runner) -> None:
    host, renewal = Host(fails=True), Renewal()

    async def asked() -> int:
        with pytest.raises(OSError, match="no answer"):
            await renewal.run(host.renew)
        host.fails = False
        await asyncio.sleep(0.06)
        return await renewal.run(host.renew)

    assert runner.run(asked()) == 2


def test_what_one_has_renewed_is_there_for_all(runner: asyncio.Runner) -> None:
    """Also where the first was given up meanwhile."""
    host, renewal = Host(fails=False), Renewal()

    async def asked() -> list[int]:
        first, *others = [asyncio.ensure_future(renewal.run(host.renew)) for _ in range(4)]
        await asyncio.sleep(0)
        first.cancel()
        return await asyncio.gather(*others)

    assert runner.run(asked()) == [2, 2, 2]
