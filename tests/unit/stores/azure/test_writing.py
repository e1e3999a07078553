"""A file that is written is visible once, whatever answers are lost meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.azure import writing
from tests.unit.stores.azure.answers import said, told
from tests.unit.stores.responder import CLOSED, Answer, Received

if TYPE_CHECKING:
    from fsspec_commit.store import Entry
    from fsspec_commit_stores.azure import AzureStore
    from tests.unit.stores.azure.scripted import ScriptedAzure


PATH = StorePath("bucket/out/a")
NONCE = "x-ms-meta-fsspec_commit_nonce"
WRITER = "x-ms-meta-fsspec_commit_writer"


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
    assert len(flat.received) == 1


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
