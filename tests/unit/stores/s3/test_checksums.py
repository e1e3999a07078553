"""What is sent has a checksum, which is the body's."""

from __future__ import annotations

import zlib
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.store import Expect, PendingUpload
from fsspec_commit_stores.s3.checksums import calculated_bytes_max, with_crc32
from tests.unit.stores.responder import Answer
from tests.unit.stores.s3.answers import MARK
from tests.unit.stores.verbs import NONCE, PATH

if TYPE_CHECKING:
    from fsspec_commit_stores.s3 import S3Store
    from tests.unit.stores.s3.scripted import ScriptedS3

BODY = b"what is sent"
CRC32 = b64encode(zlib.crc32(BODY).to_bytes(4, "big")).decode()
CHECKSUM = "x-amz-checksum-"


async def put(store: S3Store, body: bytes = BODY) -> None:
    await store.put(PATH, body, expecting=Expect.ANYTHING, within=None)


async def write(store: S3Store) -> None:
    writer = store.writer(PATH, within=store.root)
    await writer.write(BODY)
    await writer.finish()


async def part(store: S3Store) -> None:
    upload = PendingUpload(path=PATH, upload_id="u", nonce=NONCE, parts=())
    await store.uploads.put_part(upload, 1, BODY)


@pytest.mark.parametrize("send", [put, write, part])
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, {"crc32": CRC32}),
        ({"s3_additional_kwargs": {"ChecksumAlgorithm": "CRC32"}}, {"crc32": CRC32}),
        ({"s3_additional_kwargs": {"ChecksumAlgorithm": "SHA1"}}, {"sha1": None}),
        ({"config_kwargs": {"request_checksum_calculation": "when_required"}}, {}),
    ],
    ids=["nothing said", "CRC-32", "another", "none"],
)
def test_a_body_has_the_one_that_is_wanted(
    s3: ScriptedS3, send: Any, options: dict[str, Any], told: dict[str, str | None]
) -> None:
    s3.answering = lambda _: Answer(200, headers={"ETag": '"e"', **MARK})
    s3.run(send(s3.open(**options)))
    [request] = s3.received
    found = {
        name.removeprefix(CHECKSUM): value
        for name, value in request.headers.items()
        if name.startswith(CHECKSUM)
    }
    assert found.keys() == told.keys()
    assert all(value in {None, found[name]} for name, value in told.items())
    assert request.body == BODY


def test_a_long_body_that_is_encrypted_is_not_read_twice() -> None:
    """botocore puts its checksum behind it, and leaves it out of the signature."""
    assert calculated_bytes_max("https://s3.eu-west-1.amazonaws.com") == 1 << 20
    assert calculated_bytes_max("http://127.0.0.1:9000") == 8 << 20


def test_what_was_asked_for_is_not_asked_for_again() -> None:
    asked = {"Key": "k", "Body": BODY, "ChecksumAlgorithm": "CRC32"}
    assert with_crc32(asked) == {"Key": "k", "Body": BODY, "ChecksumCRC32": CRC32}
    assert asked["ChecksumAlgorithm"] == "CRC32"
