"""What is read of a content that a server sends, of all of it or of a part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply
from fsspec_commit.store import Entry, Token
from tests.unit.stores.responder import Answer
from tests.unit.stores.verbs import PATH

if TYPE_CHECKING:
    from tests.unit.stores.scripted import Scripted

# By these each store knows that a content is its own, and which it is.
HEADERS = {
    "ETag": '"7"',
    "x-amz-request-id": "4442587FB7D0A2F9",
    "x-goog-generation": "7",
    "x-ms-request-id": "0ff1ce00-0000-0000-0000-000000000000",
}


def test_a_content_that_breaks_off_is_in_doubt(cloud: Scripted[Any]) -> None:
    cloud.script(Answer(200, b"123", HEADERS, announced=9))
    assert cloud.failure_of(cloud.store.read(PATH, limit_bytes=99)).reply is Reply.UNKNOWN


@pytest.mark.parametrize("came", [b"", b"123"])
def test_a_content_that_may_have_broken_off_is_in_doubt(cloud: Scripted[Any], came: bytes) -> None:
    """Where only the end of the connection says that this is all, as by an old proxy."""
    cloud.script(Answer(200, came, HEADERS, is_framed=False))
    assert cloud.failure_of(cloud.store.read(PATH, limit_bytes=99)).reply is Reply.UNKNOWN
    reading = cloud.store.read_range(PATH, start=0, length=9)
    assert cloud.failure_of(reading).reply is Reply.UNKNOWN


def test_a_part_that_may_have_broken_off_is_in_doubt(cloud: Scripted[Any]) -> None:
    """Unless it says of itself which bytes it has."""
    cloud.script(Answer(206, b"23", {**HEADERS, "Content-Range": "bytes 2-4/9"}, is_framed=False))
    reading = cloud.store.read_range(PATH, start=2, length=3)
    assert cloud.failure_of(reading).reply is Reply.UNKNOWN


def test_a_part_is_not_taken_for_the_whole(cloud: Scripted[Any]) -> None:
    """Nobody asked for a part: a cache may keep one, and give it for the whole."""
    cloud.script(Answer(206, b"0123", {**HEADERS, "Content-Range": "bytes 0-3/10"}))
    caught = cloud.failure_of(cloud.store.read(PATH, limit_bytes=99))
    assert caught.reply is Reply.UNKNOWN


def test_what_is_too_long_is_not_read(cloud: Scripted[Any]) -> None:
    cloud.script(Answer(200, b"1", HEADERS, announced=1 << 40))
    caught = cloud.failure_of(cloud.store.read(PATH, limit_bytes=3))
    assert f"has {1 << 40} bytes, and at most 3" in str(caught)


def test_no_more_is_read_than_was_asked(cloud: Scripted[Any]) -> None:
    cloud.script(Answer(200, b"0123456789", HEADERS))
    caught = cloud.failure_of(cloud.store.read(PATH, limit_bytes=9))
    assert "it has 10 bytes, and at most 9 are read" in str(caught)
    found = cloud.run(cloud.store.read(PATH, limit_bytes=10))
    assert found.data == b"0123456789"
    assert found.entry == Entry(path=PATH, size_bytes=10, token=Token("7"))


def test_a_part_of_a_server_that_knows_no_ranges(cloud: Scripted[Any]) -> None:
    cloud.script(Answer(200, b"0123456789", HEADERS))
    assert cloud.run(cloud.store.read_range(PATH, start=2, length=3)) == b"234"


@pytest.mark.parametrize("span", ["bytes 0-2/9", "bytes 2-3/9", "bytes 2-9/9", "nonsense", ""])
def test_a_part_is_the_one_that_was_asked_for(cloud: Scripted[Any], span: str) -> None:
    cloud.script(Answer(206, b"234", {**HEADERS, "Content-Range": span}))
    caught = cloud.failure_of(cloud.store.read_range(PATH, start=2, length=3))
    assert caught.reply is Reply.UNKNOWN
    assert "another part" in str(caught)
