"""Listings page by page, of either client, on a cluster that breaks off; and trees at once."""

from __future__ import annotations

import asyncio
import json
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.hdfs import HdfsStore
from fsspec_commit_stores.hdfs.native import NativeRequests
from tests.unit.stores.asking import ask_twice
from tests.unit.stores.responder import Answer, Received

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit_stores.hdfs.requests import Pages
    from tests.unit.stores.hdfs.scripted import ScriptedHdfs

ROOT = StorePath("/out")
NAMES = [f"é{number}" for number in range(4)] + [f"a{number}" for number in range(4)]
"""As the NameNode orders them, whose bytes have a sign."""
PAGE = 2


async def listed(store: HdfsStore) -> list[str]:
    try:
        return [entry.path.rpartition("/")[2] async for entry in store.list_tree(ROOT)]
    finally:
        await store.close()


class BreakingClient:
    """hdfs-native's, whose listings break off: each time after so many more names."""

    def __init__(self, *breaks: int, names: list[str] = NAMES) -> None:
        self.names = names
        self.breaks = list(breaks)
        self.begun = 0

    def list_status(self, path: str) -> Iterator[Any]:
        self.begun += 1
        end = self.breaks.pop(0) if self.breaks else None
        for name in self.names[:end]:
            yield SimpleNamespace(path=f"{path}/{name}", isdir=False, length=1, modification_time=1)
        if end is not None:
            raise RuntimeError("the connection was reset")


def native(client: Any, *, threads: int = 1) -> HdfsStore:
    requests = NativeRequests(client, "hdfs://nn", timeout_s=10, threads=threads, how_to_write={})
    return HdfsStore(requests, ROOT, ask_twice)


class TestNative:
    @pytest.fixture(autouse=True)
    def pages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("fsspec_commit_stores.hdfs.native._LISTED_AT_ONCE", PAGE)

    def test_it_does_not_say_what_is_of_one_moment(self) -> None:
        """The client pages by itself, and nobody knows how often it has asked."""
        assert native(BreakingClient()).at_once is None

    def test_it_goes_on_behind_the_last_name(self) -> None:
        client = BreakingClient(3, 5)
        assert asyncio.run(listed(native(client))) == NAMES
        assert client.begun == 3

    def test_whose_first_names_are_not_given_is_not_asked_again(self) -> None:
        """Who lists does that, and would ask too often."""
        client = BreakingClient(1)
        with pytest.raises(StoreError):
            asyncio.run(listed(native(client)))
        assert client.begun == 1

    def test_where_the_last_name_has_gone_it_is_an_error(self) -> None:
        """Names that were not given could stand before the place where it would go on."""

        client = BreakingClient(3)
        store = native(client)

        async def changing() -> None:
            async for entry in store.list_tree(ROOT):
                client.names = [name for name in client.names if not entry.path.endswith(name)]

        with pytest.raises(StoreError, match="it changes while it is listed") as caught:
            asyncio.run(changing())
        assert caught.value.reply is Reply.NOT_DONE


class TreeClient:
    """hdfs-native's, of a tree; directories other than its root wait until so many are asked for.

    Attributes:
        listed: Which were listed, in their order.
    """

    def __init__(self, tree: dict[str, list[str]], *, together: int = 1) -> None:
        self.tree = tree
        self.listed: list[str] = []
        self.failing = ""
        self._together = threading.Barrier(together)

    def list_status(self, path: str) -> Iterator[Any]:
        self.listed.append(path)
        if path != ROOT:
            self._together.wait(timeout=10)
        if path == self.failing:
            raise RuntimeError("the connection was reset")
        for name in self.tree.get(path, ()):
            isdir = f"{path}/{name}" in self.tree
            yield SimpleNamespace(path=f"{path}/{name}", isdir=isdir, length=1, modification_time=1)


