"""Renaming a file, whatever a server answers to it, and however often it is done."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from errno import ENOENT
from typing import TYPE_CHECKING, TypeVar

import pytest

from fsspec_commit.effects.confirm import OUTDATED_MAX
from fsspec_commit.effects.confirmed.files import Carried
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.errors import CommitStateUnknownError, Reply, StoreError
from fsspec_commit.ids import IdSource
from fsspec_commit.layout import StorePath
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import Expect, Expectation, Token
from fsspec_commit.testing.simulation.families import capabilities_of
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import RENAMING, Bucket
from tests.flat.store import FlatStore
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")
IDS = IdSource(random.Random(12), lambda: datetime(2026, 11, 21, tzinfo=UTC))
SOURCE, TARGET = StorePath("b/out/_commit/a.bin.pending"), StorePath("b/out/a.bin")
OURS, OTHER = IDS.nonce(), IDS.nonce()
every_kind = pytest.mark.parametrize("kind", RENAMING)


class Server:
    """One bucket; the replies to renames are lost or changed as scripted."""

    def __init__(self, kind: str, script: str = "") -> None:
        self.bucket = Bucket("b", RENAMING[kind])
        self.calls: list[str] = []
        self.token = self.put(b"ours", SOURCE)
        self.before: Callable[[], object] = lambda: None
        self._script = script.split()

    def put(self, data: bytes, path: StorePath = TARGET, nonce: object = OURS) -> Token:
        return self.bucket.put(path, data, nonce, Expect.ANYTHING)  # type: ignore[arg-type]  # or None

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        self.calls.append(verb)
        step = self._script.pop(0) if self._script and verb != "stat" else "ok"
        self.before()
        if step in {"lost", "throttled"}:
            reply = Reply.UNKNOWN if step == "lost" else Reply.NOT_DONE
            raise StoreError(step, reply=reply, path=path)
        answer = await call()
        if step in {"unanswered", "echo"}:
            reply = Reply.UNKNOWN if step == "unanswered" else Reply.REFUSED
            raise StoreError(step, reply=reply, path=path)
        return answer

    def rename(
        self, expecting: Expectation = Expect.ABSENT, *, accept_existing: bool = False
    ) -> bool:
        async def confirmed() -> bool:
            store = FlatStore(StorePath("b/out"), self.bucket, capabilities_of(self.bucket.habits))
            files = ConfirmedStore(
                WrappedStore(store, self._carry), ids=IDS, statistics=Statistics()
            ).files
            assert files is not None
            return await files.rename(
                SOURCE,
                TARGET,
                token=self.token,
                carried=Carried(OURS, 4),
                expecting=expecting,
                within=StorePath("b/out"),
                accept_existing=accept_existing,
            )

        return run(confirmed())[0]

    @property
    def shown(self) -> dict[str, bytes]:
        names = {SOURCE: "source", TARGET: "target"}
        return {names[path]: found.data for path, found in self.bucket.objects.items()}


@every_kind
@pytest.mark.parametrize(
    ("script", "calls"),
    [
        ("", "rename"),
        ("throttled throttled", "rename rename rename"),
        ("unanswered", "rename stat"),
        ("echo", "rename stat"),
        ("lost", "rename stat stat rename"),
        ("lost unanswered", "rename stat stat rename stat"),
    ],
)
def test_a_file_arrives_once(kind: str, script: str, calls: str) -> None:
    server = Server(kind, script)
    assert server.rename()
    assert server.shown == {"target": b"ours"}
    assert server.calls == calls.split()
    assert server.rename(), "and again it is done"
    assert server.shown == {"target": b"ours"}


@every_kind
def test_one_that_has_another_token_by_now_has_arrived(kind: str) -> None:
    """Somebody has changed its metadata, or who may read it, before it was looked for."""
    server = Server(kind, "unanswered")

    def before() -> None:
        if server.calls == ["rename", "stat"]:
            server.put(b"ours")

    server.before = before
    assert server.rename()
    assert server.rename(), "and again it is done"
    assert server.shown == {"target": b"ours"}
    assert server.calls == ["rename", "stat", "rename", "stat"]


@every_kind
def test_a_file_that_was_taken_and_put_back_is_brought(kind: str) -> None:
    """Who removes files by way of a trash, as disks need it, takes one to look at it."""
    server, taken = Server(kind), []

    def before() -> None:
        if server.calls == ["rename"]:
            taken.append(server.bucket.objects.pop(SOURCE))
        elif taken:
            server.bucket.objects[SOURCE] = taken.pop()

    server.before = before
    assert server.rename()
    assert server.shown == {"target": b"ours"}


@every_kind
def test_a_refusal_that_stays_is_one(kind: str) -> None:
    """Of a source that is there, whatever the store says of it."""
    server = Server(kind)

    def before() -> None:
        if server.calls[-1] == "rename":
            error = StoreError("no", reply=Reply.REFUSED, path=SOURCE)
            error.errno = ENOENT
            raise error

    server.before = before
    with pytest.raises(StoreError, match="no"):
        server.rename()
    assert server.calls.count("rename") == 1 + OUTDATED_MAX
    assert server.shown == {"source": b"ours"}


@every_kind
def test_a_refusal_for_another_reason_is_not_tried_again(kind: str) -> None:
    """Only a source that was said to be missing, and is there, has come back since."""
    server = Server(kind)

    def before() -> None:
        if server.calls[-1] == "rename":
            raise StoreError("no", reply=Reply.REFUSED, path=SOURCE)

    server.before = before
    with pytest.raises(StoreError, match="no"):
        server.rename()
    assert server.calls.count("rename") == 1
    assert server.shown == {"source": b"ours"}


@every_kind
@pytest.mark.parametrize("nonce", [OTHER, None, OURS])
def test_what_has_arrived_is_not_mistaken_for_another(kind: str, nonce: object) -> None:
    """Of equal length with another nonce, or with ours and of another length: it is lost."""
    server = Server(kind)
    server.bucket.delete(SOURCE, Expect.ANYTHING)
    server.put(b"another, and longer" if nonce is OURS else b"none", nonce=nonce)
    assert not server.rename()
    assert set(server.shown) == {"target"}


@every_kind
def test_what_a_late_writer_left_is_not_brought(kind: str) -> None:
    """It carries the attempt's nonce, and has the same length."""
    server = Server(kind)
    server.put(b"late", SOURCE)
    assert not server.rename()
    assert server.shown == {"source": b"late"}


