"""Parts, completions and the paging of pending uploads, request by request."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus
from xml.etree import ElementTree as ET

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, Part, PendingUpload, Token
from tests.unit.stores.responder import CLOSED, Answer, Received
from tests.unit.stores.s3.answers import error, tag, xml

if TYPE_CHECKING:
    from fsspec_commit_stores.s3 import S3Store
    from tests.unit.stores.s3.scripted import ScriptedS3


PATH = StorePath("bucket/out/a")
NONCE = Nonce("a" * 32)
BEGUN = xml("InitiateMultipartUploadResult", tag("UploadId", "u1"))
DONE = xml("CompleteMultipartUploadResult", tag("ETag", '"e-2"'))


def ability(store: S3Store) -> Any:
    assert store.uploads is not None
    return store.uploads


def upload_of(*parts: Part) -> PendingUpload:
    return PendingUpload(path=PATH, upload_id="u1", nonce=NONCE, parts=parts)


def test_checksums_of_parts_come_back_when_completed(s3: ScriptedS3) -> None:
    store = s3.store
    s3.script(
        BEGUN,
        Answer(200, b"", {"ETag": '"e1"', "x-amz-checksum-crc32": "g9y6zA=="}),
        Answer(200, b"", {"ETag": '"e2"', "x-amz-checksum-crc32": "Gtkjkg=="}),
        DONE,
    )

    async def uploaded() -> PendingUpload:
        upload = await ability(store).start(PATH, NONCE)
        parts = [await ability(store).put_part(upload, number, b"1" * number) for number in (2, 1)]
        whole = upload_of(*parts)
        await ability(store).complete(whole, expecting=Expect.ABSENT)
        return whole

    parts = s3.run(uploaded()).parts
    assert [(part.number, part.size_bytes) for part in parts] == [(2, 2), (1, 1)]
    assert parts[0].token == "e1;CRC32=g9y6zA=="
    start, part, _, complete = s3.received
    assert start.headers["x-amz-meta-fsspec-commit-nonce"] == NONCE
    assert start.headers["x-amz-checksum-algorithm"] == "CRC32"
    assert "x-amz-checksum-crc32" in part.headers
    assert complete.headers["if-none-match"] == "*"
    assert complete.headers["x-amz-mp-object-size"] == "3"
    told = [
        {child.tag.rpartition("}")[2]: child.text for child in part}
        for part in ET.fromstring(complete.body)
    ]
    assert told == [
        {"PartNumber": "1", "ETag": '"e2"', "ChecksumCRC32": "Gtkjkg=="},
        {"PartNumber": "2", "ETag": '"e1"', "ChecksumCRC32": "g9y6zA=="},
    ]


@pytest.mark.parametrize(
    ("options", "algorithm"),
    [
        ({}, "CRC32"),
        ({"s3_additional_kwargs": {"ChecksumAlgorithm": "SHA256"}}, "SHA256"),
        ({"config_kwargs": {"request_checksum_calculation": "when_required"}}, None),
    ],
    ids=str,
)
def test_a_checksum_is_the_users_choice(
    s3: ScriptedS3, options: dict[str, Any], algorithm: str | None
) -> None:
    store = s3.open(**options)
    s3.script(BEGUN, Answer(200, b"", {"ETag": '"e1"'}))
    upload = s3.run(ability(store).start(PATH, NONCE))
    part = s3.run(ability(store).put_part(upload, 1, b"1"))
    assert part.token == "e1"
    start, stored = s3.received
    assert start.headers.get("x-amz-checksum-algorithm") == algorithm
    sums = [name for name in stored.headers if name.startswith("x-amz-checksum-")]
    assert sums == ([] if algorithm is None else [f"x-amz-checksum-{algorithm.lower()}"])


def test_a_token_is_a_condition_of_completion(s3: ScriptedS3) -> None:
    s3.script(DONE)
    upload = upload_of(Part(1, Token("e1"), 1))
    s3.run(ability(s3.store).complete(upload, expecting=Token("e0")))
    s3.run(ability(s3.store).complete(upload, expecting=Expect.ANYTHING))
    conditional, plain = s3.received
    assert conditional.headers["if-match"] == '"e0"'
    assert not {"if-match", "if-none-match"} & plain.headers.keys()


@pytest.mark.parametrize("call", ["start", "part"])
def test_an_answer_that_names_nothing_leaves_in_doubt(s3: ScriptedS3, call: str) -> None:
    s3.script(Answer(200, b"<InitiateMultipartUploadResult/>" if call == "start" else b""))
    calls = {
        "start": lambda: ability(s3.store).start(PATH, NONCE),
        "part": lambda: ability(s3.store).put_part(upload_of(), 1, b""),
    }
    with pytest.raises(StoreError) as caught:
        s3.run(calls[call]())
    assert caught.value.reply is Reply.UNKNOWN


class FakeUploads:
    """Pending uploads, paged as S3 pages them.

    Attributes:
        knows_marker: Whether an upload id may say where a page begins (versitygw: no).
        minds_prefix: Whether a prefix is heard (MinIO: no).
    """

    def __init__(
        self,
        *uploads: tuple[str, str],
        page: int = 2,
        knows_marker: bool = True,
        minds_prefix: bool = True,
        encodes: bool = True,
    ) -> None:
        self.uploads = sorted(uploads, key=lambda one: (one[0].encode(), one[1]))
        self.page = page
        self.knows_marker = knows_marker
        self.minds_prefix = minds_prefix
        self.encodes = encodes

    def __call__(self, request: Received) -> Answer:
        query = request.query
        after = query.get("upload-id-marker")
        if after is not None and not self.knows_marker:
            return error(400, "InvalidArgument")
        key = query.get("key-marker", "").encode()
        left = [
            (name, upload_id)
            for name, upload_id in self.uploads
            if (not self.minds_prefix or name.startswith(query.get("prefix", "")))
            and (
                name.encode() > key
                or (name.encode() == key and after is not None and upload_id > after)
            )
        ]
        shown, truncated = left[: self.page], len(left) > self.page
        told = [tag("IsTruncated", "true" if truncated else "false")]
        told += [
            f"<Upload>{self.key('Key', name)}{tag('UploadId', upload_id)}</Upload>"
            for name, upload_id in shown
        ]
        if truncated:
            told.append(self.key("NextKeyMarker", shown[-1][0]))
            told.append(tag("NextUploadIdMarker", shown[-1][1]))
        if self.encodes:
            told.append("<EncodingType>url</EncodingType>")
        return xml("ListMultipartUploadsResult", *told)

    def key(self, name: str, key: str) -> str:
        return tag(name, quote_plus(key) if self.encodes else key)


def pending(s3: ScriptedS3, path: str = "bucket/out") -> list[Any]:
    store = s3.store

    async def listed() -> list[Any]:
        found = [upload async for upload in ability(store).pending(StorePath(path))]
        assert {upload.nonce for upload in found} <= {""}
        return [(upload.path.removeprefix("bucket/"), upload.upload_id) for upload in found]

    return s3.run(listed())


MANY = [
    *(("out/a", f"u{number}") for number in range(5)),
    ("out/b c+d%", "u5"),
    ("out/\u65e5", "u6"),
    ("out/d/e", "u7"),
]


@pytest.mark.parametrize("page", [1, 2, 3, 100])
@pytest.mark.parametrize("encodes", [True, False])
def test_every_page_of_uploads_is_listed(s3: ScriptedS3, page: int, *, encodes: bool) -> None:
    s3.answering = FakeUploads(*MANY, page=page, encodes=encodes)
    assert sorted(pending(s3)) == sorted(MANY)


def test_a_neighbours_uploads_are_never_listed(s3: ScriptedS3) -> None:
    others = [("out0/a", "u8"), ("out", "u9"), ("outer", "u10"), ("other/out/a", "u11")]
    for minds in (True, False):
        s3.answering = FakeUploads(*MANY, *others, minds_prefix=minds)
        assert sorted(pending(s3)) == sorted(MANY)
    assert {one.query["prefix"] for one in s3.received} == {"out/"}
    assert len(pending(s3, "bucket")) == len(MANY) + len(others)


@pytest.mark.parametrize("page", [3, 4, 5])
def test_a_server_that_does_not_know_its_own_marker_is_paged_by_keys(
    s3: ScriptedS3, page: int
) -> None:
    """None is lost, none comes twice, also where a page ends between two uploads of a key."""
    uploads = [(f"out/{key}", f"u{key}{number}") for key in "abcde" for number in range(2)]
    s3.answering = FakeUploads(*uploads, page=page, knows_marker=False)
    assert pending(s3) == uploads


def test_more_than_a_page_of_one_key_is_not_passed_over(s3: ScriptedS3) -> None:
    uploads = [("out/0", "u"), *(("out/a", f"u{number}") for number in range(7)), ("out/b", "u8")]
    s3.answering = FakeUploads(*uploads, page=3, knows_marker=False)
    with pytest.raises(StoreError, match="list the uploads below"):
        pending(s3)


def test_more_uploads_without_a_place_is_an_error(s3: ScriptedS3) -> None:
    s3.script(xml("ListMultipartUploadsResult", "<IsTruncated>true</IsTruncated>"))
    with pytest.raises(StoreError, match="there is more, and not where"):
        pending(s3)


class TestWriter:
    """`writer`, over the same uploads."""

    def test_a_small_file_is_one_request(self, s3: ScriptedS3) -> None:
        store = s3.store
        s3.script(Answer(200, b"", {"ETag": '"e1"'}))

        async def write() -> Any:
            writer = store.writer(PATH, within=store.root)
            for _ in range(100):
                await writer.write(b"1" * 1000)
            return await writer.finish()

        entry = s3.run(write())
        assert s3.operations() == ["PUT"]
        assert entry.nonce == s3.received[0].headers["x-amz-meta-fsspec-commit-nonce"]
        assert len(s3.received[0].body) == entry.size_bytes == 100_000

    def test_a_part_that_failed_is_sent_again_by_the_next_call(self, s3: ScriptedS3) -> None:
        store = s3.store
        stored = Answer(200, b"", {"ETag": '"e1"'})
        s3.script(BEGUN, error(503, "SlowDown"), stored, CLOSED, stored, DONE)

        async def write() -> Any:
            writer = store.writer(PATH, within=store.root)
            with pytest.raises(StoreError):
                await writer.write(b"1" * (9 << 20))
            await writer.write(b"")
            with pytest.raises(StoreError):
                await writer.finish()
            return await writer.finish()

        entry = s3.run(write())
        assert (entry.size_bytes, entry.token) == (9 << 20, "e-2")
        sizes = [len(one.body) >> 20 for one in s3.received if one.method == "PUT"]
        assert sizes == [8, 8, 1, 1]
        assert s3.received[-1].headers["x-amz-mp-object-size"] == str(9 << 20)

    def test_what_is_discarded_is_aborted(self, s3: ScriptedS3) -> None:
        store = s3.store
        s3.script(BEGUN, Answer(200, b"", {"ETag": '"e1"'}), error(403, "AccessDenied"))

        async def write() -> None:
            writer = store.writer(PATH, within=store.root)
            await writer.write(b"1" * (9 << 20))
            await writer.discard()
            await writer.discard()
            with pytest.raises(ValueError, match="is discarded"):
                await writer.finish()

        s3.run(write())
        assert [one.method for one in s3.received] == ["POST", "PUT", "DELETE"]

    def test_what_is_abandoned_stays_invisible(self, s3: ScriptedS3) -> None:
        store = s3.store
        s3.script(BEGUN, Answer(200, b"", {"ETag": '"e1"'}))

        async def write() -> None:
            writer = store.writer(PATH, within=store.root)
            await writer.write(b"1" * (9 << 20))
            del writer
            gc.collect()

        with pytest.warns(ResourceWarning, match="was abandoned"):
            s3.run(write())
        assert [one.method for one in s3.received] == ["POST", "PUT"]
