"""A client is kept for those who ask for what it was made from, whatever changes meanwhile."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.client_pool import ClientPool
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.http.clients import Client, client_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WHO = "FSSPEC_COMMIT_TEST_WHO"
AS_A = {"client_kwargs": {"token": "a"}}


class Openings:
    """Stores of one account, of which a client says as whom it was made."""

    def __init__(self, pool: ClientPool) -> None:
        self.made = 0
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self._pool = pool

    async def open(self, options: dict[str, Any], *files: str) -> Client[tuple[str, str]]:
        async def make(given: OpenOptions) -> tuple[tuple[str, str], Any]:
            await self.goes_on.wait()
            self.made += 1
            read: Any = given.storage_options
            return (os.environ[WHO], read["client_kwargs"]["token"]), lambda: asyncio.sleep(0)

        opening = OpenOptions(storage_options=options, clients=self._pool, concurrency=4)
        return await client_of("s3://bucket/out", opening, ("test",), make, files=files)

    async def begun(self, options: dict[str, Any]) -> asyncio.Task[Client[tuple[str, str]]]:
        """An opening that has begun, and makes its client when told to go on."""
        self.goes_on.clear()
        opening = asyncio.create_task(self.open(options))
        await asyncio.sleep(0)
        return opening

    async def made_now(self) -> tuple[str, str]:
        """As whom the client of a later opening was made."""
        later = await self.open(AS_A)
        await later.let_go(is_sound=True)
        return later.made


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Iterator[asyncio.Runner]:
    monkeypatch.setenv(WHO, "a")
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def openings(runner: asyncio.Runner) -> Iterator[Openings]:
    pool = ClientPool(runner.get_loop())
    yield Openings(pool)
    runner.run(pool.close())


def test_the_next_who_asks_for_the_same_has_it(runner: asyncio.Runner, openings: Openings) -> None:
    async def twice() -> None:
        assert [await openings.made_now(), await openings.made_now()] == [("a", "a")] * 2
        assert openings.made == 1

    runner.run(twice())


def test_options_that_change_while_it_is_made_are_not_what_it_is_known_by(
    runner: asyncio.Runner, openings: Openings
) -> None:
    """Whoever renews a token in place, in a thread of its own."""

    async def renewed() -> None:
        options = {"client_kwargs": {"token": "a"}}
        opening = await openings.begun(options)
        options["client_kwargs"]["token"] = "b"
        openings.goes_on.set()
        await (await opening).let_go(is_sound=True)
        assert await openings.made_now() == ("a", "a")

    runner.run(renewed())


def test_an_environment_that_changes_while_it_is_made_is_not_what_it_is_known_by(
    runner: asyncio.Runner, openings: Openings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def changed() -> None:
        opening = await openings.begun(AS_A)
        monkeypatch.setenv(WHO, "b")
        openings.goes_on.set()
        client = await opening
        monkeypatch.setenv(WHO, "a")
        await client.let_go(is_sound=True)
        assert await openings.made_now() == ("a", "a")

    runner.run(changed())


def test_what_has_changed_when_it_is_let_go_may_be_what_it_has_read_late(
    runner: asyncio.Runner, openings: Openings, tmp_path: Path
) -> None:
    """SDKs look for credentials when they first send something."""
    credentials = tmp_path / "credentials"
    credentials.write_text("a", "utf-8")

    async def changed() -> None:
        client = await openings.open(AS_A, str(credentials))
        credentials.write_text("of b", "utf-8")
        await client.let_go(is_sound=True)
        assert len(openings._pool) == 0

    runner.run(changed())
