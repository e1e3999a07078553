"""Listings page by page, of paths and of blobs."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply
from fsspec_commit_stores.azure import listing, renaming
from tests.unit.stores.azure.answers import said, told
from tests.unit.stores.azure.verbs import rename, rename_directory
from tests.unit.stores.bucket import tree
from tests.unit.stores.s3.answers import tag, xml
from tests.unit.stores.verbs import OTHER, PATH, ROOT, all_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from fsspec_commit_stores.azure import AzureStore
    from tests.unit.stores.azure.scripted import ScriptedAzure
    from tests.unit.stores.responder import Answer, Received


BUSY = said(503, "ServerBusy")


def test_metadata_are_no_blobs_whatever_they_are_called(flat: ScriptedAzure) -> None:
    """Their names are a user's, and elements beside those of the service."""
    properties = f"<Properties>{tag('Content-Length', 1)}{tag('Etag', 'e')}</Properties>"
    metadata = "<Metadata><Blob>x</Blob><BlobPrefix>y</BlobPrefix></Metadata>"
    blob = f"<Blob>{tag('Name', 'out/a')}{properties}{metadata}</Blob>"
    page = xml("EnumerationResults", f"<Blobs>{blob}</Blobs>", "<NextMarker />")
    flat.answering = lambda _: told(200, page.body)
    assert tree(flat) == ["a"]
    assert len(flat.run(all_of(flat.store.list_children(ROOT)))) == 1


def test_a_directory_is_never_its_own_child(flat: ScriptedAzure) -> None:
    """Of a name with two slashes in a row: whoever looked into it looked for ever."""
    prefix = f"<BlobPrefix>{tag('Name', 'out//')}</BlobPrefix>"
    page = xml("EnumerationResults", f"<Blobs>{prefix}</Blobs>")
    flat.always(told(200, page.body))
    [child] = flat.run(all_of(flat.store.list_children(ROOT)))
    assert child.path == f"{ROOT}/"


@pytest.mark.parametrize("name", ["area/../../../victim", "./a", ".."])
def test_a_listed_name_that_leads_elsewhere_is_in_doubt(
    gen2: ScriptedAzure, flat: ScriptedAzure, name: str
) -> None:
    """No such name can be asked for, and the service keeps none: the client resolves the dots.

    A file outside of the tree that was to go was deleted by it.
    """
    name = f"out/a b/{name}"
    properties = f"<Properties>{tag('Content-Length', 1)}{tag('Etag', 'e')}</Properties>"
    blobs = f"<Blobs><Blob>{tag('Name', name)}{properties}</Blob></Blobs>"
    paths = {"paths": [{"name": name, "contentLength": "1", "etag": "e"}]}
    gen2.always(told(200, json.dumps(paths).encode()))
    flat.always(told(200, xml("EnumerationResults", blobs).body))
    for azure in (gen2, flat):
        caught = azure.failure_of(all_of(azure.store.list_tree(PATH)))
        assert caught.reply is Reply.UNKNOWN
        assert "no request can be sent for" in str(caught)
    assert flat.failure_of(flat.store.delete_tree(PATH)).reply is Reply.UNKNOWN
    assert {request.method for request in flat.received} == {"GET"}


def test_many_blobs_are_deleted_by_their_names(flat: ScriptedAzure) -> None:
    """One that may be left leaves it open what has happened; a missing one is done."""
    paths = [PATH, OTHER]
    deleting = flat.store.bulk_deletion
    assert deleting is not None
    flat.always(told(202))
    flat.run(deleting.delete_files(paths, within=ROOT))
    assert [request.method for request in flat.received] == ["DELETE"] * 2
    refused = said(403, "AuthorizationPermissionMismatch")
    for answers, reply in (
        ([refused, said(404, "BlobNotFound")], Reply.REFUSED),
        ([refused, said(500, "InternalError")], Reply.UNKNOWN),
    ):
        flat.script(*answers)
        caught = flat.failure_of(deleting.delete_files(paths, within=ROOT))
        assert caught.reply is reply
        assert "of its files were not deleted" in str(caught)


@pytest.mark.parametrize("following", ["", "more"])
def test_only_paths_on_one_page_are_of_one_moment(gen2: ScriptedAzure, following: str) -> None:
    paths = [
        {"name": "out/area", "isDirectory": "true"},
        {"name": "out/epoch", "contentLength": "0", "etag": "e"},
    ]
    page = told(200, json.dumps({"paths": paths}).encode(), {"x-ms-continuation": following})
    gen2.always(page)
    shown = gen2.run(gen2.store.at_once.list_at_once(ROOT))
    assert len(gen2.received) == 1
    assert (None if shown is None else [one.path for one in shown]) == (
        None if following else [f"{ROOT}/area", f"{ROOT}/epoch"]
    )


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
    gen2: ScriptedAzure, verb: Callable[[AzureStore], Awaitable[Any]], sent: str
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

        gen2.received.clear()
        gen2.answering = answering
        caught = gen2.failure_of(verb(gen2.store))
        assert caught.reply is Reply.UNKNOWN
        assert "there is more, and not where" in str(caught)
        changes = [one.method for one in gen2.received if one.method != "HEAD"]
        assert changes == [sent] * (TURNS * len(places) + 1)


@pytest.mark.parametrize(
    "answer", [BUSY, said(409, "PathAlreadyExists"), said(404, "PathNotFound")]
)
def test_a_rename_that_is_done_in_part_is_in_doubt(gen2: ScriptedAzure, answer: Answer) -> None:
    """Whatever the second request is answered, it was not certainly without effect."""
    directory = told(200, b"", {"ETag": '"e1"', "x-ms-resource-type": "directory"})
    gen2.script(directory, told(201, headers={"x-ms-continuation": "m"}), answer)
    assert gen2.failure_of(rename_directory(gen2.store)).reply is Reply.UNKNOWN
    assert len(gen2.received) == 3
