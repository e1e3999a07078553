"""A file that is written is visible once, whatever answers are lost meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.azure import writing
from fsspec_commit_stores.azure.ahead import AHEAD_MAX
from fsspec_commit_stores.azure.requests import Container
from tests.unit.stores.azure.answers import said, told
from tests.unit.stores.responder import CLOSED, Answer, Received

if TYPE_CHECKING:
    from fsspec_commit.store import Entry
    from fsspec_commit_stores.azure import AzureStore
    from fsspec_commit_stores.azure.answers import Answer as Told
    from tests.unit.stores.azure.scripted import ScriptedAzure


PATH = StorePath("bucket/out/a")
NONCE = "x-ms-meta-fsspec_commit_nonce"
WRITER = "x-ms-meta-fsspec_commit_writer"
AT_ONCE = 1 + AHEAD_MAX
"""Blocks of one file alone."""


@dataclass
class Blob:
    """One name of an account, with the conditions that matter here.

    Attributes:
        lost: How many writes from now on are done and not answered.
    """

    content: bytes | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    lost: int = 0
    busy: int = 0
    writes: int = 0
    blocks: dict[str, bytes] = field(default_factory=dict)

    @property
    def etag(self) -> str:
        return f'"{self.writes}"'

    def __call__(self, request: Received) -> Answer:
        if request.method == "HEAD":
            if self.content is None:
                return said(404, "BlobNotFound")
            return told(200, self.content, {"ETag": self.etag, **self.metadata})
        if self.busy:
            self.busy -= 1
            return said(503, "ServerBusy")
        refusal = self._write(request)
        if self.lost:
            self.lost -= 1
            return CLOSED
        return refusal or told(201, headers={"ETag": self.etag})

    def _write(self, request: Received) -> Answer | None:
        if request.query.get("comp") == "block":
            self.blocks[request.query["blockid"]] = request.body
            return None
        if "if-none-match" in request.headers and self.content is not None:
            return said(409, "BlobAlreadyExists")
        if request.headers.get("if-match", self.etag) != self.etag:
            return said(412, "ConditionNotMet")
        content = request.body
        if "comp" in request.query:
            named = [one.partition("<")[0] for one in content.decode().split("<Uncommitted>")[1:]]
            if not self.blocks.keys() >= set(named):
                return said(400, "InvalidBlockList")
            content = b"".join(self.blocks[one] for one in named)
            self.blocks.clear()
        self.content = content
        self.metadata = {
            name: value for name, value in request.headers.items() if name.startswith("x-ms-meta-")
        }
        self.writes += 1
        return None


@pytest.fixture
def blob(flat: ScriptedAzure) -> Blob:
    blob = Blob()
    flat.answering = blob
    return blob


@pytest.fixture(params=[False, True], ids=["at once", "in blocks"])
def data(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bytes:
    if request.param:
        monkeypatch.setattr(writing, "_BLOCK_BYTES", 4)
    return b"0123456789"


async def write(store: AzureStore, data: bytes, nonce: Nonce | None = None) -> Entry:
    """As the core does: whoever can go on is asked again."""
    writer = store.writer(PATH, within=StorePath("bucket"), nonce=nonce)
    pending = data
    for _ in range(9):
        try:
            await writer.write(pending)
            pending = b""
            return await writer.finish()
        except StoreError as error:
            pending = b""
            if not error.can_go_on:
                raise
    raise AssertionError("it never ends")


@pytest.mark.parametrize("lost", range(5))
def test_an_answer_that_is_lost(flat: ScriptedAzure, blob: Blob, data: bytes, lost: int) -> None:
    """What was done is not done twice: the token is that of the one write there was."""
    blob.lost = lost
    written = flat.run(write(flat.store, data))
    assert blob.content == data
    assert (blob.writes, written.token, written.nonce) == (1, "1", None)
    assert blob.metadata.keys() == {WRITER}
    assert written.size_bytes == len(data)


@pytest.mark.parametrize("busy", [1, 4])
def test_a_server_that_is_busy(flat: ScriptedAzure, blob: Blob, data: bytes, busy: int) -> None:
    blob.busy = busy
    assert flat.run(write(flat.store, data)).token == "1"
    assert blob.content == data


def test_what_stands_is_replaced_on_condition(flat: ScriptedAzure, blob: Blob, data: bytes) -> None:
    for number in (1, 2, 3):
        assert flat.run(write(flat.store, data)).token == str(number)


def test_a_refusal_is_final(flat: ScriptedAzure, data: bytes) -> None:
    flat.script(said(403, "AuthorizationPermissionMismatch"))
    with pytest.raises(StoreError) as caught:
        flat.run(write(flat.store, data))
    assert caught.value.reply is Reply.REFUSED
    assert not caught.value.can_go_on
    # Nothing after it, but the blocks that were on their way with it.
    assert len(flat.received) == (1 if len(data) <= writing._BLOCK_BYTES else 3)


def test_a_late_request_does_not_replace_what_came_after_it(
    flat: ScriptedAzure, blob: Blob
) -> None:
    """Given up on before it was done, and done after it was repeated."""
    late: list[Received] = []

    def given_up(request: Received) -> Answer:
        late.append(request)
        flat.answering = blob
        return CLOSED

    flat.answering = given_up
    written = flat.run(write(flat.store, b"data"))
    blob(late[0])
    assert (blob.writes, written.token) == (1, "1")


def test_two_contents_of_one_nonce_are_told_apart(
    gen2: ScriptedAzure, blob: Blob, data: bytes
) -> None:
    """An attempt may write a name twice; all that it writes carries one nonce."""
    gen2.answering, nonce = blob, Nonce("1" * 32)
    gen2.run(write(gen2.store, b"before", nonce))
    blob.lost = 1
    written = gen2.run(write(gen2.store, data, nonce))
    assert blob.content == data
    assert (written.token, written.nonce) == ("2", nonce)
    assert blob.metadata[NONCE] == nonce


class TestBlocks:
    """Of one file several are on their way at once."""

    @pytest.fixture(autouse=True)
    def short(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(writing, "_BLOCK_BYTES", 4)

    @pytest.fixture
    def under_way(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """How many there were, whenever one more was sent."""
        seen, now, send = list[int](), 0, Container.send

        async def watched(container: Container, operation: str, *given: Any, **more: Any) -> Told:
            nonlocal now
            now += 1
            seen.append(now)
            try:
                return await send(container, operation, *given, **more)
            finally:
                now -= 1

        monkeypatch.setattr(Container, "send", watched)
        return seen

    def test_nine_at_once(self, gen2: ScriptedAzure, blob: Blob, under_way: list[int]) -> None:
        gen2.answering = blob
        gen2.run(write(gen2.store, bytes(range(82))))
        assert blob.content == bytes(range(82))
        assert max(under_way) == AT_ONCE
        blocks = [one for one in gen2.received if one.query.get("comp") == "block"]
        assert [len(one.body) for one in blocks].count(4) == 20
        assert len(blocks) == 21
        assert len(gen2.received) == len(blocks) + 1

    @pytest.mark.parametrize("busy", range(1, 8))
    def test_those_that_fail_are_sent_again_and_no_others(
        self, gen2: ScriptedAzure, blob: Blob, under_way: list[int], busy: int
    ) -> None:
        gen2.answering, blob.busy = blob, busy
        store, content, may_go_on = gen2.store, bytes(range(42)), list[bool]()

        async def written() -> None:
            writer, calls = store.writer(PATH, within=StorePath("bucket")), 0
            pending = [content[at : at + 6] for at in range(0, 42, 6)]
            while pending or calls < 40:
                calls += 1
                try:
                    if not pending:
                        await writer.finish()
                        return
                    await writer.write(pending.pop(0))
                except StoreError as error:
                    may_go_on.append(error.can_go_on)
                    pending.insert(0, b"")

        gen2.run(written())
        assert all(may_go_on)
        assert blob.content == content
        assert len(gen2.received) == 12 + busy
        assert max(under_way) <= AT_ONCE

    def test_what_is_held_is_bounded(self, gen2: ScriptedAzure, blob: Blob) -> None:
        """A writer that is faster than the store waits for it."""
        gen2.answering = blob
        store, sent = gen2.store, 0

        async def written() -> None:
            nonlocal sent
            writer = store.writer(PATH, within=StorePath("bucket"))
            for at in range(0, 400, 4):
                await writer.write(bytes(4))
                stored = sum(map(len, blob.blocks.values()))
                assert at + 4 - stored <= 4 * (AT_ONCE + 2)
                sent += 1
            await writer.finish()

        gen2.run(written())
        assert (sent, blob.content) == (100, bytes(400))

    def test_nothing_arrives_after_a_discard(self, gen2: ScriptedAzure, blob: Blob) -> None:
        gen2.answering = blob
        store = gen2.store

        async def discarded() -> int:
            writer = store.writer(PATH, within=StorePath("bucket"))
            await writer.write(bytes(40))
            await writer.discard()
            return len(gen2.received)

        assert gen2.run(discarded()) == len(gen2.received) == 9
        assert blob.content is None

    @pytest.mark.parametrize("call", ["write", "finish"])
    def test_nothing_is_begun_after_a_discard(
        self, gen2: ScriptedAzure, blob: Blob, monkeypatch: pytest.MonkeyPatch, call: str
    ) -> None:
        """Not by a call either that waits meanwhile, and that nobody waits for any more."""
        gen2.answering = blob
        store, sent, send = gen2.store, list[str](), Container.send

        async def discarded() -> None:
            all_begun, may_go = asyncio.Event(), asyncio.Event()

            async def slow(container: Container, operation: str, *given: Any, **more: Any) -> Told:
                sent.append(operation)
                if len(sent) == AT_ONCE:
                    all_begun.set()
                await may_go.wait()
                return await send(container, operation, *given, **more)

            monkeypatch.setattr(Container, "send", slow)
            writer = store.writer(PATH, within=StorePath("bucket"))
            await writer.write(bytes(4 * AT_ONCE))
            going_on = asyncio.ensure_future(
                writer.finish() if call == "finish" else writer.write(bytes(4 * 4))
            )
            await all_begun.wait()
            discarding = asyncio.ensure_future(writer.discard())
            await asyncio.sleep(0)
            may_go.set()
            await discarding
            with pytest.raises(ValueError, match="is discarded"):
                await going_on

        gen2.run(discarded())
        assert sent == ["Put Block"] * AT_ONCE
        assert (len(gen2.received), blob.content) == (AT_ONCE, None)
