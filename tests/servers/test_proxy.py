"""Every fault of the proxy, on each real server: what the client hears, what the server did."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

from tests.servers.faults import (
    AnswerAfterwards,
    AnswerInstead,
    DelayReply,
    LoseReply,
    ResetReply,
    ResetRequest,
    Rule,
)
from tests.servers.impostors import IMPOSTORS, rules_of
from tests.servers.kinds import MINISTACK
from tests.servers.plugin import get_or_skip
from tests.servers.proxy import FaultProxy
from tests.servers.server import new_client
from tests.sweeps import some_tests_by_day

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.plugin import S3Bucket
    from tests.servers.server import Server, Servers

pytestmark = some_tests_by_day(3)
CONTENT = b"0123456789" * 20_000


@pytest.fixture
def client(s3_server: Server, s3_proxy: FaultProxy) -> Iterator[Any]:
    """Through the proxy; ``s3_server.client`` sees past it."""
    client = s3_server.client_through(s3_proxy.endpoint_url, signature_version="s3v4")
    yield client
    client.close()


def keys(bucket: S3Bucket) -> list[str]:
    listed = bucket.server.client.list_objects_v2(Bucket=bucket.name)
    return [found["Key"] for found in listed.get("Contents", [])]


def put(client: Any, bucket: S3Bucket, key: str = "a", body: bytes = CONTENT) -> None:
    client.put_object(Bucket=bucket.name, Key=key, Body=body)


def content(client: Any, bucket: S3Bucket, key: str = "a") -> bytes:
    answer: bytes = client.get_object(Bucket=bucket.name, Key=key)["Body"].read()
    return answer


def test_what_meets_no_rule_passes(client: Any, s3_bucket: S3Bucket, s3_proxy: FaultProxy) -> None:
    put(client, s3_bucket, "dir/a b=c%.txt")
    assert content(client, s3_bucket, "dir/a b=c%.txt") == CONTENT
    client.head_object(Bucket=s3_bucket.name, Key="dir/a b=c%.txt")
    client.list_objects_v2(Bucket=s3_bucket.name, Prefix="dir/")
    client.delete_object(Bucket=s3_bucket.name, Key="dir/a b=c%.txt")
    with pytest.raises(ClientError, match="404"):
        client.head_object(Bucket=s3_bucket.name, Key="dir/a b=c%.txt")
    assert [(one.operation, one.status, one.heard) for one in s3_proxy.exchanges] == [
        ("PutObject", 200, 200),
        ("GetObject", 200, 200),
        ("HeadObject", 200, 200),
        ("ListObjectsV2", 200, 200),
        ("DeleteObject", 204, 204),
        ("HeadObject", 404, 404),
    ]
    assert s3_proxy.exchanges[0].path == f"/{s3_bucket.name}/dir/a b=c%.txt"
    assert s3_proxy.exchanges[3].query["prefix"] == "dir/"


def test_an_upload_is_named_verb_by_verb(
    client: Any, s3_bucket: S3Bucket, s3_proxy: FaultProxy
) -> None:
    for ends in (True, False):
        where = {"Bucket": s3_bucket.name, "Key": "a"}
        where["UploadId"] = client.create_multipart_upload(**where)["UploadId"]
        etag = client.upload_part(**where, PartNumber=1, Body=CONTENT)["ETag"]
        client.list_parts(**where)
        if ends:
            parts = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
            client.complete_multipart_upload(**where, MultipartUpload=parts)
        else:
            client.abort_multipart_upload(**where)
    client.list_multipart_uploads(Bucket=s3_bucket.name)
    client.delete_objects(Bucket=s3_bucket.name, Delete={"Objects": [{"Key": "a"}]})
    assert s3_proxy.operations() == {
        "CreateMultipartUpload": 2,
        "UploadPart": 2,
        "ListParts": 2,
        "CompleteMultipartUpload": 1,
        "AbortMultipartUpload": 1,
        "ListMultipartUploads": 1,
        "DeleteObjects": 1,
    }


def test_a_signature_holds_through_the_proxy(servers: Servers, s3_environment: None) -> None:
    """Ministack checks no signature of its root; the other two check every one."""
    server = get_or_skip(servers, MINISTACK)
    bucket = server.new_bucket()
    account = server.storage_options_without()
    with FaultProxy(server.endpoint_url) as proxy:
        good = new_client(proxy.endpoint_url, account["key"], account["secret"])
        good.put_object(Bucket=bucket, Key="a", Body=b"")
        good.close()
        bad = new_client(proxy.endpoint_url, account["key"], "wrong")
        with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
            bad.put_object(Bucket=bucket, Key="b", Body=b"")
        bad.close()


@pytest.mark.parametrize("s3_server", ["seaweedfs", "versitygw"], indirect=True)
def test_a_wrong_key_is_refused(s3_server: Server, s3_proxy: FaultProxy) -> None:
    right = s3_server.storage_options["key"]
    client = new_client(s3_proxy.endpoint_url, right, "wrong")
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        client.list_buckets()
    client.close()


def test_a_lost_reply(client: Any, s3_bucket: S3Bucket, s3_proxy: FaultProxy) -> None:
    s3_proxy.add(Rule(LoseReply(), operation="PutObject"))
    with pytest.raises(BotoCoreError):
        put(client, s3_bucket)
    [met] = s3_proxy.exchanges
    assert (met.forwarded, met.status, met.heard) == (True, 200, None)
    assert content(s3_bucket.server.client, s3_bucket) == CONTENT
    put(client, s3_bucket, "b")


def test_a_500_that_did_happen(client: Any, s3_bucket: S3Bucket, s3_proxy: FaultProxy) -> None:
    s3_proxy.add(Rule(AnswerAfterwards(), operation="PutObject"))
    with pytest.raises(ClientError, match="InternalError") as caught:
        put(client, s3_bucket)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
    [met] = s3_proxy.exchanges
    assert (met.status, met.heard) == (200, 500)
    assert keys(s3_bucket) == ["a"]


@pytest.mark.parametrize("retry_after_s", [None, 3])
def test_a_503_that_the_server_never_saw(
    client: Any, s3_bucket: S3Bucket, s3_proxy: FaultProxy, retry_after_s: int | None
) -> None:
    s3_proxy.add(Rule(AnswerInstead(retry_after_s=retry_after_s), operation="PutObject", times=2))
    for _ in range(2):
        with pytest.raises(ClientError, match="SlowDown") as caught:
            put(client, s3_bucket)
        headers = caught.value.response["ResponseMetadata"]["HTTPHeaders"]
        assert headers.get("retry-after") == (None if retry_after_s is None else "3")
    assert keys(s3_bucket) == []
    put(client, s3_bucket)
    assert [(one.forwarded, one.heard) for one in s3_proxy.exchanges] == [
        (False, 503),
        (False, 503),
        (True, 200),
    ]


@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
@pytest.mark.parametrize("impostor", IMPOSTORS)
def test_an_answer_of_another(
    client: Any, s3_bucket: S3Bucket, s3_proxy: FaultProxy, impostor: str
) -> None:
    """It is neither forwarded nor in S3's words, and the connection is good for the next one."""
    for rule in rules_of(IMPOSTORS[impostor], nth=2, once=True):
        s3_proxy.add(rule)
    put(client, s3_bucket, "1")
    with suppress(ClientError, BotoCoreError):
        put(client, s3_bucket, "2")
    put(client, s3_bucket, "3")
    assert {"1", "3"} <= set(keys(s3_bucket))
    [met] = [one for one in s3_proxy.exchanges if one.fault is not None]
    assert (met.forwarded, met.heard) == (False, IMPOSTORS[impostor].status)


