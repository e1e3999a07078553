"""Each server does what the tests need of it, through a client that we did not write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from tests.servers.races import race

if TYPE_CHECKING:
    from tests.servers.plugin import S3Bucket
    from tests.servers.server import Server

PART_SIZE_BYTES = 5 * 1024 * 1024


def text(client: Any, bucket: str, key: str, **parameters: Any) -> bytes:
    content: bytes = client.get_object(Bucket=bucket, Key=key, **parameters)["Body"].read()
    return content


def begin_upload(client: Any, bucket: str, key: str, *parts: bytes) -> dict[str, Any]:
    """An upload as plain data: what another process needs to complete it."""
    upload = client.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
    where = {"Bucket": bucket, "Key": key, "UploadId": upload}
    done = []
    for number, part in enumerate(parts, 1):
        etag = client.upload_part(**where, PartNumber=number, Body=part)["ETag"]
        done.append({"PartNumber": number, "ETag": etag})
    return {**where, "MultipartUpload": {"Parts": done}}


def test_an_object_comes_back(s3_bucket: S3Bucket) -> None:
    client, bucket = s3_bucket.server.client, s3_bucket.name
    client.put_object(Bucket=bucket, Key="a b/c=d.txt", Body=b"one", Metadata={"nonce": "n1"})
    answer = client.get_object(Bucket=bucket, Key="a b/c=d.txt")
    assert answer["Body"].read() == b"one"
    assert answer["Metadata"] == {"nonce": "n1"}
    [listed] = client.list_objects_v2(Bucket=bucket, Prefix="a b/")["Contents"]
    assert listed["Key"] == "a b/c=d.txt"


def test_buckets_are_new(s3_server: Server) -> None:
    one, other = s3_server.new_bucket(), s3_server.new_bucket()
    assert one != other
    s3_server.client.put_object(Bucket=one, Key="a", Body=b"")
    assert s3_server.client.list_objects_v2(Bucket=other)["KeyCount"] == 0


def test_a_conditional_put_has_one_winner(s3_bucket: S3Bucket) -> None:
    client, bucket = s3_bucket.server.client, s3_bucket.name

    def put(racer: int) -> int:
        body = b"%d" % racer
        try:
            answer = client.put_object(Bucket=bucket, Key="decision", Body=body, IfNoneMatch="*")
        except ClientError as error:
            answer = error.response
        return int(answer["ResponseMetadata"]["HTTPStatusCode"])

    statuses = race(put)
    assert statuses.count(200) == 1
    assert set(statuses) <= {200, 409, 412}
    assert text(client, bucket, "decision") == b"%d" % statuses.index(200)


def test_an_upload_is_completed_from_plain_data(s3_bucket: S3Bucket) -> None:
    server, bucket = s3_bucket.server, s3_bucket.name
    first = b"x" * PART_SIZE_BYTES
    upload = begin_upload(server.client, bucket, "dir/file", first, b"rest")
    assert server.client.list_objects_v2(Bucket=bucket)["KeyCount"] == 0
    uploads = server.client.list_multipart_uploads(Bucket=bucket, Prefix="dir/")["Uploads"]
    assert [found["UploadId"] for found in uploads] == [upload["UploadId"]]
    another = server.client_through(server.endpoint_url)
    another.complete_multipart_upload(**upload)
    another.close()
    assert text(server.client, bucket, "dir/file") == first + b"rest"


def test_a_kill_loses_no_object(s3_bucket: S3Bucket) -> None:
    server, bucket = s3_bucket.server, s3_bucket.name
    server.client.put_object(Bucket=bucket, Key="kept", Body=b"one", Metadata={"nonce": "n1"})
    before = server.client.head_object(Bucket=bucket, Key="kept")
    address = server.endpoint_url
    server.kill()
    assert not server.running
    server.restart()
    assert server.endpoint_url == address
    after = server.client.get_object(Bucket=bucket, Key="kept")
    assert after["Body"].read() == b"one"
    assert after["ETag"] == before["ETag"]
    assert after["Metadata"] == {"nonce": "n1"}


def test_a_kill_loses_no_upload(s3_bucket: S3Bucket) -> None:
    server, bucket = s3_bucket.server, s3_bucket.name
    # Not an empty bucket: what is asked here is what becomes of the upload.
    server.client.put_object(Bucket=bucket, Key="other", Body=b"")
    upload = begin_upload(server.client, bucket, "file", b"content")
    server.kill()
    server.restart()
    server.client.complete_multipart_upload(**upload)
    assert text(server.client, bucket, "file") == b"content"
