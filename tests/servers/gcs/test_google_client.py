"""What google-cloud-storage does, on both servers."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
from google.api_core.exceptions import Forbidden, NotFound, PreconditionFailed

if TYPE_CHECKING:
    from tests.servers.gcs.plugin import GcsBucket
    from tests.servers.gcs.server import GcsServer

CHUNK_SIZE_BYTES = 256 * 1024
only_strict = pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)


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
        bucket.copy_blob(source, bucket, "to", if_generation_match=0)
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


def test_objects_are_composed(bucket: Any) -> None:
    sources = [write(bucket, name, name.encode()) for name in ("1", "2", "3")]
    bucket.blob("all").compose(sources)
    assert content(bucket, "all") == b"123"


def test_calls_in_a_batch_are_answered_each(bucket: Any) -> None:
    for name in ("a", "b"):
        write(bucket, name, b"")
    with bucket.client.batch(raise_exception=True):
        bucket.blob("a").delete()
        bucket.blob("b").delete()
    assert names(bucket) == []


@only_strict
def test_an_object_under_retention_stays(gcs_server: GcsServer) -> None:
    name = gcs_server.new_bucket(retentionPolicy={"retentionPeriod": "3600"})
    bucket = gcs_server.client.get_bucket(name)
    assert bucket.retention_period == 3600
    kept = write(bucket, "kept", b"one")
    assert kept.retention_expiration_time > kept.time_created
    with pytest.raises(Forbidden, match="retention policy"):
        kept.delete()
    with pytest.raises(Forbidden, match="retention policy"):
        write(bucket, "kept", b"two")
    with pytest.raises(Forbidden, match="retention policy"):
        bucket.move_blob(kept, "elsewhere")
    assert content(bucket, "kept") == b"one"


@only_strict
@pytest.mark.parametrize("hold", ["temporary_hold", "event_based_hold"])
def test_an_object_that_is_held_stays(bucket: Any, hold: str) -> None:
    held = write(bucket, "held", b"one")
    setattr(held, hold, True)
    held.patch()
    with pytest.raises(Forbidden, match="hold"):
        held.delete()
    other = write(bucket, "other", b"two")
    with pytest.raises(Forbidden, match="hold"):
        bucket.move_blob(other, "held")
    setattr(held, hold, False)
    held.patch()
    bucket.move_blob(other, "held")
    assert content(bucket, "held") == b"two"


@only_strict
def test_a_hold_comes_with_the_bucket(gcs_server: GcsServer) -> None:
    name = gcs_server.new_bucket(defaultEventBasedHold=True)
    held = write(gcs_server.client.bucket(name), "a", b"")
    with pytest.raises(Forbidden, match="Event-Based hold"):
        held.delete()
