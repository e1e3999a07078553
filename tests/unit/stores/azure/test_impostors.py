"""Somebody answers in Azure's place: nothing follows from it, whatever it looks like.

A proxy, an ingress with no server behind it, a login page, a server that restarts.
"""

from __future__ import annotations

import errno
import json
from functools import partial
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply
from fsspec_commit_stores.azure import namespaces
from tests.unit.stores.azure.verbs import (
    FLAT,
    GEN2,
    PATH,
    Verb,
    every_verb,
    failure_of,
    said,
    told,
)
from tests.unit.stores.s3.responder import Answer, Received, Responder

if TYPE_CHECKING:
    import asyncio

    from fsspec_commit_stores.azure import AzureStore
    from tests.unit.stores.azure.conftest import Opening

ETAG = {"ETag": '"0x1"'}
PAGES = (
    b"",
    b"{}",
    b"404 page not found\n",
    b"<html><body>Please accept the terms of use</body></html>",
    # Of the form of Azure's own errors, and of those of other services behind the same gateway.
    b'<?xml version="1.0"?><Error><Code>BlobNotFound</Code></Error>',
    b'{"error": {"code": "ResourceNotFound", "message": "The resource was not found."}}',
    b'{"paths": []}',
    b"<EnumerationResults><Blobs/><NextMarker/></EnumerationResults>",
)
STATUSES = (201, 202, 206, 302, 400, 401, 403, 408, 409, 412, 416, 429, 500, 501, 502, 503)
SAID = [
    *((status, page) for status in (200, 404) for page in PAGES),
    *((status, PAGES[3]) for status in STATUSES),
    (204, b""),
    (304, b""),
]


def _always(answer: Answer, _: Received) -> Answer:
    return answer


@every_verb
def test_nothing_follows_from_their_answers(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    is_hierarchical: bool,
    verb: tuple[Verb, str, str],
) -> None:
    """A job whose record was "not found" would be over, and its area void."""
    store = opening(is_hierarchical=is_hierarchical)
    for status, page in SAID:
        # Even with an etag, and a code that anybody can write.
        headers = {"ETag": '"e1"', "x-ms-error-code": "BlobNotFound", "Retry-After": "86400"}
        responder.answering = partial(_always, Answer(status, page, headers))
        caught = runner.run(failure_of(verb[0](store)))
        assert caught.reply is Reply.UNKNOWN, (status, page)
        assert f"HTTP {status}" in str(caught)
        assert status in {302, 304} or "somebody else than Azure has answered" in str(caught)
        assert caught.errno == errno.EIO
        assert caught.retry_after_s is None
    assert len(responder.received) == len(SAID), "nothing is sent again"


@every_verb
def test_an_answer_of_azure_that_does_not_say_so_is_no_success(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    is_hierarchical: bool,
    verb: tuple[Verb, str, str],
) -> None:
    """Only the status that the operation's page documents says that it was done."""
    store = opening(is_hierarchical=is_hierarchical)
    for status in (203, 204, 304):
        responder.script(told(status, b"1", ETAG) if status == 203 else told(status))
        caught = runner.run(failure_of(verb[0](store)))
        assert caught.reply is Reply.UNKNOWN, status
        assert f"HTTP {status}" in str(caught)


@pytest.mark.parametrize("name", ["put", "complete", "stat", "read", "range"])
@pytest.mark.parametrize("etag", [None, "", 'W/"0x8DC"'])
def test_a_content_without_an_etag_is_none(
    runner: asyncio.Runner, responder: Responder, flat: AzureStore, name: str, etag: str | None
) -> None:
    """A weak one is that of a proxy, for what it has made of the content."""
    headers = {} if etag is None else {"ETag": etag}
    responder.script(told(201 if name in {"put", "complete"} else 200, b"1", headers))
    caught = runner.run(failure_of(FLAT[name][0](flat)))
    assert caught.reply is Reply.UNKNOWN
    assert "not that it was done" in str(caught)


