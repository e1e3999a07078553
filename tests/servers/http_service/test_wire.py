"""What comes over the connection, however it is cut and framed, and how the process ends."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from tests.servers.http_service.bodies import Body, UnreadableError
from tests.servers.slow_s3.server import SlowS3

if TYPE_CHECKING:
    from collections.abc import Iterator

SIGNED = (
    b"5;chunk-signature=00\r\nhello\r\n6;chunk-signature=00\r\n world\r\n0;chunk-signature=00\r\n"
)
TRAILER = b"x-amz-checksum-crc32:DUoRhQ==\r\n"
CODED = {"content-encoding": "aws-chunked"}
BODIES = {
    "by its length": ({"content-length": "11"}, b"hello world"),
    "chunked": ({"transfer-encoding": "chunked"}, b"b\r\nhello world\r\n0\r\n\r\n"),
    "signed by AWS": (
        {"content-length": str(len(SIGNED) + 2), **CODED},
        SIGNED + b"\r\n",
    ),
    "signed by AWS, said by its hash": (
        {
            "content-length": str(len(SIGNED) + 2),
            "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        },
        SIGNED + b"\r\n",
    ),
    "with a trailer, chunked": (
        {"transfer-encoding": "chunked", **CODED},
        b"%x\r\n%s\r\n0\r\n\r\n" % (len(SIGNED + TRAILER) + 2, SIGNED + TRAILER + b"\r\n"),
    ),
}
PUT = b"PUT /%s/%s HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n%s\r\n"


@pytest.fixture(scope="module")
def slow() -> Iterator[SlowS3]:
    with SlowS3() as server:
        yield server


@pytest.fixture
def connection(slow: SlowS3) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", slow.port), timeout=30) as connection:
        yield connection


def received(connection: socket.socket, *, ends: bytes) -> bytes:
    found = b""
    while not found.endswith(ends):
        data = connection.recv(4096)
        assert data, found
        found += data
    return found


@pytest.mark.parametrize("size_bytes", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("kind", BODIES)
def test_a_body_is_read_however_it_is_cut(kind: str, size_bytes: int) -> None:
    headers, sent = BODIES[kind]
    sent += b"GET next"
    body, rest = Body(headers), b""
    for place in range(0, len(sent), size_bytes):
        data = sent[place : place + size_bytes]
        rest += data if body.is_whole else body.take(data)
    assert b"".join(body.pieces) == b"hello world"
    assert body.size_bytes == 11
    assert body.md5 == "5eb63bbbe01eeed093cb22bb8f5acdc3"
    assert rest == b"GET next"


@pytest.mark.parametrize(
    ("headers", "sent"),
    [
        ({"content-length": "many"}, b""),
        ({"transfer-encoding": "chunked"}, b"no length\r\n"),
        ({"transfer-encoding": "chunked"}, b"0" * 20_000),
    ],
)
def test_a_body_that_is_none_is_refused(headers: dict[str, str], sent: bytes) -> None:
    with pytest.raises(UnreadableError):
        Body(headers).take(sent)


def test_calls_may_come_before_the_reply(slow: SlowS3, connection: socket.socket) -> None:
    bucket = slow.new_bucket().encode()
    slow.set_load(latency_s=0.02)
    puts = b"".join(PUT % (bucket, b"%d" % i, 3, b"") + b"%03d" % i for i in range(4))
    connection.sendall(puts + b"GET /%s/2 HTTP/1.1\r\nHost: here\r\n\r\n" % bucket)
    answered = received(connection, ends=b"002")
    assert answered.count(b"HTTP/1.1 200 OK") == 5
    slow.set_load()


def test_leave_is_given_to_send_a_body(slow: SlowS3, connection: socket.socket) -> None:
    head = PUT % (slow.new_bucket().encode(), b"a", 3, b"Expect: 100-continue\r\n")
    connection.sendall(head)
    assert received(connection, ends=b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.sendall(b"one")
    assert received(connection, ends=b"\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n")


def test_the_connection_is_closed_when_asked(slow: SlowS3, connection: socket.socket) -> None:
    bucket = slow.new_bucket().encode()
    connection.sendall(PUT % (bucket, b"a", 0, b"Connection: close\r\n"))
    assert b"\r\nConnection: close\r\n" in received(connection, ends=b"\r\n\r\n")
    assert connection.recv(1) == b""


def test_what_is_no_request_ends_the_connection(connection: socket.socket) -> None:
    connection.sendall(b"this is no HTTP\r\n\r\n")
    assert b"HTTP/1.1 400 Bad Request" in received(connection, ends=b"</Error>")
    assert connection.recv(1) == b""
