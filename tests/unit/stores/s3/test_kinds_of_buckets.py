"""What stands behind a name at AWS, and behind an endpoint that is not AWS's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import RequestError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, OpenOptions
from fsspec_commit_stores.s3 import S3Store
from fsspec_commit_stores.s3.provenance import is_aws
from tests.unit.stores.responder import Answer, Received
from tests.unit.stores.s3.answers import session, tag, xml

if TYPE_CHECKING:
    from tests.unit.stores.s3.scripted import ScriptedS3

AWS = {"key": "k", "secret": "s", "client_kwargs": {"region_name": "us-east-1"}}
MINE = {**AWS, "endpoint_url": "http://127.0.0.1:9000"}
OTHER_STORES = {
    "an Outpost": "name-o01ac5d28a6a232904e8xz5w8ijx1qzlbp3i3kuse10--op-s3",
    "a file system of FSx": "name-ab12cd34ef56-ext-s3alias",
    "a function that rewrites": "name-ab12cd34ef56--ol-s3",
    "a table": "name-ab12cd34ef56--table-s3",
}


def opened(s3: ScriptedS3, url: str, storage_options: dict[str, Any]) -> S3Store:
    """A store that is closed again: nothing is asked of it but what is known."""
    asked = OpenOptions(storage_options=storage_options)
    store = s3.run(S3Store.open(url, asked))
    s3.run(store.close())
    return store


@pytest.mark.parametrize("bucket", OTHER_STORES.values(), ids=OTHER_STORES)
def test_another_store_at_a_host_of_aws_is_tried_out(s3: ScriptedS3, bucket: str) -> None:
    """An Outpost knows no conditional writes: two drivers would both have committed."""
    store = opened(s3, f"s3://{bucket}/out", AWS)
    assert store.unverified_endpoint is not None
    assert store.unverified_endpoint.endswith(f"/{bucket}")
    facts = store.capabilities.facts()
    for name in ("exclusive_create", "replace_if_match", "delete_if_match", "consistent_listing"):
        assert facts[name] is None, name


@pytest.mark.parametrize(
    "bucket", ["bucket", "name-ab12cd34ef56-s3alias", "n--use1-az4--x-s3", "n--use1-az4--xa-s3"]
)
def test_s3_itself_is_verified(s3: ScriptedS3, bucket: str) -> None:
    store = opened(s3, f"s3://{bucket}/out", AWS)
    assert store.unverified_endpoint is None
    assert store.capabilities.exclusive_create is True
    assert (store.files is not None) is bucket.endswith(("--x-s3", "--xa-s3"))


@pytest.mark.parametrize(
    "host",
    [
        "s3.amazonaws.com",
        "bucket.s3-us-west-2.amazonaws.com",
        "s3-fips.dualstack.us-gov-west-1.amazonaws.com",
        "s3-accelerate.dualstack.amazonaws.com",
        "s3express-use1-az4.us-east-1.amazonaws.com",
        "s3.cn-north-1.amazonaws.com.cn",
        "s3.eusc-de-east-1.amazonaws.eu",
    ],
)
def test_hosts_of_s3_are_known(host: str) -> None:
    assert is_aws(f"https://{host}")


@pytest.mark.parametrize(
    "host",
    [
        "ec2-54-1-2-3.eu-west-1.compute.amazonaws.com",
        "s3-of-ours-1a2b.elb.eu-west-1.amazonaws.com",
        "s3-of-ours-1a2b.eu-west-1.elb.amazonaws.com",
        "vpce-1-2.vpce-svc-3.eu-west-1.vpce.amazonaws.com",
        "1a2b.execute-api.eu-west-1.amazonaws.com",
    ],
)
def test_what_anybody_may_run_at_a_host_of_aws_is_tried_out(s3: ScriptedS3, host: str) -> None:
    """MinIO behind a load balancer deletes whatever stands there, on any condition."""
    store = opened(s3, "s3://bucket/out", {**AWS, "endpoint_url": f"https://{host}"})
    assert store.unverified_endpoint == f"https://{host}/bucket"
    assert store.capabilities.delete_if_match is None


def test_parts_are_of_one_length_where_nobody_says_that_they_need_not(s3: ScriptedS3) -> None:
    """Cloudflare R2 completes no upload of others, and says so after the decision."""

    def part_bytes(storage_options: dict[str, Any]) -> int | None:
        uploads = opened(s3, "s3://bucket/out", storage_options).uploads
        assert uploads is not None
        return uploads.part_bytes

    assert part_bytes(AWS) is None
    assert part_bytes(MINE) == 8 << 20
    for account in (AWS, MINE):
        assert part_bytes({**account, "default_block_size": 64 << 20}) == 64 << 20


@pytest.mark.parametrize("size", [0, (5 << 20) - 1, (5 << 30) + 1, "8 MiB", 8.5e6, None])
def test_a_length_that_no_part_has_is_refused(s3: ScriptedS3, size: object) -> None:
    given = {**MINE, "default_block_size": size}
    if size is None:
        opened(s3, "s3://bucket/out", given)
        return
    with pytest.raises(RequestError, match="from 5 MiB to 5 GiB") as caught:
        opened(s3, "s3://bucket/out", given)
    assert caught.value.kind == "invalid_option"


SETTINGS = {
    "CacheControl": "max-age=3600",
    "ContentType": "application/vnd.apache.parquet",
    "ContentEncoding": "zstd",
    "StorageClass": "GLACIER",
    "ObjectLockMode": "COMPLIANCE",
    "ServerSideEncryption": "AES256",
}
OF_DATA = ("cache-control", "content-encoding", "x-amz-storage-class", "x-amz-object-lock-mode")


@pytest.mark.parametrize("size", [1, (8 << 20) + 1])
@pytest.mark.parametrize("bucket", ["bucket", "n--use1-az4--x-s3"])
def test_settings_of_data_do_not_hit_records(s3: ScriptedS3, bucket: str, size: int) -> None:
    """An archived record cannot be read; of a cached one, an old word is heard."""

    def answering(request: Received) -> Answer:
        if "session" in request.query:
            return session()
        if "uploads" in request.query:
            return xml("InitiateMultipartUploadResult", tag("UploadId", "u1"))
        if request.method == "POST":
            return xml("CompleteMultipartUploadResult", tag("ETag", '"e1"'))
        return Answer(200, headers={"ETag": '"e1"'})

    s3.answering = answering
    store = s3.open(f"s3://{bucket}/out", s3_additional_kwargs=SETTINGS)
    path = StorePath(f"{bucket}/out/a")

    async def written() -> None:
        await store.put(path, b"1", expecting=Expect.ABSENT, within=None)
        writer = store.writer(path, within=store.root, nonce=Nonce("0" * 32))
        await writer.write(b"1" * size)
        await writer.finish()

    s3.run(written())
    put, *rest = (one for one in s3.received if "session" not in one.query)
    begun = rest[0]
    assert put.headers["x-amz-server-side-encryption"] == "AES256"
    assert not set(OF_DATA) & put.headers.keys()
    # Where objects are renamed, what is written bit by bit is data.
    assert bool(set(OF_DATA) & begun.headers.keys()) is (bucket != "bucket")