def test_a_token_expires_half_way(client: Any, s3_bucket: S3Bucket, s3_proxy: FaultProxy) -> None:
    s3_proxy.add(Rule(AnswerInstead(status=400, code="ExpiredToken"), nth=3, times=None))
    put(client, s3_bucket, "1")
    put(client, s3_bucket, "2")
    for key in ("3", "4"):
        with pytest.raises(ClientError, match="ExpiredToken"):
            put(client, s3_bucket, key)
    with pytest.raises(ClientError, match="400"):
        client.head_object(Bucket=s3_bucket.name, Key="1")
    assert keys(s3_bucket) == ["1", "2"]


@pytest.mark.parametrize("after_bytes", [0, 100_000, 10_000_000])
def test_a_request_is_reset(
    client: Any, s3_bucket: S3Bucket, s3_proxy: FaultProxy, after_bytes: int
) -> None:
    rule = s3_proxy.add(Rule(ResetRequest(after_bytes), operation="PutObject"))
    with pytest.raises(BotoCoreError):
        put(client, s3_bucket)
    assert rule.met
    [met] = s3_proxy.exchanges
    assert (met.forwarded, met.status, met.heard) == (False, None, None)
    put(client, s3_bucket, "b")
    assert keys(s3_bucket) == ["b"]


