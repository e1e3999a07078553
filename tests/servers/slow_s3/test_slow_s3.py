"""The slow server is an S3 server to a client that we did not write, and as slow as it is told."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.servers.slow_s3.server import SlowS3
from tests.servers.test_servers import PART_SIZE_BYTES, begin_upload, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ODD_KEYS = ["a", "a b/c=d.txt", "a/b", "a+b", "a%2Fb", "a&<b>", "ä/ß", "z\n\x01", "\U0001f600"]


@pytest.fixture(scope="module")
def slow() -> Iterator[SlowS3]:
    with SlowS3() as server:
        yield server


@pytest.fixture
def client(slow: SlowS3) -> Any:
    return slow.client


@pytest.fixture(autouse=True)
def as_fast_as_it_can(slow: SlowS3) -> Iterator[None]:
    yield
    slow.set_load()


@pytest.fixture
def bucket(slow: SlowS3) -> str:
    return slow.new_bucket()


def code_of(call: Callable[..., Any], **parameters: Any) -> tuple[int, str]:
    """Status and code of a refusal."""
    with pytest.raises(ClientError) as refused:
        call(**parameters)
    answer = refused.value.response
    return answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"]


@pytest.mark.parametrize("key", ODD_KEYS)
def test_an_object_comes_back_with_its_metadata(client: Any, bucket: str, key: str) -> None:
    put = client.put_object(
        Bucket=bucket, Key=key, Body=b"one", Metadata={"nonce": "n1"}, ContentType="text/csv"
    )
    answer = client.get_object(Bucket=bucket, Key=key)
    assert answer["Body"].read() == b"one"
    assert answer["Metadata"] == {"nonce": "n1"}
    assert answer["ContentType"] == "text/csv"
    assert answer["ETag"] == put["ETag"] == f'"{hashlib.md5(b"one").hexdigest()}"'
    seen = client.head_object(Bucket=bucket, Key=key)
    assert (seen["ContentLength"], seen["ETag"]) == (3, put["ETag"])
    [listed] = client.list_objects_v2(Bucket=bucket)["Contents"]
    assert (listed["Key"], listed["Size"], listed["ETag"]) == (key, 3, put["ETag"])


def test_what_is_not_there_is_said_so(client: Any, bucket: str) -> None:
    assert code_of(client.get_object, Bucket=bucket, Key="a") == (404, "NoSuchKey")
    assert code_of(client.head_object, Bucket=bucket, Key="a") == (404, "404")
    assert code_of(client.get_object, Bucket="no-bucket", Key="a") == (404, "NoSuchBucket")
    client.delete_object(Bucket=bucket, Key="a")
    gone = {"Bucket": bucket, "Key": "a", "UploadId": "none"}
    assert code_of(client.abort_multipart_upload, **gone) == (404, "NoSuchUpload")


@pytest.mark.parametrize(
    ("asked", "found"),
    [("bytes=0-2", b"012"), ("bytes=7-", b"789"), ("bytes=-2", b"89"), ("bytes=8-99", b"89")],
)
def test_a_range_is_cut_out(client: Any, bucket: str, asked: str, found: bytes) -> None:
    client.put_object(Bucket=bucket, Key="a", Body=b"0123456789")
    assert text(client, bucket, "a", Range=asked) == found


def test_a_range_behind_the_end_is_refused(client: Any, bucket: str) -> None:
    client.put_object(Bucket=bucket, Key="a", Body=b"0123456789")
    refused = code_of(client.get_object, Bucket=bucket, Key="a", Range="bytes=10-")
    assert refused == (416, "InvalidRange")


def test_conditions_of_a_put(client: Any, bucket: str) -> None:
    where = {"Bucket": bucket, "Key": "a"}
    assert code_of(client.put_object, **where, IfMatch='"0"') == (404, "NoSuchKey")
    first = client.put_object(**where, Body=b"1", IfNoneMatch="*")["ETag"]
    failed = (412, "PreconditionFailed")
    assert code_of(client.put_object, **where, Body=b"2", IfNoneMatch="*") == failed
    second = client.put_object(**where, Body=b"2", IfMatch=first)["ETag"]
    assert code_of(client.put_object, **where, Body=b"3", IfMatch=first) == failed
    assert code_of(client.get_object, **where, IfMatch=first) == failed
    assert code_of(client.get_object, **where, IfNoneMatch=second) == (304, "304")
    assert code_of(client.delete_object, **where, IfMatch=first) == failed
    client.delete_object(**where, IfMatch=second)
    assert client.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_conditions_of_a_completion(client: Any, bucket: str) -> None:
    failed = (412, "PreconditionFailed")
    complete = client.complete_multipart_upload
    one, other = (begin_upload(client, bucket, "a", body) for body in (b"one", b"other"))
    assert code_of(complete, **one, IfMatch='"0"') == (404, "NoSuchKey")
    etag = complete(**one, IfNoneMatch="*")["ETag"]
    assert code_of(complete, **other, IfNoneMatch="*") == failed
    complete(**other, IfMatch=etag)
    assert text(client, bucket, "a") == b"other"
    assert code_of(complete, **begin_upload(client, bucket, "a", b"late"), IfMatch=etag) == failed


def test_an_upload_is_put_together_and_then_visible(client: Any, bucket: str) -> None:
    big, small = bytes(range(256)) * (PART_SIZE_BYTES // 256), b"end"
    upload = begin_upload(client, bucket, "a", big, small)
    assert client.list_objects_v2(Bucket=bucket)["KeyCount"] == 0
    etag = client.complete_multipart_upload(**upload)["ETag"]
    assert text(client, bucket, "a") == big + small
    parts = b"".join(hashlib.md5(part).digest() for part in (big, small))
    assert etag == f'"{hashlib.md5(parts).hexdigest()}-2"'
    assert text(client, bucket, "a", Range=f"bytes={PART_SIZE_BYTES - 1}-") == b"\xffend"


def test_an_upload_ends_once(client: Any, bucket: str) -> None:
    upload = begin_upload(client, bucket, "a", b"one")
    ids = {name: upload[name] for name in ("Bucket", "Key", "UploadId")}
    client.complete_multipart_upload(**upload)
    gone = (404, "NoSuchUpload")
    assert code_of(client.complete_multipart_upload, **upload) == gone
    assert code_of(client.abort_multipart_upload, **ids) == gone
    assert code_of(client.upload_part, **ids, PartNumber=1, Body=b"late") == gone
    aborted = begin_upload(client, bucket, "b", b"one")
    client.abort_multipart_upload(**{name: aborted[name] for name in ids})
    assert code_of(client.complete_multipart_upload, **aborted) == gone
    assert client.list_objects_v2(Bucket=bucket)["KeyCount"] == 1


def test_a_completion_is_checked(client: Any, bucket: str) -> None:
    complete = client.complete_multipart_upload
    upload = begin_upload(client, bucket, "a", b"small", b"last")
    assert code_of(complete, **upload) == (400, "EntityTooSmall")
    one, other = upload["MultipartUpload"]["Parts"]

    def with_parts(*parts: dict[str, Any]) -> dict[str, Any]:
        return {**upload, "MultipartUpload": {"Parts": list(parts)}}

    assert code_of(complete, **with_parts(other, one)) == (400, "InvalidPartOrder")
    wrong = {**one, "ETag": other["ETag"]}
    assert code_of(complete, **with_parts(wrong)) == (400, "InvalidPart")
    wrong = {**one, "ChecksumCRC32": "AAAAAA=="}
    assert code_of(complete, **with_parts(wrong)) == (400, "InvalidPart")
    assert code_of(complete, **with_parts()) == (400, "MalformedXML")
    complete(**with_parts(other))
    assert text(client, bucket, "a") == b"last"


def test_two_uploads_of_one_key_do_not_meet(client: Any, bucket: str) -> None:
    one, other = (
        begin_upload(client, bucket, "a", b"one"),
        begin_upload(client, bucket, "a", b"other"),
    )
    assert one["UploadId"] != other["UploadId"]
    client.complete_multipart_upload(**one)
    assert text(client, bucket, "a") == b"one"
    [left] = client.list_multipart_uploads(Bucket=bucket)["Uploads"]
    assert left["UploadId"] == other["UploadId"]


def test_uploads_are_listed_by_prefix_in_pages(client: Any, bucket: str) -> None:
    begun = [begin_upload(client, bucket, f"dir/{i % 5}") for i in range(25)]
    begin_upload(client, bucket, "dir10/a")
    found, pages, place = [], 0, dict[str, str]()
    while True:
        page = client.list_multipart_uploads(Bucket=bucket, Prefix="dir/", MaxUploads=10, **place)
        found += [(one["Key"], one["UploadId"]) for one in page.get("Uploads", [])]
        pages += 1
        if not page["IsTruncated"]:
            break
        place = {
            "KeyMarker": page["NextKeyMarker"],
            "UploadIdMarker": page["NextUploadIdMarker"],
        }
    assert pages == 3
    assert found == sorted((one["Key"], one["UploadId"]) for one in begun)
    # As on S3, a prefix is one of characters.
    assert len(client.list_multipart_uploads(Bucket=bucket, Prefix="dir")["Uploads"]) == 26
    after = client.list_multipart_uploads(Bucket=bucket, KeyMarker="dir/3")["Uploads"]
    assert {one["Key"] for one in after} == {"dir/4", "dir10/a"}


def test_objects_are_listed_in_pages_and_by_directory(client: Any, bucket: str) -> None:
    keys = [f"{folder}/{i:02d}" for folder in ("a", "a-b", "b/c") for i in range(7)] + ["top"]
    for key in keys:
        client.put_object(Bucket=bucket, Key=key, Body=b"")
    pager = client.get_paginator("list_objects_v2")

    def listed(**parameters: Any) -> tuple[list[str], list[str], int]:
        pages = list(pager.paginate(Bucket=bucket, PaginationConfig={"PageSize": 3}, **parameters))
        found = [one["Key"] for page in pages for one in page.get("Contents", [])]
        prefixes = [one["Prefix"] for page in pages for one in page.get("CommonPrefixes", [])]
        return found, prefixes, len(pages)

    assert listed() == (sorted(keys), [], 8)
    assert listed(Prefix="a/") == (sorted(keys)[7:14], [], 3)
    assert listed(Delimiter="/") == (["top"], ["a-b/", "a/", "b/"], 2)
    assert listed(Prefix="b/", Delimiter="/") == ([], ["b/c/"], 1)
    assert listed(Prefix="a-b/", StartAfter="a-b/04")[0] == ["a-b/05", "a-b/06"]
    assert listed(Prefix="none/") == ([], [], 1)


@pytest.mark.parametrize("quiet", [True, False])
def test_many_objects_are_deleted_at_once(client: Any, bucket: str, quiet: bool) -> None:
    for key in ODD_KEYS[:-2]:
        client.put_object(Bucket=bucket, Key=key, Body=b"")
    named = [{"Key": key} for key in [*ODD_KEYS[1:-2], "not there"]]
    answer = client.delete_objects(Bucket=bucket, Delete={"Objects": named, "Quiet": quiet})
    assert [one["Key"] for one in answer.get("Deleted", [])] == (
        [] if quiet else [one["Key"] for one in named]
    )
    [left] = client.list_objects_v2(Bucket=bucket)["Contents"]
    assert left["Key"] == ODD_KEYS[0]


def test_buckets(client: Any, bucket: str) -> None:
    assert "Status" not in client.get_bucket_versioning(Bucket=bucket)
    client.head_bucket(Bucket=bucket)
    assert code_of(client.head_bucket, Bucket="no-bucket") == (404, "404")
    assert code_of(client.create_bucket, Bucket=bucket) == (409, "BucketAlreadyOwnedByYou")


def test_what_it_cannot_do_it_does_not_pretend_to(client: Any, bucket: str) -> None:
    client.put_object(Bucket=bucket, Key="a", Body=b"one")
    source = {"Bucket": bucket, "Key": "a"}
    part = {"UploadId": "none", "PartNumber": 1}
    no = (501, "NotImplemented")
    assert code_of(client.copy_object, Bucket=bucket, Key="b", CopySource=source) == no
    assert code_of(client.list_object_versions, Bucket=bucket) == no
    assert code_of(client.get_bucket_acl, Bucket=bucket) == no
    assert code_of(client.delete_bucket, Bucket=bucket) == no
    assert code_of(client.upload_part_copy, **source, **part, CopySource=source) == no


def test_parts_are_listed_page_by_page(client: Any, bucket: str) -> None:
    where = {"Bucket": bucket, "Key": "a"}
    upload_id = client.create_multipart_upload(**where)["UploadId"]
    where["UploadId"] = upload_id
    for number in range(1, 6):
        client.upload_part(**where, PartNumber=number, Body=b"x" * number)
    pages = client.get_paginator("list_parts").paginate(**where, PaginationConfig={"PageSize": 2})
    parts = [part for page in pages for part in page["Parts"]]
    assert [(part["PartNumber"], part["Size"]) for part in parts] == [(n, n) for n in range(1, 6)]
    assert code_of(client.list_parts, Bucket=bucket, Key="b", UploadId=upload_id) == (
        404,
        "NoSuchUpload",
    )


def test_calls_are_counted_by_operation(slow: SlowS3, client: Any, bucket: str) -> None:
    slow.set_load()
    before = slow.statistics()
    client.complete_multipart_upload(**begin_upload(client, bucket, "a", b"one"))
    for _ in range(3):
        client.head_object(Bucket=bucket, Key="a")
    found = slow.statistics().since(before)
    begun = dict.fromkeys(("CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload"), 1)
    assert found.requests == Counter({**begun, "HeadObject": 3})
    assert found.throttled == Counter()
    assert (found.steps, found.in_flight_max) == (6, 1)
    assert found.cpu_s > 0


def test_no_call_is_answered_before_its_time(slow: SlowS3, client: Any, bucket: str) -> None:
    slow.set_load(latency_s=0.1)
    began = time.monotonic()
    for _ in range(3):
        assert code_of(client.head_object, Bucket=bucket, Key="a") == (404, "404")
    assert time.monotonic() - began >= 0.3
    assert slow.statistics().in_flight_max == 1


def test_a_call_too_many_is_refused_and_does_nothing(
    slow: SlowS3, client: Any, bucket: str
) -> None:
    # Room for five, and for a sixth in a quarter of an hour.
    slow.set_load(rate_per_s=0.001, burst_s=5_000)
    before = slow.statistics()
    for i in range(5):
        client.put_object(Bucket=bucket, Key=str(i), Body=b"")
    for i in range(5, 8):
        refused = code_of(client.put_object, Bucket=bucket, Key=str(i), Body=b"")
        assert refused == (503, "SlowDown")
    found = slow.statistics().since(before)
    assert found.throttled == Counter({"PutObject": 3})
    assert found.throttled_share == 3 / 8
    slow.set_load()
    assert client.list_objects_v2(Bucket=bucket)["KeyCount"] == 5


def test_everything_is_forgotten_when_asked(slow: SlowS3, client: Any, bucket: str) -> None:
    slow.forget()
    assert code_of(client.head_bucket, Bucket=bucket) == (404, "404")
