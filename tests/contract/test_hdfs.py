"""The HDFS store keeps the contract on a real cluster, through both of its clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.testing import StoreContract
from fsspec_commit_stores.hdfs import HdfsStore
from tests.contract.on_bucket import OnBucket
from tests.servers.hdfs.kinds import LISTED_AT_ONCE
from tests.sweeps import some_tests_by_day

if TYPE_CHECKING:
    import asyncio

    from tests.servers.hdfs.plugin import HdfsDirectory


@some_tests_by_day(2, everywhere=True)
class TestHdfsStore(OnBucket, StoreContract):
    page_entries = LISTED_AT_ONCE

    @pytest.fixture
    def adapter(self) -> type[HdfsStore]:
        return HdfsStore

    @pytest.fixture
    def bucket(self, hdfs_directory: HdfsDirectory) -> HdfsDirectory:
        return hdfs_directory

    def test_names_of_any_letters_are_listed_whole(
        self, runner: asyncio.Runner, store: HdfsStore, hdfs_directory: HdfsDirectory
    ) -> None:
        """The NameNode orders names by signed bytes: a page of these ends before all the others."""
        directory = StorePath(f"{store.root}/d")
        names = [f"{letter}{number:03}" for letter in "éa" for number in range(LISTED_AT_ONCE)]
        for name in names:
            hdfs_directory.write(f"{directory}/{name}", b"")

        async def children() -> list[str]:
            return [child.path async for child in store.list_children(directory)]

        shown = runner.run(children())
        assert sorted(shown) == sorted(f"{directory}/{name}" for name in names)