def test_a_request_without_body_is_reset(
    client: Any, s3_bucket: S3Bucket, s3_proxy: FaultProxy
) -> None:
    put(client, s3_bucket)
    s3_proxy.add(Rule(ResetRequest(), operation="DeleteObject"))
    with pytest.raises(BotoCoreError):
        client.delete_object(Bucket=s3_bucket.name, Key="a")
    assert keys(s3_bucket) == ["a"]


@pytest.mark.parametrize("after_bytes", [0, 100_000, 10_000_000])
def test_a_reply_breaks_off(
    client: Any, s3_bucket: S3Bucket, s3_proxy: FaultProxy, after_bytes: int
) -> None:
    put(client, s3_bucket)
    s3_proxy.add(Rule(ResetReply(after_bytes), operation="GetObject"))
    with pytest.raises(BotoCoreError):
        content(client, s3_bucket)
    met = s3_proxy.exchanges[-1]
    assert (met.status, met.heard) == (200, None)
    assert content(client, s3_bucket) == CONTENT


def test_a_reply_without_body_breaks_off(
    client: Any, s3_bucket: S3Bucket, s3_proxy: FaultProxy
) -> None:
    s3_proxy.add(Rule(ResetReply(), operation="PutObject"))
    with pytest.raises(BotoCoreError):
        put(client, s3_bucket)
    assert keys(s3_bucket) == ["a"]


def test_a_late_reply(s3_bucket: S3Bucket, s3_proxy: FaultProxy) -> None:
    impatient = s3_bucket.server.client_through(s3_proxy.endpoint_url, read_timeout=0.2)
    answered = threading.Event()
    s3_proxy.add(Rule(DelayReply(600), operation="PutObject", path="/a", after=answered.set))
    with pytest.raises(ReadTimeoutError):
        put(impatient, s3_bucket)
    assert answered.wait(60)
    assert keys(s3_bucket) == ["a"]
    impatient.close()
    patient = s3_bucket.server.client_through(s3_proxy.endpoint_url)
    s3_proxy.add(Rule(DelayReply(0.1), operation="PutObject", path="/b"))
    put(patient, s3_bucket, "b")
    assert s3_proxy.exchanges[-1].heard == 200
    patient.close()


def test_a_server_is_killed_at_a_request(
    client: Any, s3_bucket: S3Bucket, s3_proxy: FaultProxy
) -> None:
    server = s3_bucket.server
    put(client, s3_bucket, "1")
    s3_proxy.add(Rule(operation="PutObject", path="/2", before=server.kill))
    with pytest.raises(BotoCoreError):
        put(client, s3_bucket, "2")
    server.restart()
    s3_proxy.add(Rule(operation="PutObject", path="/3", after=server.kill))
    put(client, s3_bucket, "3")
    with pytest.raises(BotoCoreError):
        put(client, s3_bucket, "4")
    server.restart()
    assert keys(s3_bucket) == ["1", "3"]


