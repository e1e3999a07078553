"""Somebody answers in Azure's place: nothing follows from it, whatever it looks like.

A proxy, an ingress with no server behind it, a login page, a server that restarts.
"""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply
from tests.unit.stores.azure.answers import said, told
from tests.unit.stores.azure.verbs import FLAT, GEN2
from tests.unit.stores.clouds import every_verb_of_azure
from tests.unit.stores.responder import Answer
from tests.unit.stores.verbs import PATH, Verb, stat

if TYPE_CHECKING:
    from tests.unit.stores.azure.scripted import ScriptedAzure

ETAG = {"ETag": '"0x1"'}


@every_verb_of_azure
def test_an_answer_of_azure_that_does_not_say_so_is_no_success(
    azure: ScriptedAzure, verb: Verb
) -> None:
    """Only the status that the operation's page documents says that it was done."""
    for status in (203, 204, 304):
        azure.script(told(status, b"1", ETAG) if status == 203 else told(status))
        caught = azure.failure_of(verb.call(azure.store))
        assert caught.reply is Reply.UNKNOWN, status
        assert f"HTTP {status}" in str(caught)


@every_verb_of_azure
def test_an_error_without_a_code_says_nothing(azure: ScriptedAzure, verb: Verb) -> None:
    """Other services of Microsoft's give request ids, too; this one gives each error a code."""
    for status in (400, 401, 403, 405, 409, 412):
        azure.script(told(status, b"<html>Sign in</html>"))
        assert azure.failure_of(verb.call(azure.store)).reply is Reply.UNKNOWN, status


@pytest.mark.parametrize("name", ["put", "complete", "stat", "read", "range"])
@pytest.mark.parametrize("etag", [None, "", 'W/"0x8DC"'])
def test_a_content_without_an_etag_is_none(
    flat: ScriptedAzure, name: str, etag: str | None
) -> None:
    """A weak one is that of a proxy, for what it has made of the content."""
    headers = {} if etag is None else {"ETag": etag}
    flat.script(told(201 if name in {"put", "complete"} else 200, b"1", headers))
    caught = flat.failure_of(FLAT[name].call(flat.store))
    assert caught.reply is Reply.UNKNOWN
    assert "not that it was done" in str(caught)


@pytest.mark.parametrize("name", ["tree", "children"])
def test_a_page_of_well_formed_xml_is_no_empty_listing(flat: ScriptedAzure, name: str) -> None:
    flat.script(told(200, b"<html><body/></html>"))
    caught = flat.failure_of(FLAT[name].call(flat.store))
    assert caught.reply is Reply.UNKNOWN
    assert "no listing" in str(caught)


@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize("name", ["tree", "children"])
def test_a_page_with_a_document_type_is_no_listing(
    flat: ScriptedAzure, name: str, codec: str
) -> None:
    """Its entities were expanded: twelve kilobytes took five megabytes."""
    entity = f'<!DOCTYPE x [<!ENTITY a "{"x" * 10_000}">]>'
    page = f"{entity}<EnumerationResults><Blobs>{'&a;' * 500}</Blobs></EnumerationResults>"
    flat.script(told(200, page.encode(codec)))
    tracemalloc.start()
    try:
        caught = flat.failure_of(FLAT[name].call(flat.store))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.reply is Reply.UNKNOWN
    assert "no listing" in str(caught)
    assert peak < 1_000_000


@pytest.mark.parametrize("page", [b'<?xml version="1.0" encoding="x-none"?><a/>', b"\xff", b""])
def test_a_page_that_cannot_be_decoded_is_no_listing(flat: ScriptedAzure, page: bytes) -> None:
    flat.script(told(200, page))
    assert "no listing" in str(flat.failure_of(FLAT["tree"].call(flat.store)))


@pytest.mark.parametrize("name", ["tree", "children"])
def test_an_entry_without_an_etag_or_a_size_is_none(
    gen2: ScriptedAzure, flat: ScriptedAzure, name: str
) -> None:
    """No condition could name it."""
    properties = "<Content-Length>many</Content-Length><Etag>e</Etag>"
    blob = f"<Blob><Name>out/a b/c</Name><Properties>{properties}</Properties></Blob>"
    pages = [
        (gen2, json.dumps({"paths": [{"name": "out/a b/c", "contentLength": "1"}]})),
        (gen2, json.dumps({"paths": [{"name": "out/a b/c", "etag": "e"}]})),
        (flat, f"<EnumerationResults><Blobs>{blob}</Blobs></EnumerationResults>"),
    ]
    for azure, page in pages:
        azure.script(told(200, page.encode()))
        caught = azure.failure_of(GEN2[name].call(azure.store))
        assert caught.reply is Reply.UNKNOWN
        assert "no listing" in str(caught)


def test_one_of_azure_says_that_it_is_missing(gen2: ScriptedAzure) -> None:
    """To a HEAD as well, by a header."""
    gen2.script(said(404, "BlobNotFound"))
    assert gen2.run(gen2.store.stat(PATH)) is None
    assert gen2.run(gen2.store.read(PATH, limit_bytes=9)) is None
    assert [one.method for one in gen2.received] == ["HEAD", "GET"]


class TestHeadWithoutACode:
    """A server other than Azure may say what is missing in its error documents only."""

    @pytest.mark.parametrize(
        "document",
        [
            b"<Error><Code>BlobNotFound</Code></Error>",
            json.dumps({"error": {"code": "PathNotFound"}}).encode(),
        ],
    )
    def test_it_is_asked_once_more(self, gen2: ScriptedAzure, document: bytes) -> None:
        gen2.answering = lambda _: told(404, document)
        assert gen2.run(gen2.store.stat(PATH)) is None
        assert [one.method for one in gen2.received] == ["HEAD", "GET"]
        assert gen2.received[1].headers["x-ms-range"] == "bytes=0-0"

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
        self, gen2: ScriptedAzure, second: Answer
    ) -> None:
        gen2.script(told(404), second)
        caught = gen2.failure_of(stat(gen2.store))
        assert caught.reply is Reply.UNKNOWN
        assert "does not say what is missing" in str(caught)
        assert len(gen2.received) == 2
