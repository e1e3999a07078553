"""What every group of the store contract starts from: fixtures, and a loop to drive a store with.

The tests are synchronous functions, so that the suite needs no plugin for asynchronous ones: each
body runs on the loop of the `runner` fixture, the one on which a subclass opens its store.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import wraps
from itertools import pairwise
from sys import getswitchinterval, setswitchinterval
from threading import Barrier
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.names import Target
from fsspec_commit.store import Content, Entry, Expect, Store

P = ParamSpec("P")
G = TypeVar("G", bound="Given")
T = TypeVar("T")

At: TypeAlias = Callable[[str], StorePath]
"""Where the store keeps a name that is relative to the destination."""
ReadRaw: TypeAlias = Callable[[StorePath], bytes | None]
"""Reads a file past the adapter; ``None`` when there is none."""
WriteRaw: TypeAlias = Callable[[StorePath, bytes], object]
"""Writes a file past the adapter, with the directories it needs."""
OpenAgain: TypeAlias = Callable[[], Awaitable[Store]]
"""Opens the same destination once more, on whatever loop is running."""
Contender: TypeAlias = Callable[[Store], Awaitable[object]]

CONTENDERS = 16
LIMIT_BYTES = 1 << 26
_LOOKS_MAX = 14  # each after a longer time: two seconds altogether


def driven(
    test: Callable[Concatenate[G, P], Awaitable[None]],
) -> Callable[Concatenate[G, P], None]:
    """Run an asynchronous test body on the loop of the `runner` fixture."""

    def run(self: G, /, *args: P.args, **kwargs: P.kwargs) -> None:
        async def body() -> None:
            await test(self, *args, **kwargs)

        self.loop_runner.run(body())

    return wraps(test)(run)


def requires(fact: object, name: str) -> None:
    """Skip a test of something that the store does not declare; there is no other skip."""
    if fact is None or fact is False:
        pytest.skip(f"this store does not declare {name}")


def requires_areas(store: Store) -> None:
    """Skip a test of areas removed by one rename, on a store that removes them in steps."""
    requires(store.directories, "atomic_rename=DIRECTORY")
    requires(store.capabilities.paged_listing is False, "paged_listing=False")


@contextmanager
def refused() -> Iterator[pytest.ExceptionInfo[StoreError]]:
    """Expect a ``StoreError`` that says: certainly without effect, and no use in repeating."""
    with pytest.raises(StoreError) as caught:
        yield caught
    assert caught.value.reply is Reply.REFUSED, f"reply is {caught.value.reply}: {caught.value}"


class Given:
    """The fixtures a subclass gives, and those it gets.

    Attributes:
        loop_runner: The runner of the running test.
    """

    loop_runner: asyncio.Runner

    @pytest.fixture(autouse=True)
    def runner(self) -> Iterator[asyncio.Runner]:
        """The loop of this test; open the store on it."""
        with asyncio.Runner() as runner:
            self.loop_runner = runner
            yield runner

    @pytest.fixture
    def store(self) -> Store:
        """An opened store on a fresh destination: give this one."""
        raise NotImplementedError("give a fixture 'store': an opened Store on a fresh destination")

    @pytest.fixture
    def read_raw(self) -> ReadRaw:
        """Read past the adapter: give this one."""
        raise NotImplementedError("give a fixture 'read_raw': (path) -> bytes | None")

    @pytest.fixture
    def write_raw(self) -> WriteRaw:
        """Write past the adapter: give this one."""
        raise NotImplementedError("give a fixture 'write_raw': (path, bytes) -> None")

    @pytest.fixture
    def open_again(self) -> OpenAgain | None:
        """Opens the destination of `store` again; with it, races run in threads, else in tasks."""
        return None

    @pytest.fixture
    def at(self, store: Store) -> At:
        """Where a relative name is on this store."""
        layout = DestinationLayout(store.root)
        return lambda name: layout.final(Target(name))


async def place(store: Store, at: At, **contents: bytes) -> None:
    """Put small files, by keyword; ``__`` in a keyword stands for a slash."""
    for name, data in contents.items():
        await place_at(store, at(name.replace("__", "/")), data)


async def place_at(store: Store, path: StorePath, data: bytes) -> None:
    """Put a small file, and every directory above it."""
    await store.put(path, data, expecting=Expect.ANYTHING, within=None)


async def content(store: Store, path: StorePath) -> bytes | None:
    """What the adapter reads at *path*."""
    found = await read_whole(store, path)
    return None if found is None else found.data


async def read_whole(
    store: Store, path: StorePath, *, limit_bytes: int = LIMIT_BYTES
) -> Content | None:
    """The file at *path*, asked for again while it is being replaced."""
    return await _patiently(lambda: store.read(path, limit_bytes=limit_bytes))


async def read_part(store: Store, path: StorePath, *, start: int, length: int) -> bytes | None:
    """A range of the file at *path*, asked for again while the file is being replaced."""
    return await _patiently(lambda: store.read_range(path, start=start, length=length))


async def _patiently(read: Callable[[], Awaitable[T]]) -> T:
    """What *read* returns, asked again after each `NOT_DONE`, as whoever settles a job asks."""
    for look in range(_LOOKS_MAX):
        try:
            return await read()
        except StoreError as error:
            if error.reply is not Reply.NOT_DONE:
                raise
        await asyncio.sleep(0.001 * 2 ** min(look, 8))
    return await read()


async def entry(store: Store, path: StorePath) -> Entry:
    """The file at *path*, which must be there."""
    found = await store.stat(path)
    assert isinstance(found, Entry), f"{path!r}: {found}"
    return found


async def tree(store: Store, path: StorePath) -> list[StorePath]:
    """Every file below *path*, sorted; none twice."""
    listed = sorted([found.path async for found in store.list_tree(path)])
    twice = [one for one, following in pairwise(listed) if one == following]
    assert not twice, f"listed twice: {twice}"
    return listed


async def contend(
    store: Store, open_again: OpenAgain | None, contenders: Sequence[Contender]
) -> list[int]:
    """Run all *contenders* at once, and return which of them succeeded.

    The others must have been told that nothing happened: no loser is left in doubt.
    """
    if open_again is None:
        answers = await asyncio.gather(
            *(contender(store) for contender in contenders), return_exceptions=True
        )
    else:
        answers = await _in_threads(open_again, contenders)
    for answer in answers:
        if isinstance(answer, StoreError):
            assert answer.reply is not Reply.UNKNOWN, f"a loser is left in doubt: {answer}"
        elif isinstance(answer, BaseException):
            raise answer
    return [
        number for number, answer in enumerate(answers) if not isinstance(answer, BaseException)
    ]


async def _in_threads(
    open_again: OpenAgain, contenders: Sequence[Contender]
) -> list[object | BaseException]:
    starting = Barrier(len(contenders))

    async def contest(contender: Contender) -> object:
        store = await open_again()
        try:
            starting.wait()
            return await contender(store)
        finally:
            await store.close()

    def thread(contender: Contender) -> object:
        return asyncio.run(contest(contender))

    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(len(contenders)) as threads, _threads_switching_often():
        return await asyncio.gather(
            *(loop.run_in_executor(threads, thread, contender) for contender in contenders),
            return_exceptions=True,
        )


@contextmanager
def _threads_switching_often() -> Iterator[None]:
    """A race that needs an unlucky moment gets many."""
    usual = getswitchinterval()
    setswitchinterval(1e-6)
    try:
        yield
    finally:
        setswitchinterval(usual)