def test_rules_choose_their_requests(
    client: Any, s3_bucket: S3Bucket, s3_proxy: FaultProxy
) -> None:
    listing = Rule(AnswerInstead(), query={"list-type": "2", "prefix": "x/"})
    every_second = Rule(AnswerInstead(code="Second"), where=lambda asked: asked.key == "b", nth=2)
    never = Rule(AnswerInstead(), path="/nowhere")
    for rule in (listing, every_second, never):
        s3_proxy.add(rule)
    client.list_objects_v2(Bucket=s3_bucket.name, Prefix="y/")
    with pytest.raises(ClientError, match="SlowDown"):
        client.list_objects_v2(Bucket=s3_bucket.name, Prefix="x/")
    put(client, s3_bucket, "b")
    with pytest.raises(ClientError, match="Second"):
        put(client, s3_bucket, "b")
    put(client, s3_bucket, "b")
    assert (listing.met, every_second.met, never.met) == (True, True, False)
    s3_proxy.clear()
    assert s3_proxy.exchanges == ()
    client.list_objects_v2(Bucket=s3_bucket.name, Prefix="x/")


class Conversation:
    """Raw bytes, where an SDK would not send them."""

    def __init__(self, proxy: FaultProxy) -> None:
        host, _, port = proxy.endpoint_url.removeprefix("http://").partition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=30)
        self.lines = self.socket.makefile("rb")

    def head(self) -> tuple[int, dict[str, str]]:
        status = int(self.lines.readline().split()[1])
        headers = {}
        while (line := self.lines.readline().decode().strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return status, headers

    def close(self) -> None:
        self.lines.close()
        self.socket.close()


@pytest.fixture
def raw(s3_server: Server, s3_proxy: FaultProxy) -> Iterator[Conversation]:
    conversation = Conversation(s3_proxy)
    yield conversation
    conversation.close()


def presigned(client: Any, bucket: S3Bucket, key: str) -> bytes:
    """The path of a request that needs no signed header but Host."""
    url: str = client.generate_presigned_url("put_object", {"Bucket": bucket.name, "Key": key})
    return b"/" + url.split("/", 3)[3].encode()


def test_a_client_that_waits_to_be_told(
    client: Any, s3_bucket: S3Bucket, s3_proxy: FaultProxy, raw: Conversation
) -> None:
    host = s3_proxy.endpoint_url.removeprefix("http://").encode()
    for key in ("a", "b"):
        raw.socket.sendall(
            b"PUT %b HTTP/1.1\r\nHost: %b\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
            % (presigned(client, s3_bucket, key), host)
        )
        assert raw.head()[0] == 100
        raw.socket.sendall(b"whole")
        assert raw.head()[0] == 200
    assert content(s3_bucket.server.client, s3_bucket, "b") == b"whole"
    s3_proxy.add(Rule(AnswerInstead()))
    raw.socket.sendall(
        b"PUT %b HTTP/1.1\r\nHost: %b\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
        % (presigned(client, s3_bucket, "c"), host)
    )
    status, headers = raw.head()
    assert (status, headers["connection"]) == (503, "close")
    assert keys(s3_bucket) == ["a", "b"]


def test_a_client_that_goes_half_way(
    client: Any, s3_bucket: S3Bucket, s3_proxy: FaultProxy, raw: Conversation
) -> None:
    host = s3_proxy.endpoint_url.removeprefix("http://").encode()
    raw.socket.sendall(
        b"PUT %b HTTP/1.1\r\nHost: %b\r\nContent-Length: 5\r\n\r\nhal"
        % (presigned(client, s3_bucket, "a"), host)
    )
    raw.close()
    put(client, s3_bucket, "b")
    assert keys(s3_bucket) == ["b"]
