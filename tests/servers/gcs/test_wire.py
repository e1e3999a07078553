"""What the strict server answers and refuses, beyond what clients show."""

from __future__ import annotations

import base64
import hashlib
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.servers.faults import ResetRequest, Rule
from tests.servers.gcs.kinds_of_buckets import VERSIONED
from tests.servers.gcs.raw import Raw

if TYPE_CHECKING:
    from tests.servers.gcs.server import GcsServer
    from tests.servers.proxy import FaultProxy

pytestmark = pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)


def test_a_misspelt_precondition_is_refused(raw: Raw) -> None:
    answer = raw.insert("a", ifGenerationsMatch="0")
    assert (answer.status, answer.reason) == (400, "invalidParameter")
    assert raw.names() == []


def test_a_precondition_that_is_no_number_is_refused(raw: Raw) -> None:
    assert raw.insert("a", ifGenerationMatch="none").status == 400
    assert raw.names() == []


def test_a_failed_precondition_is_said_as_the_provider_says_it(raw: Raw) -> None:
    raw.insert("a")
    answer = raw.insert("a", ifGenerationMatch=0)
    assert (answer.status, answer.reason) == (412, "conditionNotMet")
    assert answer.document["error"]["message"] == (
        "At least one of the pre-conditions you specified did not hold."
    )


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_what_is_not_there_is_not_found(raw: Raw, method: str) -> None:
    answer = raw.object(method, "none", ifGenerationMatch=1)
    assert (answer.status, answer.reason) == (404, "notFound")
    assert "No such object" in answer.document["error"]["message"]


def test_a_bucket_that_is_not_there_is_not_found(raw: Raw) -> None:
    other = Raw(raw.endpoint_url, "no-such-bucket")
    assert other.insert("a").reason == "notFound"
    assert other.call("GET", "/storage/v1/b/no-such-bucket/o").reason == "notFound"


def test_a_slash_in_a_name_must_be_encoded(raw: Raw) -> None:
    raw.insert("a/b")
    assert raw.call("GET", f"/storage/v1/b/{raw.bucket}/o/a/b").status == 404
    assert raw.object("GET", "a/b").status == 200


def test_an_unwanted_generation_is_304_to_read_and_412_to_write(raw: Raw) -> None:
    generation = int(raw.insert("a").document["generation"])
    answer = raw.object("GET", "a", ifGenerationNotMatch=generation)
    assert (answer.status, answer.content) == (304, b"")
    assert raw.object("GET", "a", alt="media", ifGenerationNotMatch=generation).status == 304
    assert raw.object("DELETE", "a", ifGenerationNotMatch=generation).status == 412
    assert raw.insert("a", ifGenerationNotMatch=generation).status == 412
    assert raw.insert("a", ifGenerationNotMatch=generation + 1).status == 200


def test_not_0_wants_an_object(raw: Raw) -> None:
    assert raw.insert("a", ifGenerationNotMatch=0).status == 412
    raw.insert("a")
    assert raw.insert("a", ifGenerationNotMatch=0).status == 200


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a\nb", "a\rb", "x" * 1025, ".well-known/acme-challenge/x"]
)
def test_no_object_is_called_so(raw: Raw, name: str) -> None:
    assert raw.insert(name).status == 400
    raw.insert("source")
    if name:
        assert raw.move("source", name).status == 400
    assert raw.names() == ["source"]


@pytest.mark.parametrize(
    "name", ["é" * 512, "a\tb", "a//b/", "/", " ", "a\\b", "%2F", "\U0001f600"]
)
def test_an_object_may_be_called_so(raw: Raw, name: str) -> None:
    assert raw.insert(name, b"one").status == 200
    assert raw.object("GET", name, alt="media").content == b"one"
    assert raw.names() == [name]


@pytest.mark.parametrize("header", ["x-goog-hash", "content-md5"])
def test_other_data_than_was_sent_is_not_stored(raw: Raw, header: str) -> None:
    wrong = base64.b64encode(hashlib.md5(b"other").digest()).decode()
    said = f"md5={wrong}" if header == "x-goog-hash" else wrong
    assert raw.insert("a", b"one", headers={header: said}).status == 400
    assert raw.names() == []


