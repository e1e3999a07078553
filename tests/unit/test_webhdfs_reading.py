"""What is read through fsspec's client of WebHDFS, when a DataNode answers no data."""

from __future__ import annotations

import asyncio
import json

import pytest

from fsspec_commit.filesystems import filesystem_of
from tests.unit.stores.responder import Answer, Responder

OCTETS = {"Content-Type": "application/octet-stream"}
HTML = {"Content-Type": "text/html"}


def failure(exception: str) -> bytes:
    return json.dumps({"RemoteException": {"exception": exception, "message": "m"}}).encode()


def read(answer: Answer) -> bytes:
    """A file of seven bytes, of which a DataNode, or who is in its place, answers so."""

    async def reading() -> bytes:
        async with Responder() as server:
            found = {"FileStatus": {"type": "FILE", "length": 7, "pathSuffix": ""}}
            sent_on = Answer(307, headers={"Location": f"{server.url}/webhdfs/v1/out/a?op=OPEN"})
            server.script(Answer(200, json.dumps(found).encode()), sent_on, answer)
            url = f"{server.url.replace('http:', 'webhdfs:')}/out/a"
            filesystem, path = filesystem_of(url, user="me")
            data: bytes = await asyncio.to_thread(filesystem.cat_file, path)
            assert len(server.received) == 3
            return data

    return asyncio.run(reading())


def test_data_are_given_as_they_are() -> None:
    assert read(Answer(200, b"content", OCTETS)) == b"content"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(200, b"content", HTML), r"HTTP 200 was answered \(text/html\)"),
        (Answer(200, b"short", OCTETS), "5 bytes were answered, and 7 were asked for"),
        (Answer(200, b"contents", OCTETS), "8 bytes were answered, and 7 were asked for"),
        (Answer(403, b"content", OCTETS), "HTTP 403 was answered"),
        (Answer(403, failure("IOException")), r"HTTP 403 was answered \(IOException\)"),
        (Answer(500, b"[]"), r"HTTP 500 was answered \(nothing that is known\)"),
    ],
)
def test_what_is_no_data_is_an_error(answer: Answer, why: str) -> None:
    with pytest.raises(OSError, match=f"{why}.*read it") as caught:
        read(answer)
    assert type(caught.value) is OSError


def test_a_file_that_has_gone_is_missing() -> None:
    with pytest.raises(FileNotFoundError, match="/out/a"):
        read(Answer(404, failure("FileNotFoundException")))
