"""However many files are written at once, few blocks go beside the first of each."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.azure import writing
from fsspec_commit_stores.azure.ahead import AHEAD_MAX, BlocksAhead
from fsspec_commit_stores.azure.requests import Container

if TYPE_CHECKING:
    from fsspec_commit_stores.azure.writing import BlobWriter
    from tests.unit.stores.azure.scripted import ScriptedAzure

ROOT = StorePath("bucket")
BLOCK_BYTES = 4
FILES = 12
BLOCKS = 10


class File:
    """Any file."""


def test_one_alone_has_what_all_may_have() -> None:
    assert BlocksAhead().at_once_max(File()) == 1 + AHEAD_MAX


def test_what_a_file_has_is_given_back() -> None:
    ahead, files = BlocksAhead(), [File() for _ in range(3)]

    def most() -> list[int]:
        return [ahead.at_once_max(file) for file in files]

    ahead.note(files[0], 9)
    assert most() == [9, 1, 1]
    ahead.note(files[0], 7)
    assert most() == [9, 3, 3]
    ahead.note(files[1], 3)
    assert most() == [5, 3, 1]  # The first has more than that, and is given no other.
    ahead.note(files[0], 5)
    assert most() == [5, 5, 3]
    ahead.note(files[2], 3)
    assert most() == [4, 3, 3]  # Two of the three have one more, in the end.
    ahead.note(files[1], 1)
    assert most() == [4, 3, 4]  # It is being written, so it has a share.
    ahead.note(files[1], 0)
    assert most() == [5, 3, 5]
    del files[0]  # Abandoned.
    assert most() == [5, 9]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 8, 9, 12])
def test_all_that_may_go_ahead_does_and_evenly(count: int) -> None:
    """Whoever began has all of it first; a block of each file is stored at a time."""
    ahead, files = BlocksAhead(), [File() for _ in range(count)]
    blocks = dict.fromkeys(files, 0)

    def send(some: list[File]) -> None:
        for file in some:
            while blocks[file] < ahead.at_once_max(file):
                blocks[file] += 1
                ahead.note(file, blocks[file])

    send(files[:1])
    assert blocks[files[0]] == 1 + AHEAD_MAX
    for _ in range(AHEAD_MAX):
        for file in files:
            if blocks[file]:
                blocks[file] -= 1
                ahead.note(file, blocks[file])
            send(files)
    assert sum(blocks.values()) == count + AHEAD_MAX
    assert max(blocks.values()) - min(blocks.values()) <= 1


@dataclass
class Account:
    """Takes blocks, and answers when it is told to.

    Attributes:
        now: How many blocks of each file are on their way.
        most: How many blocks there were at once, of all files.
        most_of_a_file: The same of one.
        answers: How many are answered yet, in the order in which they came.
        failing: How many are answered with an error.
    """

    now: dict[StorePath, int] = field(default_factory=dict)
    most: int = 0
    most_of_a_file: int = 0
    answers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    failing: int = 0

    async def send(self, _operation: str, path: StorePath, **_: Any) -> None:
        self.now[path] = self.now.get(path, 0) + 1
        self.most = max(self.most, sum(self.now.values()))
        self.most_of_a_file = max(self.most_of_a_file, self.now[path])
        try:
            await self.answers.acquire()
            if self.failing:
                self.failing -= 1
                raise StoreError("busy", reply=Reply.NOT_DONE)
        finally:
            self.now[path] -= 1


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Account:
    account = Account()
    monkeypatch.setattr(writing, "_BLOCK_BYTES", BLOCK_BYTES)
    monkeypatch.setattr(Container, "send", lambda _, *given, **more: account.send(*given, **more))
    return account


class Files:
    """Files of one store that are written at once, each block by block."""

    def __init__(self, gen2: ScriptedAzure, count: int) -> None:
        self.ahead = (store := gen2.store)._ahead
        self.writers = [store.writer(StorePath(f"bucket/{n}"), within=ROOT) for n in range(count)]
        self.held_bytes_max = 0

    async def write(self, writer: BlobWriter) -> None:
        """All blocks of a file, and a byte; a block that fails is sent again."""
        for data in [bytes(BLOCK_BYTES)] * BLOCKS + [b"1"]:
            pending = data
            while True:
                try:
                    await writer.write(pending)
                    break
                except StoreError:
                    pending = b""
                finally:
                    self.held_bytes_max = max(self.held_bytes_max, self.held_bytes)

    @property
    def held_bytes(self) -> int:
        return sum(
            len(one._file.held) + sum(map(len, one._unsent.values())) for one in self.writers
        )


async def until_all_wait(tasks: list[asyncio.Task[None]]) -> None:
    """Until nothing goes on by itself: each answer takes few turns of the loop."""
    for _ in range(20 * len(tasks)):
        await asyncio.sleep(0)


@pytest.mark.parametrize("failing", [0, 1, 20, 50])
def test_what_all_files_hold_is_bounded(
    gen2: ScriptedAzure, account: Account, failing: int
) -> None:
    account.failing = failing
    files = Files(gen2, FILES)

    async def written() -> None:
        tasks = [asyncio.ensure_future(files.write(one)) for one in files.writers]
        await until_all_wait(tasks)
        assert sum(account.now.values()) == FILES + AHEAD_MAX
        assert sorted(account.now.values(), reverse=True) == [1 + AHEAD_MAX, *[1] * (FILES - 1)]
        for _ in range(FILES * BLOCKS + failing):
            account.answers.release()
            await until_all_wait(tasks)
        assert all(task.done() for task in tasks)
        await asyncio.gather(*tasks)
        assert account.most == FILES + AHEAD_MAX
        # A block of each file is on its way, one is to follow, and one is just being written.
        assert files.held_bytes_max <= BLOCK_BYTES * (3 * FILES + AHEAD_MAX)
        for _ in range(FILES + AHEAD_MAX):
            account.answers.release()
        for one in files.writers:
            await one.discard()
        assert files.ahead.at_once_max(files) == 1 + AHEAD_MAX

    gen2.run(written())


def test_one_file_alone_has_all(gen2: ScriptedAzure, account: Account) -> None:
    """Also after others, however these came to their end."""
    files = Files(gen2, FILES)

    async def written() -> None:
        tasks = [asyncio.ensure_future(files.write(one)) for one in files.writers[:-1]]
        await until_all_wait(tasks)
        discards = [asyncio.ensure_future(one.discard()) for one in files.writers[:-1]]
        for _ in range(FILES + AHEAD_MAX):
            account.answers.release()
        await asyncio.gather(*discards)
        told = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(one, ValueError) for one in told)
        assert not any(account.now.values())
        last = asyncio.ensure_future(files.write(files.writers[-1]))
        await until_all_wait([last])
        assert sum(account.now.values()) == 1 + AHEAD_MAX
        for _ in range(BLOCKS):
            account.answers.release()
        await last
        await files.writers[-1].discard()

    gen2.run(written())
    assert account.most_of_a_file == 1 + AHEAD_MAX


def test_what_is_stored_or_discarded_is_nobody_s_any_more(
    gen2: ScriptedAzure, account: Account
) -> None:
    """Also of a file that is written no further, and of blocks that have failed."""
    files = Files(gen2, 3)

    async def answered(count: int) -> None:
        for _ in range(count):
            account.answers.release()
        await until_all_wait([asyncio.ensure_future(asyncio.sleep(0))])

    async def written() -> None:
        stored, failing, other = files.writers
        await stored.write(bytes(5 * BLOCK_BYTES))
        await answered(4)
        assert files.ahead.at_once_max(other) == 1 + AHEAD_MAX
        account.failing = 2
        await failing.write(bytes(4 * BLOCK_BYTES))
        await answered(3)
        assert files.ahead.at_once_max(other) == 1 + AHEAD_MAX // 2
        await failing.discard()
        assert files.held_bytes == 1 * BLOCK_BYTES
        assert files.ahead.at_once_max(other) == 1 + AHEAD_MAX
        await stored.discard()

    gen2.run(written())
