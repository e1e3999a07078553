"""What a writer holds, and what a request sends, are the bytes that were given, uncopied."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aiohttp
from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit_stores.http.pieces import Held, MemoryBody, Pieces
from tests.unit.stores.responder import Responder

if TYPE_CHECKING:
    import asyncio

    import pytest


@given(st.lists(st.one_of(st.binary(max_size=9), st.integers(0, 12))))
def test_what_is_held_is_what_was_given_and_not_dropped(steps: list[bytes | int]) -> None:
    held, expected = Held(), b""
    for step in steps:
        if isinstance(step, bytes):
            held.append(step)
            expected += step
        else:
            first = held.first(step)
            assert (bytes(first), len(first)) == (expected[:step], len(expected[:step]))
            assert b"".join(first) == expected[:step]
            held.drop(step)
            expected = expected[step:]
        assert (len(held), bytes(held)) == (len(expected), expected)
    held.clear()
    assert (len(held), bytes(held), list(held.first(1))) == (0, b"", [])


def test_no_piece_is_copied() -> None:
    held, pieces = Held(), [bytes(3), bytes(4)]
    for piece in pieces:
        held.append(piece)
    for found, given_one in zip(held.first(7), pieces, strict=True):
        assert found is given_one
    assert bytes(held.first(3)) is pieces[0]
    cut, of_second = held.first(5)
    assert cut is pieces[0]
    assert isinstance(of_second, memoryview)
    assert of_second.obj is pieces[1]


def test_what_may_change_is_copied() -> None:
    held, buffer = Held(), bytearray(b"before")
    held.append(buffer)  # type: ignore[arg-type]  # as if it were bytes
    buffer[:] = b"after!"
    assert bytes(held) == b"before"


def test_a_body_of_pieces_is_sent_whole(runner: asyncio.Runner) -> None:
    """Of pieces shorter and longer than a step, and with its length."""
    long = bytes(range(256)) * 3000
    pieces = Pieces([b"", b"head", long, memoryview(b"xtail")[1:]])

    async def send() -> None:
        async with responder, aiohttp.ClientSession() as session:
            for body in (MemoryBody(pieces), MemoryBody(b"one")):
                async with session.put(f"{responder.url}/a", data=body) as answer:
                    assert answer.status == 200

    responder = Responder()
    runner.run(send())
    first, second = responder.received
    assert first.body == b"head" + long + b"tail"
    assert first.headers["content-length"] == str(len(first.body))
    assert second.body == b"one"


def test_a_body_can_be_shown() -> None:
    """As aiohttp asks of each of its payloads."""
    body = MemoryBody(Pieces([b"a", b"b"]))
    assert (body.decode(), body.size) == ("ab", 2)


def test_a_long_body_is_sent_step_by_step(
    runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsspec_commit_stores.http.pieces._STEP_BYTES", 2)
    steps: list[bytes] = []

    class Writer:
        async def write(self, data: memoryview) -> None:
            steps.append(bytes(data))

    runner.run(MemoryBody(Pieces([b"abc", b"d"])).write(Writer()))
    assert steps == [b"ab", b"c", b"d"]
