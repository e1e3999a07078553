"""Every lie about renames, of files and of directories, is found out."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.selection import choose
from fsspec_commit.store import AtomicRename, Expect, Expectation, Token
from fsspec_commit.store.capabilities import differences
from fsspec_commit_stores.memory import CAPABILITIES, MemoryStore
from tests.unit.store.probing import found, probed, refuse, root


async def refusing(path: StorePath) -> None:
    raise refuse(path)


class Files:
    """Renames of files as a lying store does them."""

    def __init__(self, store: MemoryStore, lie: str) -> None:
        self.store, self.lie = store, lie
        self.under_way = set[StorePath]()
        self.arrived = set[StorePath]()

    async def rename(
        self,
        source: StorePath,
        target: StorePath,
        *,
        token: Token | None,
        expecting: Expectation,
        within: StorePath,
    ) -> None:
        honest = MemoryStore(self.store.root).files
        assert honest is not None
        rename = partial(honest.rename, source, target, token=token, within=within)
        match self.lie:
            case "overwrites":
                await rename(expecting=Expect.ANYTHING)
            case "checks first":
                if await self.store.stat(target) is not None:
                    raise refuse(target)
                await asyncio.sleep(0)
                await rename(expecting=Expect.ANYTHING)
            case "stumbles":
                if target in self.under_way:
                    raise refuse(target)
                self.under_way.add(target)
                await asyncio.sleep(0)
                self.under_way.remove(target)
                await rename(expecting=Expect.ANYTHING)
            case "once a name":
                await (refusing(target) if target in self.arrived else rename(expecting=expecting))
                self.arrived.add(target)
            case "says yes":
                pass
            case "refuses":
                await refusing(target)
            case _:
                content = await self.store.read(source, limit_bytes=1 << 20)
                assert content is not None
                asked = Expect.ANYTHING if "overwrites" in self.lie else expecting
                await self.store.put(target, content.data, expecting=asked, within=within)
                if "deletes" in self.lie:
                    await self.store.delete(source, expecting=Expect.ANYTHING)


@pytest.mark.parametrize(
    ("lie", "lies"),
    [
        ("overwrites", {"exclusive_rename"}),
        ("checks first", {"exclusive_rename"}),
        ("stumbles", {"exclusive_rename"}),
        ("once a name", {"exclusive_rename"}),
        ("copies", {"atomic_rename", "token_survives_rename"}),
        ("copies and deletes", {"atomic_rename", "token_survives_rename"}),
        (
            "copies and overwrites",
            {"atomic_rename", "exclusive_rename", "token_survives_rename"},
        ),
        ("says yes", {"atomic_rename", "exclusive_rename"}),
        ("refuses", {"atomic_rename", "exclusive_rename"}),
    ],
)
def test_a_lying_rename_is_found_out(lie: str, lies: set[str]) -> None:
    store = MemoryStore(root())
    store.files = Files(store, lie)
    assert found(store) == lies


def test_a_copy_that_keeps_the_source_is_found_out_where_tokens_are_not_kept() -> None:
    store = MemoryStore(root())
    store.capabilities = CAPABILITIES.known("declared", token_survives_rename=False)
    store.files = Files(store, "copies")
    assert found(store) == {"atomic_rename"}


class Directories:
    """Renames of directories as a lying store does them."""

    def __init__(self, store: MemoryStore, lie: str) -> None:
        self.store, self.lie = store, lie

    async def rename_directory(
        self, source: StorePath, target: StorePath, *, within: StorePath
    ) -> None:
        if self.lie == "refuses":
            raise refuse(target)
        async for entry in self.store.list_tree(source):
            content = await self.store.read(entry.path, limit_bytes=1 << 20)
            assert content is not None
            copy = StorePath(target + entry.path[len(source) :])
            if self.lie != "says yes":
                await self.store.put(copy, content.data, expecting=Expect.ANYTHING, within=within)
        if self.lie == "merges":
            await self.store.delete_tree(source)


@pytest.mark.parametrize("lie", ["refuses", "copies", "merges", "says yes"])
def test_a_lying_rename_of_directories_is_found_out(lie: str) -> None:
    store = MemoryStore(root())
    store.directories = Directories(store, lie)
    observed = probed(store)
    assert observed.atomic_rename is AtomicRename.FILE
    assert differences(store.capabilities, observed) == (
        "atomic_rename: declared 'directory', observed 'file'",
    )
    assert choose(observed).committer == "manifest"
