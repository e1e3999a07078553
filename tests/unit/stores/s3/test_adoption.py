"""The parts of an upload that another program has begun, request by request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import Part, Token
from tests.unit.stores.s3.answers import error, tag, xml
from tests.unit.stores.s3.verbs import UPLOAD, adopting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.unit.stores.responder import Answer, Received
    from tests.unit.stores.s3.scripted import ScriptedS3


def part(number: int, *more: str) -> str:
    etag = tag("ETag", f'"e{number}"')
    return f"<Part>{tag('PartNumber', str(number))}{etag}{tag('Size', '3')}{''.join(more)}</Part>"


def stored(s3: ScriptedS3) -> Sequence[Part] | None:
    return s3.run(adopting(s3.store).stored_parts(UPLOAD))


@pytest.mark.parametrize("page", [1, 3, 10])
def test_every_page_of_parts_is_listed(s3: ScriptedS3, page: int) -> None:
    def answering(request: Received) -> Answer:
        after = int(request.query.get("part-number-marker", "0"))
        shown = range(after + 1, min(after + page, 7) + 1)
        more = after + page < 7
        told = [tag("IsTruncated", "true" if more else "false"), *map(part, shown)]
        following = [tag("NextPartNumberMarker", str(shown[-1]))] if more else []
        return xml("ListPartsResult", *told, *following)

    s3.answering = answering
    assert stored(s3) == [Part(number, Token(f"e{number}"), 3) for number in range(1, 8)]
    assert {one.query["uploadId"] for one in s3.received} == {UPLOAD.upload_id}


def test_checksums_are_taken_where_completing_asks_for_them(s3: ScriptedS3) -> None:
    """Hadoop's `fs.s3a.create.checksum.algorithm`: of each part, and not of the whole object."""
    one = part(1, tag("ChecksumCRC32", "AAAAAA=="))
    s3.script(xml("ListPartsResult", tag("ChecksumType", "COMPOSITE"), one))
    assert stored(s3) == [Part(1, Token("e1;CRC32=AAAAAA=="), 3)]
    s3.script(xml("ListPartsResult", tag("ChecksumType", "FULL_OBJECT"), one))
    assert stored(s3) == [Part(1, Token("e1"), 3)]


def test_an_upload_that_is_not_there_has_no_parts(s3: ScriptedS3) -> None:
    s3.script(error(404, "NoSuchUpload"))
    assert stored(s3) is None


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ([tag("UploadId", "another"), part(1)], "of another place"),
        ([tag("IsTruncated", "true"), part(1)], "there is more, and not where"),
        ([part(1).replace(tag("Size", "3"), "")], "without its number, its etag or its size"),
        ([part(1).replace('"e1"', "")], "without its number, its etag or its size"),
    ],
)
def test_a_page_that_is_none_is_not_believed(s3: ScriptedS3, told: Sequence[str], why: str) -> None:
    s3.always(xml("ListPartsResult", *told))
    with pytest.raises(StoreError, match=why) as caught:
        stored(s3)
    assert caught.value.reply is not Reply.REFUSED


@pytest.mark.parametrize(
    ("listed", "etag", "told"),
    [
        ("e1", "e1", "e1"),
        ("e1", '"e1"', "e1"),
        ("e1", "e2", None),
        ("e1", "", None),
        ("e1;CRC32=AA==", '"e1"', "e1;CRC32=AA=="),
        ("e1", '"e1";CRC32=AA==', "e1;CRC32=AA=="),
        ("e1;CRC32=AA==", "e1;CRC32=AA==", "e1;CRC32=AA=="),
        ("e1;CRC32=AA==", "e1;CRC32=BB==", None),
    ],
)
def test_an_etag_is_compared_without_its_marks(
    s3: ScriptedS3, listed: str, etag: str, told: str | None
) -> None:
    """SeaweedFS lists no checksum, and completes nothing without one where one was sent."""
    part = adopting(s3.store).told_as(Part(1, Token(listed), 3), etag)
    assert (part and part.token) == told


@pytest.mark.parametrize(
    ("listed", "size_bytes", "is_same"),
    [
        ("e2;CRC32=AA==", 3, True),
        ("e2;CRC32=BB==", 3, False),
        ("e2;CRC32=AA==", 4, False),
        ("e2", 3, False),
    ],
)
def test_bytes_are_compared_by_length_and_checksum(
    s3: ScriptedS3, listed: str, size_bytes: int, *, is_same: bool
) -> None:
    compare = adopting(s3.store).has_bytes_of
    stored = Part(1, Token(listed), size_bytes)
    assert compare(stored, Part(1, Token("e1;CRC32=AA=="), 3)) is is_same
    assert not compare(stored, Part(1, Token("e1"), 3)), "nothing says what was sent"