class TestTree:
    def test_directories_are_listed_side_by_side(self) -> None:
        """Four that wait for one another; each once, and the one that is left out not at all."""
        names = ["b=1", "b=2", "b=3", "b=4"]
        tree = {str(ROOT): ["_commit", "a", *names], f"{ROOT}/_commit": ["job"]}
        tree |= {f"{ROOT}/{name}": ["x", "y"] for name in names}
        client = TreeClient(tree, together=4)

        async def main() -> list[str]:
            store = native(client, threads=4)
            listing = store.list_tree(ROOT, without=StorePath(f"{ROOT}/_commit"))
            try:
                return [entry.path async for entry in listing]
            finally:
                await store.close()

        found = asyncio.run(main())
        files = [f"{ROOT}/a", *(f"{ROOT}/{name}/{file}" for name in names for file in "xy")]
        assert sorted(found) == files
        assert sorted(client.listed) == [ROOT, *(f"{ROOT}/{name}" for name in names)]

    def test_of_many_directories_few_are_listed_at_a_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And nothing but the names of the others is held until they are."""
        monkeypatch.setattr("fsspec_commit_stores.hdfs.listing._AT_ONCE_MAX", 3)
        tree = {str(ROOT): [f"d{number}" for number in range(20)]}
        tree |= {f"{ROOT}/d{number}": ["x"] for number in range(20)}
        client, begun = TreeClient(tree), list[str]()
        children = NativeRequests.children

        def counted(self: NativeRequests, path: StorePath) -> Pages:
            begun.append(path)
            return children(self, path)

        monkeypatch.setattr(NativeRequests, "children", counted)

        async def main() -> int:
            store, ahead = native(client, threads=8), 0
            found = 0
            try:
                async for _ in store.list_tree(ROOT):
                    await asyncio.sleep(0.01)
                    found += 1
                    ahead = max(ahead, len(begun) - 1 - found)
            finally:
                await store.close()
            assert found == 20
            return ahead

        assert asyncio.run(main()) <= 2 * 3
        assert sorted(begun) == sorted(client.listed)

    def test_one_that_cannot_be_listed_ends_it(self) -> None:
        tree = {str(ROOT): ["a", "b"], f"{ROOT}/a": ["x"], f"{ROOT}/b": ["x"]}
        client = TreeClient(tree)
        client.failing = f"{ROOT}/b"
        with pytest.raises(StoreError, match=r"cannot list .*/b"):
            asyncio.run(listed(native(client)))
        assert client.listed.count(f"{ROOT}/b") == 2, "it was asked for twice"


class TestWeb:
    @pytest.mark.parametrize("page", [PAGE, len(NAMES)])
    def test_only_what_one_answer_shows_is_of_one_moment(
        self, hdfs: ScriptedHdfs, monkeypatch: pytest.MonkeyPatch, page: int
    ) -> None:
        monkeypatch.setattr("tests.unit.stores.hdfs.test_listing.PAGE", page)
        hdfs.answering = page_of
        assert hdfs.store.at_once is not None
        shown = hdfs.run(hdfs.store.at_once.list_at_once(ROOT))
        names = None if shown is None else [one.path.rpartition("/")[2] for one in shown]
        assert names == (NAMES if page == len(NAMES) else None)
        assert len(hdfs.received) == 1

    def test_any_page_but_the_first_may_fail(self, hdfs: ScriptedHdfs) -> None:
        failed = set[str]()

        def answering(request: Received) -> Answer:
            page = request.query.get("startafter", "")
            if page in failed or not page:
                return page_of(request)
            failed.add(page)
            return Answer(503)

        hdfs.answering = answering
        assert hdfs.run(listed(hdfs.store)) == NAMES
        assert failed == {"é1", "é3", "a1"}
        assert len(hdfs.received) == 4 + 3

    def test_whose_first_page_is_not_given_is_not_asked_again(self, hdfs: ScriptedHdfs) -> None:
        hdfs.script(Answer(503))
        with pytest.raises(StoreError):
            hdfs.run(listed(hdfs.store))
        assert len(hdfs.received) == 1

    @pytest.mark.parametrize("page", ["", "é1"])
    def test_a_page_without_names_is_not_the_end(self, hdfs: ScriptedHdfs, page: str) -> None:
        """Where the server itself says that there are more."""
        empty = {"partialListing": {"FileStatuses": {"FileStatus": []}}, "remainingEntries": 3}
        said = Answer(200, json.dumps({"DirectoryListing": empty}).encode())
        hdfs.answering = lambda request: (
            said if request.query.get("startafter", "") == page else page_of(request)
        )
        with pytest.raises(StoreError, match="says that there are more names") as caught:
            hdfs.run(listed(hdfs.store))
        assert caught.value.reply is Reply.UNKNOWN

    def test_the_same_page_again_is_an_error(self, hdfs: ScriptedHdfs) -> None:
        """Not the first one: a cache on the way has it. It would be given for ever."""
        second = page_of(Received("GET", f"/?op=LISTSTATUS_BATCH&startafter={NAMES[1]}", {}, b""))
        hdfs.answering = lambda request: (
            second if request.query.get("startafter") else page_of(request)
        )
        with pytest.raises(StoreError, match="more names, and gives the same ones") as caught:
            hdfs.run(listed(hdfs.store))
        assert caught.value.reply is Reply.UNKNOWN
        assert len(hdfs.received) == 4

    def test_pages_that_go_in_a_circle_are_an_error(self, hdfs: ScriptedHdfs) -> None:
        """After the third comes the second: a cache on the way has both, or a gateway is two."""
        second = page_of(Received("GET", f"/?op=LISTSTATUS_BATCH&startafter={NAMES[1]}", {}, b""))
        hdfs.answering = lambda request: (
            second if request.query.get("startafter") == NAMES[5] else page_of(request)
        )
        with pytest.raises(StoreError, match="more names, and gives the same ones") as caught:
            hdfs.run(listed(hdfs.store))
        assert caught.value.reply is Reply.UNKNOWN

    def test_pages_that_begin_again_later_are_an_error(self, hdfs: ScriptedHdfs) -> None:
        """It has minded where to begin before: of all names, those in between were given twice."""
        first = page_of(Received("GET", "/?op=LISTSTATUS_BATCH", {}, b""))
        hdfs.answering = lambda request: (
            first if request.query.get("startafter") == NAMES[3] else page_of(request)
        )
        with pytest.raises(StoreError, match="more names, and gives the same ones") as caught:
            hdfs.run(listed(hdfs.store))
        assert caught.value.reply is Reply.UNKNOWN

    def test_a_server_that_begins_again_is_asked_for_all(self, hdfs: ScriptedHdfs) -> None:
        """One that does not know the parameter, however it is spelled."""
        hdfs.answering = lambda request: page_of(request, minds_start=False)
        assert hdfs.run(listed(hdfs.store)) == NAMES
        assert [one.query["op"] for one in hdfs.received] == [
            "LISTSTATUS_BATCH",
            "LISTSTATUS_BATCH",
            "LISTSTATUS",
        ]


def page_of(request: Received, *, minds_start: bool = True) -> Answer:
    """Two names from the one that the request says, or all of them."""
    after = request.query.get("startafter", "")
    start = NAMES.index(after) + 1 if after and minds_start else 0
    is_paged = request.query["op"] == "LISTSTATUS_BATCH"
    names = NAMES[start : start + PAGE] if is_paged else NAMES
    found = [
        {"pathSuffix": name, "type": "FILE", "length": 1, "modificationTime": 1} for name in names
    ]
    statuses = {"FileStatuses": {"FileStatus": found}}
    left = len(NAMES) - start - len(names)
    batch = {"DirectoryListing": {"partialListing": statuses, "remainingEntries": left}}
    return Answer(200, json.dumps(batch if is_paged else statuses).encode())
