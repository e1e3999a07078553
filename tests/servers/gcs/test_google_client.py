"""What google-cloud-storage does, on both servers."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
from google.api_core.exceptions import NotFound, PreconditionFailed

if TYPE_CHECKING:
    from tests.servers.gcs.plugin import GcsBucket

CHUNK_SIZE_BYTES = 256 * 1024


@pytest.fixture
def bucket(gcs_bucket: GcsBucket) -> Any:
    return gcs_bucket.server.client.bucket(gcs_bucket.name)


def write(bucket: Any, name: str, content: bytes, **conditions: int) -> Any:
    blob = bucket.blob(name)
    blob.metadata = {"nonce": name}
    blob.upload_from_string(content, **conditions)
    return blob


def content(bucket: Any, name: str) -> bytes:
    found: bytes = bucket.blob(name).download_as_bytes()
    return found


def names(bucket: Any, **asked: Any) -> list[str]:
    return [blob.name for blob in bucket.client.list_blobs(bucket, **asked)]


def test_a_precondition_decides_an_upload(bucket: Any) -> None:
    first = write(bucket, "a", b"one", if_generation_match=0)
    with pytest.raises(PreconditionFailed):
        write(bucket, "a", b"two", if_generation_match=0)
    second = write(bucket, "a", b"two", if_generation_match=first.generation)
    assert second.generation > first.generation
    with pytest.raises(PreconditionFailed):
        write(bucket, "a", b"three", if_generation_match=first.generation)
    assert content(bucket, "a") == b"two"


@pytest.mark.parametrize("size_bytes", [0, CHUNK_SIZE_BYTES, 2 * CHUNK_SIZE_BYTES + 1])
def test_a_resumable_upload_comes_back(bucket: Any, size_bytes: int) -> None:
    data = b"x" * size_bytes
    blob = bucket.blob("big", chunk_size=CHUNK_SIZE_BYTES)
    # Of a known size that is small it would make one request.
    blob.upload_from_file(io.BytesIO(data), checksum="crc32c")
    assert content(bucket, "big") == data


def test_a_resumable_upload_has_its_precondition_at_the_end(bucket: Any) -> None:
    blob = bucket.blob("big", chunk_size=CHUNK_SIZE_BYTES)
    data = io.BytesIO(b"x" * (CHUNK_SIZE_BYTES + 1))
    write(bucket, "big", b"first")
    with pytest.raises(PreconditionFailed):
        blob.upload_from_file(data, if_generation_match=0)
    assert content(bucket, "big") == b"first"


def test_pages_are_followed(bucket: Any) -> None:
    wanted = [f"dir/{number:02}" for number in range(5)]
    for name in (*wanted, "dir.bak/0", "dir0"):
        write(bucket, name, b"")
    assert names(bucket, prefix="dir/", page_size=2) == wanted
    assert names(bucket, start_offset="dir/03", end_offset="dir0") == wanted[3:]


def test_prefixes_are_listed(bucket: Any) -> None:
    for name in ("a/1", "a/2", "b/3", "c"):
        write(bucket, name, b"")
    listing = bucket.client.list_blobs(bucket, delimiter="/")
    assert [blob.name for blob in listing] == ["c"]
    assert listing.prefixes == {"a/", "b/"}


def test_a_move_keeps_what_was_written(bucket: Any) -> None:
    source = write(bucket, "from", b"one")
    moved = bucket.move_blob(source, "dir/to", if_source_generation_match=source.generation)
    assert moved.metadata == {"nonce": "from"}
    assert moved.generation > source.generation
    assert moved.crc32c == source.crc32c
    assert names(bucket) == ["dir/to"]


def test_a_move_does_not_replace(bucket: Any) -> None:
    source, other = write(bucket, "from", b"one"), write(bucket, "to", b"two")
    with pytest.raises(PreconditionFailed):
        bucket.move_blob(source, "to", if_generation_match=0)
    assert content(bucket, "to") == b"two"
    assert content(bucket, "from") == b"one"
    bucket.move_blob(source, "to", if_generation_match=other.generation)
    assert content(bucket, "to") == b"one"


def test_a_move_of_another_generation_fails(bucket: Any) -> None:
    source = write(bucket, "from", b"one")
    write(bucket, "from", b"two")
    with pytest.raises(PreconditionFailed):
        bucket.move_blob(source, "to", if_source_generation_match=source.generation)
    assert names(bucket) == ["from"]


def test_a_rewrite_copies(bucket: Any) -> None:
    source = write(bucket, "from", b"one")
    copied = bucket.blob("to")
    assert copied.rewrite(source) == (None, 3, 3)
    assert content(bucket, "to") == b"one"
    assert content(bucket, "from") == b"one"


def test_a_rewrite_does_not_replace(bucket: Any) -> None:
    source = write(bucket, "from", b"one")
    write(bucket, "to", b"two")
    with pytest.raises(PreconditionFailed):
        bucket.blob("to").rewrite(source, if_generation_match=0)
    assert content(bucket, "to") == b"two"


def test_a_precondition_decides_a_deletion(bucket: Any) -> None:
    old = write(bucket, "a", b"one")
    new = write(bucket, "a", b"two")
    with pytest.raises(PreconditionFailed):
        bucket.blob("a").delete(if_generation_match=old.generation)
    assert content(bucket, "a") == b"two"
    bucket.blob("a").delete(if_generation_match=new.generation)
    with pytest.raises(NotFound):
        bucket.blob("a").delete()


def test_calls_in_a_batch_are_answered_each(bucket: Any) -> None:
    for name in ("a", "b"):
        write(bucket, name, b"")
    with bucket.client.batch(raise_exception=True):
        bucket.blob("a").delete()
        bucket.blob("b").delete()
    assert names(bucket) == []
