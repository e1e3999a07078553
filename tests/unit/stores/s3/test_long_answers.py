"""A page is read as botocore reads it, or left to botocore: whatever is in it, and in one pass."""

from __future__ import annotations

import logging
import tracemalloc
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import botocore.compat
import pytest

from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.s3 import S3Store
from tests.unit.stores.responder import CLOSED, Answer
from tests.unit.stores.s3.answers import MARK, error
from tests.unit.stores.s3.long_answers import (
    COMMON,
    ENTRY,
    FULL,
    METHODS,
    NAMESPACE,
    OWNER,
    PLACES,
    Clients,
    document,
    root_of,
    two_clients,
)
from tests.unit.stores.s3.scripted import ScriptedS3
from tests.unit.stores.s3.templates.outcomes import outcome_of
from tests.unit.stores.s3.test_impostors import IMPOSTORS
from tests.unit.stores.s3.verbs import UPLOAD, adopting
from tests.unit.stores.verbs import ROOT, all_of, uploads

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Iterator


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    with two_clients() as clients:
        yield clients


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A parser for each time that anybody parses anything."""
    made: list[object] = []
    parser: Callable[..., ET.XMLParser] = ET.XMLParser

    def counting(*args: Any, **how: Any) -> ET.XMLParser:
        made.append(parser(*args, **how))
        return made[-1]  # type: ignore[return-value]

    for module in (ET, botocore.compat.ETree):  # Another one by the same name, in old releases.
        monkeypatch.setattr(module, "XMLParser", counting)
    return made


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def test_a_page_is_parsed_once(clients: Clients, parsed: list[object], method: str) -> None:
    body = document(method, PLACES, "<EncodingType>url</EncodingType>", FULL[method])
    theirs = clients.outcome(clients.theirs, method, body)
    assert len(parsed) == 2
    parsed.clear()
    assert clients.outcome(clients.ours, method, body) == theirs
    assert len(parsed) == 1
    assert theirs["IsTruncated"] is True
    assert theirs["ResponseMetadata"]["RequestId"] == "1"
    assert theirs["RequestCharged"] == "requester"


def test_keys_are_decoded_as_botocore_decodes_them(clients: Clients) -> None:
    """It asks for them to be encoded, and decodes them where the answer says that they are."""
    entry = "<Contents><Key>a%2Bb+c/%C3%BC%0D&#xfc;</Key></Contents>"
    for says, key in (("<EncodingType>url</EncodingType>", "a+b c/\u00fc\r\u00fc"), ("", None)):
        page = clients.agreed("list_objects_v2", document("list_objects_v2", says, entry))
        assert page["Contents"] == [{"Key": key or "a%2Bb+c/%C3%BC%0D\u00fc"}]


SERVERS = {
    "none": "",
    "empty": ' xmlns=""',
    "of another": ' xmlns="urn:x"',
    "and others": f'{NAMESPACE} xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:a="b"',
}


@pytest.mark.parametrize("attributes", SERVERS.values(), ids=SERVERS)
def test_namespaces_do_not_matter(
    clients: Clients, parsed: list[object], method: str, attributes: str
) -> None:
    clients.agreed(method, document(method, PLACES, FULL[method], attributes=attributes))
    assert len(parsed) == 3


@pytest.mark.parametrize(
    "attributes", [' xmlns="{}}"', ' xmlns="a&#10;b"'], ids=["braces", "lines"]
)
def test_but_those_that_botocore_does_not_see(
    clients: Clients, method: str, attributes: str
) -> None:
    clients.agreed(method, document(method, PLACES, FULL[method], attributes=attributes))


def test_nor_do_prefixes_of_them(clients: Clients) -> None:
    mixed = (
        "<s:Contents><Key>a</Key><s:Size>1</s:Size></s:Contents><Contents><Key>b</Key></Contents>"
    )
    bound = f'{NAMESPACE} xmlns:s="urn:x"'
    body = document("list_objects_v2", mixed, attributes=bound)
    assert clients.agreed("list_objects_v2", body)["Contents"] == [
        {"Key": "a", "Size": 1},
        {"Key": "b"},
    ]


BOMB = (
    '<!DOCTYPE x [<!ENTITY a "'
    + "x" * 1_000
    + '"><!ENTITY b "'
    + "&a;" * 100
    + '"><!ENTITY c "'
    + "&b;" * 10
    + '">]>'
)
ODD = {
    "nothing": b"",
    "no XML": b"{}",
    "a page of HTML": b"<html><body>Accept the terms</body></html>",
    "an error": b"<Error><Code>SlowDown</Code><Message>m</Message></Error>",
    "an error of a namespace": f"<Error{NAMESPACE}><Code>InternalError</Code></Error>".encode(),
    "an error behind spaces": b" \n<Error><Code>InternalError</Code></Error>",
    "cut short": document("list_objects_v2", FULL["list_objects_v2"])[:-30],
    "two roots": document("list_objects_v2") * 2,
    "behind spaces": b"\n" + document("list_objects_v2"),
    "behind a mark of UTF-8": b"\xef\xbb\xbf" + document("list_objects_v2", COMMON),
    "UTF-16": document("list_objects_v2", COMMON).decode().encode("utf-16"),
    "no UTF-8": document("list_objects_v2", "<Name>\u00fc</Name>").decode().encode("latin-1"),
    "a surrogate": document("list_objects_v2", "<Name>@</Name>").replace(b"@", b"\xed\xa0\x80"),
    "said to be of another encoding": document(
        "list_objects_v2", "<Contents><Key>\u00fc</Key></Contents>"
    ).replace(b"UTF-8", b"ISO-8859-1"),
    "of an encoding that nobody knows": document("list_objects_v2").replace(b"UTF-8", b"x-1"),
    "a document type": b"<!DOCTYPE x>" + document("list_objects_v2")[39:],
    "an entity": b'<!DOCTYPE x [<!ENTITY e "k">]><ListBucketResult><Contents><Key>&e;</Key>'
    b"</Contents></ListBucketResult>",
    "an unknown entity": document("list_objects_v2", "<Name>&copy;</Name>"),
    "a control character": document("list_objects_v2", "<Name>\x01</Name>"),
    "one by its number": document("list_objects_v2", "<Name>&#1;</Name>"),
    "a comment": document("list_objects_v2", "<Contents><Key>a<!-- b -->c</Key></Contents>"),
    "as it stands": document("list_objects_v2", "<Contents><Key><![CDATA[<&>]]></Key></Contents>"),
    "an instruction": document("list_objects_v2", "<?x y?><Contents><Key>a<?x?>b</Key></Contents>"),
    "a field in a field": document("list_objects_v2", "<Contents><Key>a<b/>c</Key></Contents>"),
    "text between": document("list_objects_v2", "<Contents>text<Key>a</Key>more</Contents>"),
    "two keys": document("list_objects_v2", "<Contents><Key>a</Key><Key>b</Key></Contents>"),
    "two sizes": document("list_objects_v2", "<Contents><Size>1</Size><Size>2</Size></Contents>"),
    "two owners": document("list_objects_v2", f"<Contents>{OWNER}{OWNER}</Contents>"),
    "two moments": document(
        "list_objects_v2", f"<Contents>{'<LastModified>2026-11-27</LastModified>' * 2}</Contents>"
    ),
    "said twice": document("list_objects_v2", "<IsTruncated>true</IsTruncated>" * 2),
    "no key": document(
        "list_objects_v2", "<EncodingType>url</EncodingType><Contents><Size>1</Size></Contents>"
    ),
    "nothing of one": document("list_objects_v2", "<Contents/>", "<CommonPrefixes/>"),
    "a size of letters": document("list_objects_v2", "<Contents><Size>x</Size></Contents>"),
    "no size": document("list_objects_v2", "<Contents><Size/></Contents>"),
    "a size of spaces": document("list_objects_v2", "<Contents><Size> 5_0 </Size></Contents>"),
    "a long size": document("list_objects_v2", f"<Contents><Size>{'9' * 5_000}</Size></Contents>"),
    "no moment": document("list_objects_v2", "<Contents><LastModified/></Contents>"),
    "no such moment": document(
        "list_objects_v2",
        "<Contents><LastModified>2026-13-27T08:40:00.000Z</LastModified></Contents>",
    ),
    "another moment": document(
        "list_objects_v2",
        "<Contents><LastModified>Fri, 27 Nov 2026 08:40:00 GMT</LastModified></Contents>",
    ),
    "a number as a moment": document(
        "list_objects_v2", "<Contents><LastModified>1764232800</LastModified></Contents>"
    ),
    "small letters": document("list_objects_v2", "<contents><key>a</key></contents>"),
    "what nobody knows": document("list_objects_v2", "<New>1</New><Contents><New/></Contents>"),
    "deep": document("list_objects_v2", "<a>" * 3_000 + "</a>" * 3_000),
    "a bomb": BOMB.encode() + b"<ListBucketResult><Name>&c;</Name></ListBucketResult>",
}


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_what_is_odd_is_understood_alike(clients: Clients, body: bytes) -> None:
    for method in METHODS:
        for own in (body, body.replace(b"ListBucketResult", root_of(method).encode())):
            clients.agreed(method, own)


@pytest.mark.parametrize("status", [201, 204, 206, 300, 301, 307, 400, 403, 404, 500, 503])
def test_so_is_what_is_no_success(clients: Clients, method: str, status: int) -> None:
    for body in (document(method, FULL[method]), ODD["an error"], b""):
        clients.agreed(method, body, status)


def test_a_document_type_is_never_parsed_here(clients: Clients, parsed: list[object]) -> None:
    """What its entities would fill is bounded where botocore parses it, as it always was."""
    clients.outcome(clients.ours, "list_objects_v2", ODD["a bomb"])
    seen = len(parsed)
    clients.outcome(clients.theirs, "list_objects_v2", ODD["a bomb"])
    assert len(parsed) == 2 * seen


def test_no_more_memory_is_taken_than_by_botocore(clients: Clients) -> None:
    body = document("list_objects_v2", *[f"<Contents>{ENTRY}</Contents>"] * 1_000)
    peaks = []
    for store in (clients.ours, clients.theirs):
        clients.outcome(store, "list_objects_v2", body)
        tracemalloc.start()
        try:
            clients.outcome(store, "list_objects_v2", body)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[0] <= peaks[1]


def declined(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if "long answers" in one.getMessage()]


def test_what_is_left_is_named(clients: Clients, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "fsspec_commit")
    clients.agreed("list_objects_v2", document("list_objects_v2", FULL["list_objects_v2"]))
    assert declined(caplog) == []
    clients.agreed("list_objects_v2", ODD["two keys"])
    clients.agreed("list_objects_v2", ODD["an error"])
    clients.agreed("list_objects_v2", ODD["a document type"])
    told = "S3: long answers to ListObjectsV2 are read by botocore: one is "
    assert declined(caplog) == [
        f"{told}not as described (DoubtfulError)",
        f"{told}no document of theirs",
        f"{told}no document of theirs",
    ]


def test_the_switch_of_templates_is_that_of_answers(
    runner: asyncio.Runner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "fsspec_commit")
    options: dict[str, Any] = {"key": "k", "secret": "s", "endpoint_url": "http://127.0.0.1:9"}
    for by_template in (True, False):
        options = {**options, "request_templates": by_template}
        store = runner.run(S3Store.open("s3://bucket/out", OpenOptions(storage_options=options)))
        runner.run(store.close())
    assert declined(caplog) == [
        "S3: long answers to all are read by botocore: request_templates=False"
    ]


def test_a_handler_of_the_users_sees_what_was_answered(
    parsed: list[object], caplog: pytest.LogCaptureFixture
) -> None:
    """Also one that is added later, and not after it is taken away."""
    caplog.set_level(logging.DEBUG, "fsspec_commit")
    body = document("list_objects_v2", FULL["list_objects_v2"])
    seen: list[bytes] = []

    def note(response_dict: dict[str, Any], **_: Any) -> None:
        seen.append(response_dict["body"])

    with two_clients() as clients:
        events = clients.ours._bucket._call._client.meta.events
        for is_watched in (False, True, False):
            if is_watched:
                events.register("before-parse.s3.ListObjectsV2", note)
            elif seen:
                events.unregister("before-parse.s3.ListObjectsV2", note)
            parsed.clear()
            clients.outcome(clients.ours, "list_objects_v2", body)
            assert len(parsed) == (2 if is_watched else 1)
    assert seen == [body]
    told = f"read by botocore: a handler of {__name__} is called for them"
    assert [one for one in declined(caplog) if "handler" in one] == [
        f"S3: long answers to ListObjectsV2 are {told}"
    ]


LISTINGS: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "tree": lambda store: all_of(store.list_tree(ROOT, without=None)),
    "children": lambda store: all_of(store.list_children(ROOT)),
    "deletion": lambda store: store.delete_tree(ROOT),
    "pending": lambda store: all_of(uploads(store).pending(ROOT)),
    "parts": lambda store: adopting(store).stored_parts(UPLOAD),
}


@pytest.mark.parametrize("listing", LISTINGS.values(), ids=LISTINGS)
def test_users_are_told_alike(s3: ScriptedS3, listing: Callable[[Any], Awaitable[Any]]) -> None:
    """The same `StoreError`, with the same `Reply`, of whatever is answered."""
    answers = [
        *(Answer(200, body, MARK) for body in ODD.values()),
        *(Answer(200, body) for body in (ODD["an error"], ODD["no key"])),
        *IMPOSTORS.values(),
        *(error(status, code) for status, code in ScriptedS3.errors),
        CLOSED,
        Answer(200, b"<ListBucket", MARK, announced=99),
    ]
    stores = [s3.open(request_templates=by_template) for by_template in (True, False)]
    for answer in answers:
        s3.always(answer)
        ours, theirs = (s3.run(outcome_of(listing(store))) for store in stores)
        assert ours == theirs
