"""Clients that nobody uses: which are kept, for how long, and that each is closed once."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING, cast

import pytest

from fsspec_commit import client_pool
from fsspec_commit.client_pool import AGE_S, IDLE_S, STORES_MAX, ClientPool
from fsspec_commit.sync import bridge

if TYPE_CHECKING:
    from collections.abc import Iterator


class FakeClient:
    """Counts how often it was closed."""

    def __init__(self, error: Exception | None = None) -> None:
        self.made_s = time.time()
        self.closed = 0
        self._error = error

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.closed += 1
        if self._error is not None:
            raise self._error


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def pool(runner: asyncio.Runner) -> Iterator[ClientPool]:
    pool = ClientPool(runner.get_loop())
    yield pool
    runner.run(pool.close())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock on the wall: its last reading."""
    readings = [time.time()]
    monkeypatch.setattr(time, "time", lambda: readings[-1])
    return readings


async def rest() -> None:
    """Until all that was begun has ended."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_client_has_one_user_at_a_time(pool: ClientPool) -> None:
    one, other = FakeClient(), FakeClient()
    assert pool.keep(b"a", one)
    assert pool.keep(b"a", other)
    assert pool.take(b"b") is None
    assert {pool.take(b"a"), pool.take(b"a")} == {one, other}
    assert pool.take(b"a") is None
    assert (one.closed, other.closed, len(pool)) == (0, 0, 0)


def test_the_last_that_was_kept_is_the_next_that_is_used(pool: ClientPool) -> None:
    """Its connections are most likely still open."""
    for client in [FakeClient() for _ in range(3)]:
        pool.keep(b"a", client)
    assert pool.take(b"a") is client


def test_of_the_stores_those_that_were_used_last_have_any(
    runner: asyncio.Runner, pool: ClientPool
) -> None:
    """However many one of them has; who uses one again is the last."""
    numbers = range(STORES_MAX + 2)
    clients = {number: [FakeClient() for _ in range(3)] for number in numbers}

    async def keep() -> None:
        for number, some in clients.items():
            for client in some:
                pool.keep(f"{number}".encode(), client)
            pool.keep(b"0", cast("FakeClient", pool.take(b"0")))
        await rest()

    runner.run(keep())
    closed = {number: [client.closed for client in some] for number, some in clients.items()}
    assert closed == {number: [int(number in {1, 2})] * 3 for number in numbers}
    assert len(pool) == 3 * STORES_MAX


CROWD = 100


class Crowd:
    """So many users of one store, who all end at the same moment, and all begin at the next."""

    def __init__(self, pool: ClientPool, key: bytes = b"a") -> None:
        self._pool = pool
        self._key = key
        self._clients = [FakeClient() for _ in range(CROWD)]

    async def end(self) -> int:
        """How many of their clients are closed."""
        ended, self._clients = self._clients, []
        for client in ended:
            self._pool.keep(self._key, client)
        await rest()
        return sum(client.closed for client in ended)

    def begin(self) -> int:
        """How many find one."""
        taken = [self._pool.take(self._key) for _ in range(CROWD)]
        self._clients = [one for one in taken if isinstance(one, FakeClient)]
        return len(self._clients)


def test_who_comes_in_crowds_finds_a_client_each(runner: asyncio.Runner, pool: ClientPool) -> None:
    """Also those of two stores in turn."""
    crowds = [Crowd(pool, b"a"), Crowd(pool, b"b")]
    for _ in range(3):
        assert [runner.run(crowd.end()) for crowd in crowds] == [0, 0]
        assert len(pool) == 2 * CROWD
        assert [crowd.begin() for crowd in crowds] == [CROWD, CROWD]


def test_what_a_crowd_has_left_is_closed_in_time(
    runner: asyncio.Runner, pool: ClientPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the one that somebody uses."""
    monkeypatch.setattr(client_pool, "IDLE_S", 0.02)

    async def wait() -> None:
        assert await Crowd(pool).end() == 0
        for _ in range(10):
            used = pool.take(b"a")
            await asyncio.sleep(0.01)
            assert isinstance(used, FakeClient)
            assert used.closed == 0
            pool.keep(b"a", used)
        assert len(pool) == 1

    runner.run(wait())


def test_who_goes_from_store_to_store_leaves_few(runner: asyncio.Runner, pool: ClientPool) -> None:
    """With two clients for each, as a driver has that runs a task of its own."""

    async def visit_all() -> None:
        for number in range(60):
            key = f"{number}".encode()
            used = [pool.take(key) or FakeClient() for _ in range(2)]
            for client in used:
                pool.keep(key, client)
        await rest()

    for _ in range(3):
        runner.run(visit_all())
        assert len(pool) == 2 * STORES_MAX


