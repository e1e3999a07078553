"""A part that has failed is held by its file alone: not by the error, whoever was told of that."""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import StoreError
from fsspec_commit_stores.azure import writing
from fsspec_commit_stores.gcs import chunks
from fsspec_commit_stores.http.pieces import Pieces
from tests.unit.stores.gcs.uploads import Uploads
from tests.unit.stores.responder import CLOSED, Answer, Received
from tests.unit.stores.verbs import PATH, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.unit.stores.scripted import Scripted


@pytest.fixture(params=[1 << 12, 1 << 17], ids=["short", "streamed"])
def part_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How long a part is; a short one goes another way."""
    length: int = request.param
    monkeypatch.setattr(chunks, "CHUNK_BYTES", length)
    monkeypatch.setattr(writing, "_BLOCK_BYTES", length)
    return length


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Whatever leads back to itself stays."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("is_told", [False, True], ids=["untold", "told"])
@pytest.mark.parametrize("is_answered", [False, True], ids=["closed", "busy"])
@pytest.mark.parametrize("name", ["gcs", "gen2"])
@pytest.mark.usefixtures("uncollected")
def test_an_error_keeps_nothing_of_a_part(
    request: pytest.FixtureRequest, name: str, part_bytes: int, *, is_answered: bool, is_told: bool
) -> None:
    server: Scripted[Any] = request.getfixturevalue(name)
    store, uploads = server.store, Uploads()
    failure = server.error(*server.busy) if is_answered else CLOSED

    def answering(received: Received) -> Answer:
        return uploads(received) if received.method == "POST" else failure

    async def dropped() -> None:
        writer = store.writer(PATH, within=ROOT)
        await writer.write(bytes(part_bytes + 1))
        await asyncio.wait(writer._sending._under_way)
        if is_told:
            with suppress(StoreError):
                await writer.finish()
        await writer.discard()

    server.answering = answering
    for _ in range(3):
        server.run(dropped())
    assert any(len(one.body) == part_bytes for one in server.received)
    assert not [one for one in gc.get_objects() if type(one) is Pieces and len(one)]
