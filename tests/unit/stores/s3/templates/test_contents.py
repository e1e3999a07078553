"""Contents are read and compared as by botocore, and not read where nobody wants them."""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit_stores.s3.templates import contents
from tests.unit.stores.responder import Answer
from tests.unit.stores.s3.templates.outcomes import STANDING, outcome_of
from tests.unit.stores.s3.templates.sent import SentByTemplate
from tests.unit.stores.verbs import PATH

if TYPE_CHECKING:
    from tests.unit.stores.s3.scripted import ScriptedS3

DATA = bytes(range(256)) * 1000
CRC32 = b64encode(zlib.crc32(DATA).to_bytes(4, "big")).decode()
SHA256 = b64encode(hashlib.sha256(DATA).digest()).decode()
PLAIN = {name: value for name, value in STANDING.items() if "checksum" not in name}
LIMIT = len(DATA)


def checksum(name: str, value: str) -> dict[str, str]:
    return {**PLAIN, f"x-amz-checksum-{name}": value}


ANSWERS = {
    "the right one": checksum("crc32", CRC32),
    "a wrong one": checksum("crc32", "AAAAAA=="),
    "none": PLAIN,
    "that of parts": checksum("crc32", "AAAAAA==-2"),
    "another": checksum("sha256", SHA256),
    "another, which is wrong": checksum("sha256", CRC32),
    "one that nobody knows": checksum("crc64nvme", "AAAAAAAAAAA="),
    "two": {**checksum("sha1", "AAAA"), **checksum("crc32", CRC32)},
    "its type alone": checksum("type", "FULL_OBJECT"),
}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> SentByTemplate:
    return SentByTemplate(monkeypatch)


def both(s3: ScriptedS3, sent: SentByTemplate, *, limit: int = LIMIT, **options: Any) -> list[str]:
    """What a reader is told in both ways, by two requests on as few connections."""
    told = []
    for by_template in (True, False):
        store, before = s3.open(request_templates=by_template, **options), sent.count
        read = [s3.run(outcome_of(store.read(PATH, limit_bytes=limit))) for _ in range(2)]
        assert sent.count - before == 2 * by_template
        told.append("; ".join(read))
    return told


@pytest.mark.parametrize("validation", ["when_supported", "when_required"])
@pytest.mark.parametrize("headers", ANSWERS.values(), ids=ANSWERS)
def test_a_checksum_is_compared_where_botocore_compares_it(
    s3: ScriptedS3, sent: SentByTemplate, headers: dict[str, str], validation: str
) -> None:
    s3.answering = lambda _: Answer(200, DATA, headers)
    config: dict[str, Any] = {"config_kwargs": {"response_checksum_validation": validation}}
    ours, theirs = both(s3, sent, **config)
    assert ours == theirs
    is_wrong = "x-amz-checksum-crc32" in headers and headers["x-amz-checksum-crc32"] == "AAAAAA=="
    if validation == "when_supported" and is_wrong:
        assert "FlexibleChecksumError" in ours


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, DATA, PLAIN, announced=LIMIT + 1),
        Answer(200, b"", PLAIN),
        Answer(200, DATA, {**PLAIN, "Content-Encoding": "gzip"}),
        Answer(200, DATA, {**PLAIN, "Last-Modified": "yesterday"}),
        Answer(200, DATA, {**PLAIN, "x-amz-tagging-count": "many"}),
        Answer(200, DATA, {"ETag": '"e"'}),
    ],
    ids=["cut short", "empty", "compressed", "odd time", "odd number", "without a mark"],
)
def test_it_ends_alike(s3: ScriptedS3, sent: SentByTemplate, answer: Answer) -> None:
    s3.answering = lambda _: answer
    ours, theirs = both(s3, sent)
    assert ours == theirs


def test_one_that_is_too_long_is_not_read(s3: ScriptedS3, sent: SentByTemplate) -> None:
    """And keeps no connection, of the only one that there may be."""
    s3.answering = lambda _: Answer(200, DATA, PLAIN)
    ours, theirs = both(s3, sent, limit=LIMIT - 1, config_kwargs={"max_pool_connections": 1})
    assert ours == theirs
    assert f"it has {LIMIT} bytes, and at most {LIMIT - 1} are read" in ours


def test_one_that_never_comes_is_not_waited_for(s3: ScriptedS3, sent: SentByTemplate) -> None:
    s3.answering = lambda _: Answer(200, DATA, PLAIN, announced=LIMIT + 1)
    pause = asyncio.Event()

    async def held(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = "".join(f"{name}: {value}\r\n" for name, value in PLAIN.items())
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n{head}\r\nhalf".encode())
        await pause.wait()
        writer.close()

    server = s3.run(asyncio.start_server(held, "127.0.0.1", 0))
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    ours, theirs = both(s3, sent, endpoint_url=url, config_kwargs={"read_timeout": 0.1})
    assert ours == theirs
    assert ours.count("did not answer in time") == 2
    pause.set()
    server.close()


def test_where_aiobotocore_has_no_such_stream_it_reads_itself(
    s3: ScriptedS3, sent: SentByTemplate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "_STREAM", None)
    s3.answering = lambda _: Answer(200, DATA, ANSWERS["the right one"])
    ours, theirs = both(s3, sent)
    assert ours == theirs
