"""Listings page by page, of paths and of blobs."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.azure import listing, renaming
from tests.unit.stores.azure.verbs import (
    PATH,
    ROOT,
    Verb,
    all_of,
    failure_of,
    rename,
    rename_directory,
    said,
    told,
)
from tests.unit.stores.s3.responder import Answer, Received, tag, xml

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from fsspec_commit_stores.azure import AzureStore
    from tests.unit.stores.s3.responder import Responder

BUSY = said(503, "ServerBusy")
NAMES = [f"out/{number}" for number in range(7)]


def page_of(request: Received) -> Answer:
    """Two names, from the one that the request says; the same for either kind of account."""
    start = int(request.query.get("continuation") or request.query.get("marker") or 0)
    names, following = NAMES[start : start + 2], start + 2
    more = str(following) if following < len(NAMES) else ""
    if request.query.get("resource") == "filesystem":
        paths = [{"name": name, "contentLength": "1", "etag": '"e"'} for name in names]
        return told(200, json.dumps({"paths": paths}).encode(), {"x-ms-continuation": more})
    properties = f"<Properties>{tag('Content-Length', 1)}{tag('Etag', 'e')}</Properties>"
    blobs = "".join(f"<Blob>{tag('Name', name)}{properties}</Blob>" for name in names)
    page = xml("EnumerationResults", f"<Blobs>{blobs}</Blobs>", tag("NextMarker", more))
    return told(200, page.body)


def first_of(request: Received) -> str:
    return request.target.replace("continuation=", "ignored=").replace("marker=", "ignored=")


def listed(runner: asyncio.Runner, store: AzureStore) -> list[str]:
    entries = runner.run(all_of(store.list_tree(ROOT)))
    return [entry.path.removeprefix("bucket/") for entry in entries]


def test_any_page_but_the_first_may_fail(
    runner: asyncio.Runner, responder: Responder, store: AzureStore
) -> None:
    """Who lists begins again when the first one does, and could not go on at a later one."""
    failed = set[str]()

    def answering(request: Received) -> Answer:
        page = request.query.get("continuation") or request.query.get("marker") or ""
        if page in failed or not page:
            return page_of(request)
        failed.add(page)
        return BUSY

    responder.answering = answering
    assert listed(runner, store) == NAMES
    assert failed == {"2", "4", "6"}
    assert len(responder.received) == 4 + 3
    responder.received.clear()
    responder.script(BUSY)
    with pytest.raises(StoreError):
        listed(runner, store)
    assert len(responder.received) == 1


def test_the_same_page_again_is_an_error(
    runner: asyncio.Runner, responder: Responder, store: AzureStore
) -> None:
    """A listing ends, or says that it is not whole."""
    responder.answering = lambda request: page_of(replace(request, target=first_of(request)))
    with pytest.raises(StoreError, match="there is more, and not where"):
        listed(runner, store)
    assert len(responder.received) == 2


def test_pages_that_go_in_a_circle_are_an_error(
    runner: asyncio.Runner, responder: Responder, store: AzureStore
) -> None:
    """The last but one names the first page after the first; they were listed for ever."""
    responder.answering = lambda request: page_of(
        replace(request, target=request.target.replace("=4", "=0"))
    )
    with pytest.raises(StoreError, match="there is more, and not where"):
        listed(runner, store)
    assert len(responder.received) == 3


def test_the_listing_of_another_place_is_an_error(
    runner: asyncio.Runner, responder: Responder, store: AzureStore
) -> None:
    """As a cache gives it, or a proxy that takes a plus for a space; it was deleted, or hidden."""
    responder.answering = page_of
    elsewhere = StorePath("bucket/other+1")
    for call in (all_of(store.list_tree(elsewhere)), all_of(store.list_children(elsewhere))):
        caught = runner.run(failure_of(call))
        assert caught.reply is Reply.UNKNOWN
        assert "the listing of another place" in str(caught)


def test_nothing_of_another_place_is_deleted(
    runner: asyncio.Runner, responder: Responder, flat: AzureStore
) -> None:
    responder.answering = page_of
    caught = runner.run(failure_of(flat.delete_tree(StorePath("bucket/out/other+1"))))
    assert "the listing of another place" in str(caught)
    assert {request.method for request in responder.received} == {"GET"}


def test_metadata_are_no_blobs_whatever_they_are_called(
    runner: asyncio.Runner, responder: Responder, flat: AzureStore
) -> None:
    """Their names are a user's, and elements beside those of the service."""
    properties = f"<Properties>{tag('Content-Length', 1)}{tag('Etag', 'e')}</Properties>"
    metadata = "<Metadata><Blob>x</Blob><BlobPrefix>y</BlobPrefix></Metadata>"
    blob = f"<Blob>{tag('Name', 'out/a')}{properties}{metadata}</Blob>"
    page = xml("EnumerationResults", f"<Blobs>{blob}</Blobs>", "<NextMarker />")
    responder.answering = lambda _: told(200, page.body)
    assert listed(runner, flat) == ["out/a"]
    assert len(runner.run(all_of(flat.list_children(ROOT)))) == 1


TURNS = 20
"""As many as a test waits for."""


@pytest.fixture
def few_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (listing, renaming):
        monkeypatch.setattr(module, "TURNS_MAX", TURNS)


@pytest.mark.usefixtures("few_turns")
@pytest.mark.parametrize(
    ("verb", "sent"),
    [(rename, "PUT"), (rename_directory, "PUT"), (lambda s: s.delete_tree(PATH), "DELETE")],
    ids=["rename", "rename directory", "delete tree"],
)
def test_what_goes_on_where_it_was_is_in_doubt(
    runner: asyncio.Runner, responder: Responder, gen2: AzureStore, verb: Verb, sent: str
) -> None:
    """It went on for ever; it goes on for a while, as long as the service may mean it."""
    directory = {"ETag": '"e1"', "x-ms-resource-type": "directory"}
    for places in ("m", "mn"):
        following = itertools.cycle(places)

        def answering(request: Received, following: Iterator[str] = following) -> Answer:
            if request.method == "HEAD":
                return told(200, b"", directory)
            status = {"PUT": 201, "DELETE": 200}[request.method]
            return told(status, headers={"x-ms-continuation": next(following)})

        responder.received.clear()
        responder.answering = answering
        caught = runner.run(failure_of(verb(gen2)))
        assert caught.reply is Reply.UNKNOWN
        assert "there is more, and not where" in str(caught)
        changes = [one.method for one in responder.received if one.method != "HEAD"]
        assert changes == [sent] * (TURNS * len(places) + 1)


@pytest.mark.parametrize(
    "answer", [BUSY, said(409, "PathAlreadyExists"), said(404, "PathNotFound")]
)
def test_a_rename_that_is_done_in_part_is_in_doubt(
    runner: asyncio.Runner, responder: Responder, gen2: AzureStore, answer: Answer
) -> None:
    """Whatever the second request is answered, it was not certainly without effect."""
    directory = told(200, b"", {"ETag": '"e1"', "x-ms-resource-type": "directory"})
    responder.script(directory, told(201, headers={"x-ms-continuation": "m"}), answer)
    assert runner.run(failure_of(rename_directory(gen2))).reply is Reply.UNKNOWN
    assert len(responder.received) == 3