def test_what_nobody_takes_is_closed_in_time(
    runner: asyncio.Runner, pool: ClientPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_pool, "IDLE_S", 0.01)
    client = FakeClient()

    async def wait() -> None:
        pool.keep(b"a", client)
        await asyncio.sleep(0.05)

    runner.run(wait())
    assert (client.closed, len(pool)) == (1, 0)


def test_what_somebody_takes_has_its_time_anew(
    runner: asyncio.Runner, pool: ClientPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_pool, "IDLE_S", 0.2)
    client = FakeClient()

    async def wait() -> None:
        begin = asyncio.get_running_loop().time()
        pool.keep(b"a", client)
        await asyncio.sleep(0.1)
        assert pool.take(b"a") is client
        monkeypatch.setattr(client_pool, "IDLE_S", 60)
        pool.keep(b"a", client)
        await asyncio.sleep(begin + 0.25 - asyncio.get_running_loop().time())
        assert pool.take(b"a") is client

    runner.run(wait())


@pytest.mark.parametrize("later_s", [IDLE_S + 1, -1])
def test_a_process_that_slept_uses_no_old_connections(
    runner: asyncio.Runner, pool: ClientPool, clock: list[float], later_s: float
) -> None:
    """A laptop, or a container that was frozen: the loop's clock stood still."""
    client = FakeClient()
    pool.keep(b"a", client)
    clock.append(clock[-1] + later_s)

    async def take() -> None:
        assert pool.take(b"a") is None
        await rest()

    runner.run(take())
    assert client.closed == 1


def test_none_is_used_for_ever(pool: ClientPool, clock: list[float]) -> None:
    """What changes and tells nobody, as the address of a store, is found out at last."""
    client = FakeClient()
    used_s = 0.0
    while used_s <= AGE_S:
        assert pool.keep(b"a", client)
        assert pool.take(b"a") is client
        used_s += IDLE_S / 2
        clock.append(clock[0] + used_s)
    assert not pool.keep(b"a", client)


def test_one_that_grows_too_old_while_it_rests_is_not_used(
    runner: asyncio.Runner, pool: ClientPool, clock: list[float]
) -> None:
    client = FakeClient()
    clock.append(clock[-1] + AGE_S - 1)
    assert pool.keep(b"a", client)
    clock.append(clock[-1] + 2)

    async def take() -> None:
        assert pool.take(b"a") is None
        await rest()

    runner.run(take())
    assert client.closed == 1


def test_closing_waits_for_all_and_a_failure_is_no_error(
    runner: asyncio.Runner, pool: ClientPool
) -> None:
    clients = [FakeClient(), FakeClient(OSError("secret")), FakeClient()]
    for client in clients:
        pool.keep(b"a", client)
    runner.run(pool.close())
    runner.run(pool.close())
    assert [client.closed for client in clients] == [1, 1, 1]
    assert pool.keep(b"a", FakeClient())


def test_at_its_end_it_keeps_no_more(runner: asyncio.Runner, pool: ClientPool) -> None:
    runner.run(pool.end())
    assert not pool.keep(b"a", FakeClient())


def test_each_loop_has_its_own_and_one_that_has_ended_none() -> None:
    async def own() -> ClientPool | None:
        return client_pool.of_running_loop()

    assert asyncio.run(own()) is None
    of_bridge = bridge.run(own())
    assert of_bridge is not None
    with asyncio.Runner() as runner:
        ended = client_pool.serve(runner.get_loop())
        assert runner.run(own()) is ended is not of_bridge
    with asyncio.Runner() as runner:
        other = client_pool.serve(runner.get_loop())
        assert ended not in client_pool._pools.values()
        assert {of_bridge, other} <= set(client_pool._pools.values())
    del client_pool._pools[other._loop]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_takes_none_of_its_parent_s_and_closes_none() -> None:
    client = FakeClient()

    async def keep() -> bool:
        pool = client_pool.of_running_loop()
        return pool is not None and pool.keep(b"a", client)

    async def take() -> object:
        pool = client_pool.of_running_loop()
        assert pool is not None
        return pool.take(b"a")

    assert bridge.run(keep())
    child = os.fork()
    if child == 0:
        status = 1
        try:
            bridge._close_clients()
            bridge.run(client_pool.close_idle())
            if client_pool.kept() == 0 and bridge.run(take()) is None and not client.closed:
                status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert bridge.run(take()) is client


def test_all_are_closed_at_exit_once() -> None:
    program = """
        import asyncio, time
        from fsspec_commit import client_pool
        from fsspec_commit.sync import bridge

        class Client:
            made_s = time.time()
            async def close(self):
                await asyncio.sleep(0.01)
                print("closed")

        async def keep():
            client_pool.of_running_loop().keep(b"a", Client())

        bridge.run(keep())
        bridge.run(keep())
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("closed\nclosed\n", "", 0)