def test_a_client_is_told_to_go_on(raw: Raw) -> None:
    address = urlsplit(raw.endpoint_url)
    asked = f"POST /upload/storage/v1/b/{raw.bucket}/o?uploadType=media&name=a HTTP/1.1"
    head = [asked, "Host: host", "Content-Length: 3", "Expect: 100-continue", "", ""]
    with socket.create_connection((address.hostname, address.port), timeout=60) as client:
        client.sendall("\r\n".join(head).encode())
        assert client.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"one")
        assert client.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")
    assert raw.object("GET", "a", alt="media").content == b"one"


def test_half_a_request_changes_nothing(gcs_proxy: FaultProxy, raw: Raw) -> None:
    behind = Raw(gcs_proxy.endpoint_url, raw.bucket)
    for after_bytes in (0, 10, 1 << 20):
        gcs_proxy.add(Rule(ResetRequest(after_bytes), operation="objects.insert"))
        with pytest.raises(ConnectionError):
            behind.insert("a", b"x" * 1000)
        gcs_proxy.clear()
    assert raw.names() == []
    assert behind.insert("a", b"one").status == 200


def test_a_download_says_what_it_is(raw: Raw) -> None:
    written = raw.insert("a", b"0123456789", headers={"Content-Type": "text/plain"}).document
    answer = raw.object("GET", "a", alt="media")
    assert answer.headers["X-Goog-Generation"] == written["generation"]
    assert answer.headers["Content-Type"] == "text/plain"
    assert f"crc32c={written['crc32c']}" in answer.headers["X-Goog-Hash"]


@pytest.mark.parametrize(
    ("wanted", "got"), [("2-4", b"234"), ("8-", b"89"), ("-3", b"789"), ("5-99", b"56789")]
)
def test_a_range_is_read(raw: Raw, wanted: str, got: bytes) -> None:
    raw.insert("a", b"0123456789")
    answer = raw.object("GET", "a", alt="media", headers={"Range": f"bytes={wanted}"})
    assert (answer.status, answer.content) == (206, got)
    assert answer.headers["Content-Range"].endswith("/10")


def test_a_range_behind_the_end_is_refused(raw: Raw) -> None:
    raw.insert("a", b"0123456789")
    answer = raw.object("GET", "a", alt="media", headers={"Range": "bytes=10-"})
    assert (answer.status, answer.reason) == (416, "requestedRangeNotSatisfiable")


def test_a_move_makes_a_new_generation(raw: Raw) -> None:
    source = raw.insert("a", b"one", headers={"Content-Type": "text/plain"}).document
    moved = raw.move("a", "b").document
    assert int(moved["generation"]) > int(source["generation"])
    assert moved["metageneration"] == "1"
    kept = ("contentType", "crc32c", "md5Hash", "size", "storageClass")
    assert {key: moved[key] for key in kept} == {key: source[key] for key in kept}


def test_a_move_wants_two_names(raw: Raw) -> None:
    raw.insert("a")
    assert raw.move("a", "a").status == 400
    assert raw.move("none", "b").reason == "notFound"
    assert raw.names() == ["a"]


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ("items(name,size),nextPageToken", {"items": ["name", "size"]}),
        ("items/name", {"items": ["name"]}),
        ("kind", {"kind": None}),
        ("items/metadata/*", {"items": []}),
        ("*", {"items": None, "kind": None}),
    ],
)
def test_fields_are_selected(raw: Raw, fields: str, keys: dict[str, list[str] | None]) -> None:
    raw.insert("a")
    found = raw.listing(fields=fields)
    assert found.keys() == keys.keys()
    for key, inner in keys.items():
        if inner is not None:
            assert sorted(found[key][0]) == inner


@pytest.mark.parametrize("fields", ["items(name", "items(", "a,,b", "a)"])
def test_a_selection_must_be_one(raw: Raw, fields: str) -> None:
    assert raw.call("GET", f"/storage/v1/b/{raw.bucket}/o", fields=fields).status == 400


def test_a_versioned_bucket_keeps_what_is_replaced(gcs_server: GcsServer) -> None:
    raw = Raw(gcs_server.endpoint_url, gcs_server.new_bucket(**VERSIONED))
    first = raw.insert("a", b"one").document["generation"]
    raw.insert("a", b"two")
    assert raw.object("GET", "a", alt="media", generation=first).content == b"one"
    assert raw.object("DELETE", "a").status == 204
    assert raw.names() == []
    assert raw.names(versions="true") == ["a", "a"]
    assert raw.object("DELETE", "a", generation=first).status == 204
    assert raw.names(versions="true") == ["a"]