@every_kind
def test_another_file_in_the_way_is_no_loss(kind: str) -> None:
    server = Server(kind)
    server.put(b"none", nonce=OTHER)
    with pytest.raises(StoreError, match="it exists"):
        server.rename()
    assert server.shown == {"source": b"ours", "target": b"none"}
    server.calls.clear()
    assert server.rename(accept_existing=True), "as good as ours"
    assert server.calls == ["rename", "stat"], "seen at once"
    assert server.shown == {"source": b"ours", "target": b"none"}


@every_kind
@pytest.mark.parametrize("script", ["", "unanswered", "lost", "echo"])
def test_the_expected_file_is_replaced_and_no_other(kind: str, script: str) -> None:
    server = Server(kind, script)
    old = server.put(b"old", nonce=None)
    server.put(b"newer", nonce=None)
    with pytest.raises((StoreError, CommitStateUnknownError)):
        server.rename(old)
    assert server.shown == {"source": b"ours", "target": b"newer"}
    server = Server(kind, script)
    assert server.rename(server.put(b"old", nonce=None))
    assert server.shown == {"target": b"ours"}


@every_kind
def test_a_file_that_was_to_be_replaced_and_went_makes_way(kind: str) -> None:
    """Nothing is ever stuck (P8); but what has come in its place since does not."""
    server = Server(kind)
    old = server.put(b"old", nonce=None)
    server.bucket.delete(TARGET, Expect.ANYTHING)
    assert server.rename(old)
    assert server.shown == {"target": b"ours"}
    server = Server(kind)
    old = server.put(b"old", nonce=None)
    server.bucket.delete(TARGET, Expect.ANYTHING)
    renames = 0

    def come() -> None:
        nonlocal renames
        renames += server.calls[-1] == "rename"
        if renames == 2 and TARGET not in server.bucket.objects:
            server.put(b"newer", nonce=None)

    server.before = come
    with pytest.raises(StoreError, match="it exists"):
        server.rename(old)
    assert server.shown == {"source": b"ours", "target": b"newer"}
