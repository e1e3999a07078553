"""Renames whose file is nowhere for a moment, or whose target changes, and new directories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.files import Carried
from fsspec_commit.effects.confirmed.one_shot import OBSERVATIONS_MAX
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.errors import Reply, StoreError, UnsafeStoreError
from fsspec_commit.ids import JobId
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import Expect
from fsspec_commit.testing.simulation.families import capabilities_of
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import GEN2, RENAMING, Bucket
from tests.flat.store import FlatStore
from tests.unit.effects.test_confirmed_files import IDS, OTHER, SOURCE, TARGET, Server
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.store import Expectation

LAYOUT = DestinationLayout(StorePath("b/out")).job(JobId("20260101T000000-0123456789abcdef"))
AREA = LAYOUT.area

every_kind = pytest.mark.parametrize("kind", RENAMING)


@every_kind
@pytest.mark.parametrize("looks", range(OBSERVATIONS_MAX + 1))
def test_a_file_that_is_nowhere_for_a_moment_is_looked_for_again(kind: str, looks: int) -> None:
    """As while a rename is carried out; after some looks it is lost, and nothing is changed."""
    server = Server(kind, "unanswered")

    def before() -> None:
        if server.calls == ["rename", "stat"]:
            moving.append(server.bucket.objects.pop(TARGET))
        if server.calls.count("stat") == 2 * looks + 1 and moving:
            server.bucket.objects[TARGET] = moving.pop()

    moving: list[Any] = []
    server.before = before
    arrives = looks < OBSERVATIONS_MAX
    assert server.rename() is arrives
    assert server.calls.count("rename") == 1
    assert server.shown == ({"target": b"ours"} if arrives else {})


@every_kind
@pytest.mark.parametrize("first", ["lost", "throttled"])
def test_only_a_refusal_says_that_the_file_to_be_replaced_has_gone(kind: str, first: str) -> None:
    """One that was not answered may still replace it: it is sent again as it was."""
    server = Server(kind, first)
    old = server.put(b"old", nonce=None)
    server.bucket.delete(TARGET, Expect.ANYTHING)
    assert server.rename(old)
    assert server.shown == {"target": b"ours"}
    assert server.calls.count("rename") == 3, "unanswered, refused, and on no condition"


@every_kind
def test_another_file_at_the_target_does_not_make_way(kind: str) -> None:
    server = Server(kind)
    old = server.put(b"old", nonce=None)
    server.put(b"newer", nonce=None)
    with pytest.raises(StoreError):
        server.rename(old)
    assert server.calls.count("rename") == 1


@every_kind
def test_what_is_throttled_is_certainly_not_done_whatever_may_stand_there(kind: str) -> None:
    server = Server(kind, "throttled throttled")
    assert server.rename(accept_existing=True)
    assert server.calls == ["rename"] * 3


def renamed(server: Server, carried: Carried | None, expecting: Expectation) -> bool:
    async def confirmed() -> bool:
        store = FlatStore(StorePath("b/out"), server.bucket, capabilities_of(server.bucket.habits))
        files = ConfirmedStore(
            WrappedStore(store, server._carry), ids=IDS, statistics=Statistics()
        ).files
        assert files is not None
        return await files.rename(
            SOURCE,
            TARGET,
            token=server.token,
            carried=carried,
            expecting=expecting,
            within=StorePath("b/out"),
        )

    return run(confirmed())[0]


@every_kind
def test_without_anything_that_it_carries_a_file_is_known_by_its_token(kind: str) -> None:
    server = Server(kind)
    server.put(b"none", nonce=OTHER)
    with pytest.raises(StoreError, match="it exists"):
        renamed(server, None, Expect.ABSENT)
    assert server.shown == {"source": b"ours", "target": b"none"}


@every_kind
@pytest.mark.parametrize(("data", "arrived"), [(b"1234", True), (b"12345", False)])
def test_without_a_nonce_a_file_is_known_by_its_size(
    kind: str, data: bytes, *, arrived: bool
) -> None:
    """One whose name nobody else ever has."""
    server = Server(kind)
    server.bucket.delete(SOURCE, Expect.ANYTHING)
    server.put(data, nonce=None)
    assert renamed(server, Carried(None, 4), Expect.ABSENT) is arrived


class Directories:
    """A store that makes directories, or not, and answers as told."""

    def __init__(self, *script: str) -> None:
        self.bucket = Bucket("b", GEN2)
        self.calls: list[str] = []
        self._script = [*script]

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[Any]]) -> Any:
        self.calls.append(verb)
        step = self._script.pop(0) if self._script and verb != "stat" else "ok"
        if step != "lost":
            await call()
        if step != "ok":
            reply = Reply.REFUSED if step == "echo" else Reply.UNKNOWN
            raise StoreError(step, reply=reply, path=path)
        return await call() if verb == "stat" else None

    def _store(self) -> ConfirmedStore:
        store = FlatStore(StorePath("b/out"), self.bucket, capabilities_of(GEN2))
        return ConfirmedStore(WrappedStore(store, self._carry), ids=IDS, statistics=Statistics())

    def make(self, path: str) -> None:
        async def made() -> None:
            making = self._store().directory_creation
            assert making is not None
            await making.make(StorePath(path), within=StorePath("b/out"))

        run(made())

    def remove(self, path: str) -> bool:
        async def removed() -> bool:
            permit = deletion.of_void_area(LAYOUT)
            return await self._store().delete_empty(StorePath(path), permit)

        return run(removed())[0]

    def rename(self, source: str, target: str) -> bool:
        async def renamed() -> bool:
            directories = self._store().directories
            assert directories is not None
            return await directories.rename(
                StorePath(source), StorePath(target), within=StorePath("b/out")
            )

        return run(renamed())[0]


@pytest.mark.parametrize(
    ("script", "calls"),
    [
        ("", "make_directory"),
        ("unanswered", "make_directory stat"),
        ("echo", "make_directory stat"),
        ("lost", "make_directory stat make_directory"),
        ("lost lost", "make_directory stat make_directory stat make_directory"),
    ],
)
def test_a_directory_is_made_once_it_is_seen(script: str, calls: str) -> None:
    there = Directories(*script.split())
    there.make("b/out/day=1")
    assert there.calls == calls.split()
    assert StorePath("b/out/day=1") in there.bucket.directories


def test_a_file_in_the_place_of_a_directory_is_none() -> None:
    there = Directories("echo")
    there.bucket.put(StorePath("b/out/day=1"), b"", None, Expect.ANYTHING)
    with pytest.raises(StoreError, match="no directory"):
        there.make("b/out/day=1")


@pytest.mark.parametrize(
    ("script", "calls"),
    [
        ("", "rename_directory"),
        ("unanswered", "rename_directory stat stat"),
        ("echo", "rename_directory stat stat"),
        ("lost", "rename_directory stat rename_directory"),
        ("lost unanswered", "rename_directory stat rename_directory stat stat"),
    ],
)
def test_a_directory_is_renamed_once(script: str, calls: str) -> None:
    there = Directories(*script.split())
    there.bucket.make_directory(StorePath("b/out/a"))
    there.bucket.put(StorePath("b/out/a/x"), b"x", None, Expect.ANYTHING)
    assert there.rename("b/out/a", "b/out/b")
    assert there.calls == calls.split()
    assert there.bucket.keys("b/out/") == ["b/out/b/x"]
    assert there.rename("b/out/a", "b/out/b"), "and again it is done"


@pytest.mark.parametrize("script", ["", "lost", "unanswered"])
def test_a_directory_that_is_nowhere_is_not_renamed(script: str) -> None:
    there = Directories(*script.split())
    there.bucket.make_directory(StorePath("b/out"))
    assert not there.rename("b/out/a", "b/out/b")


@pytest.mark.parametrize(
    ("script", "calls"),
    [
        ("", "remove_empty_directory"),
        ("unanswered", "remove_empty_directory stat"),
        ("echo", "remove_empty_directory stat"),
        ("lost", "remove_empty_directory stat remove_empty_directory"),
    ],
)
def test_an_empty_directory_is_removed_once_it_is_gone(script: str, calls: str) -> None:
    there = Directories(*script.split())
    there.bucket.make_directory(AREA)
    assert there.remove(AREA)
    assert there.calls == calls.split()
    assert AREA not in there.bucket.directories
    assert there.remove(AREA), "and again it is done"


@pytest.mark.parametrize("script", ["", "lost"])
def test_a_directory_with_something_in_it_stays(script: str) -> None:
    """As what comes between two requests does."""
    there = Directories(*script.split())
    there.bucket.put(StorePath(f"{AREA}/job.json"), b"", None, Expect.ANYTHING)
    assert not there.remove(AREA)
    assert there.bucket.keys(f"{AREA}/") == [f"{AREA}/job.json"]


def test_only_what_is_permitted_is_removed() -> None:
    there = Directories()
    there.bucket.make_directory(StorePath("b/out/day=1"))
    with pytest.raises(AssertionError, match="no permit"):
        there.remove("b/out/day=1")
    assert there.calls == []


def test_where_no_directory_is_removed_if_it_is_empty_none_is() -> None:
    async def main() -> None:
        habits = RENAMING["gcs"]
        flat = FlatStore(StorePath("b/out"), Bucket("b", habits), capabilities_of(habits))
        store = ConfirmedStore(flat, ids=IDS, statistics=Statistics())
        with pytest.raises(UnsafeStoreError):
            await store.delete_empty(AREA, deletion.of_void_area(LAYOUT))

    run(main())