@pytest.mark.parametrize("name", ["tree", "children"])
def test_a_page_of_well_formed_xml_is_no_empty_listing(
    runner: asyncio.Runner, responder: Responder, flat: AzureStore, name: str
) -> None:
    responder.script(told(200, b"<html><body/></html>"))
    caught = runner.run(failure_of(FLAT[name][0](flat)))
    assert caught.reply is Reply.UNKNOWN
    assert "no listing" in str(caught)


@pytest.mark.parametrize("name", ["tree", "children"])
def test_an_entry_without_an_etag_or_a_size_is_none(
    runner: asyncio.Runner, responder: Responder, opening: Opening, name: str
) -> None:
    """No condition could name it."""
    properties = "<Content-Length>many</Content-Length><Etag>e</Etag>"
    blob = f"<Blob><Name>out/a b/c</Name><Properties>{properties}</Properties></Blob>"
    pages = [
        (True, json.dumps({"paths": [{"name": "out/a b/c", "contentLength": "1"}]})),
        (True, json.dumps({"paths": [{"name": "out/a b/c", "etag": "e"}]})),
        (False, f"<EnumerationResults><Blobs>{blob}</Blobs></EnumerationResults>"),
    ]
    for is_hierarchical, page in pages:
        store = opening(is_hierarchical=is_hierarchical)
        namespaces._known.clear()
        responder.script(told(200, page.encode()))
        caught = runner.run(failure_of((GEN2 if is_hierarchical else FLAT)[name][0](store)))
        assert caught.reply is Reply.UNKNOWN
        assert "no listing" in str(caught)


def test_one_of_azure_says_that_it_is_missing(
    runner: asyncio.Runner, responder: Responder, gen2: AzureStore
) -> None:
    """To a HEAD as well, by a header."""
    responder.script(said(404, "BlobNotFound"))
    assert runner.run(gen2.stat(PATH)) is None
    assert runner.run(gen2.read(PATH, limit_bytes=9)) is None
    assert [one.method for one in responder.received] == ["HEAD", "GET"]


class TestHeadWithoutACode:
    """A server other than Azure may say what is missing in its error documents only."""

    @pytest.mark.parametrize(
        "document",
        [
            b"<Error><Code>BlobNotFound</Code></Error>",
            json.dumps({"error": {"code": "PathNotFound"}}).encode(),
        ],
    )
    def test_it_is_asked_once_more(
        self, runner: asyncio.Runner, responder: Responder, gen2: AzureStore, document: bytes
    ) -> None:
        responder.answering = lambda _: told(404, document)
        assert runner.run(gen2.stat(PATH)) is None
        assert [one.method for one in responder.received] == ["HEAD", "GET"]
        assert responder.received[1].headers["x-ms-range"] == "bytes=0-0"

    @pytest.mark.parametrize(
        "second",
        [
            told(404),
            said(404, "ContainerNotFound"),
            told(206, b"1", ETAG),
            Answer(404, b"<Error><Code>BlobNotFound</Code></Error>"),
        ],
        ids=["nothing more", "of its container", "it is there", "of somebody else"],
    )
    def test_what_does_not_say_so_leaves_it_unknown(
        self, runner: asyncio.Runner, responder: Responder, gen2: AzureStore, second: Answer
    ) -> None:
        responder.script(told(404), second)
        caught = runner.run(failure_of(GEN2["stat"][0](gen2)))
        assert caught.reply is Reply.UNKNOWN
        assert "does not say what is missing" in str(caught)
        assert len(responder.received) == 2


@pytest.mark.parametrize("span", ["bytes 0-2/9", "bytes 2-3/9", "bytes 2-9/9", "nonsense", ""])
def test_a_part_is_the_one_that_was_asked_for(
    runner: asyncio.Runner, responder: Responder, opening: Opening, span: str
) -> None:
    store = opening(is_hierarchical=False)
    responder.script(told(206, b"234", {**ETAG, "Content-Range": span}))
    caught = runner.run(failure_of(store.read_range(PATH, start=2, length=3)))
    assert caught.reply is Reply.UNKNOWN
    assert "another part" in str(caught)
