"""Every answer to every verb is classified: not done, refused or unknown, in one plain sentence."""

from __future__ import annotations

import errno
from email.utils import format_datetime
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.store import Expect, Token
from tests.unit.stores.azure.conftest import account_at
from tests.unit.stores.azure.verbs import (
    FLAT,
    GEN2,
    PATH,
    UPLOAD,
    Verb,
    every_verb,
    failure_of,
    said,
    told,
    uploads,
)
from tests.unit.stores.s3.responder import CLOSED, Answer, Responder

if TYPE_CHECKING:
    import asyncio

    from fsspec_commit_stores.azure import AzureStore
    from tests.unit.stores.azure.conftest import Opening

NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN
ANSWERS: dict[tuple[int, str], Reply] = {
    (400, "InvalidBlockList"): REFUSED,
    (400, "InvalidHeaderValue"): REFUSED,
    (400, "Md5Mismatch"): NOT_DONE,
    (401, "InvalidAuthenticationInfo"): REFUSED,
    (401, "NoAuthenticationInformation"): REFUSED,
    (403, "AuthenticationFailed"): REFUSED,
    (403, "AuthorizationFailure"): REFUSED,
    (403, "AuthorizationPermissionMismatch"): REFUSED,
    (404, "ContainerNotFound"): REFUSED,
    (404, "FilesystemNotFound"): REFUSED,
    (409, "BlobAlreadyExists"): REFUSED,
    (409, "BlobImmutableDueToPolicy"): REFUSED,
    (409, "ContainerBeingDeleted"): REFUSED,
    (409, "DestinationPathIsBeingDeleted"): NOT_DONE,
    (409, "PathAlreadyExists"): REFUSED,
    (409, "SnapshotsPresent"): REFUSED,
    (412, "ConditionNotMet"): REFUSED,
    (412, "LeaseIdMissing"): REFUSED,
    (412, "SourceConditionNotMet"): REFUSED,
    (413, "RequestBodyTooLarge"): REFUSED,
    (429, "TooManyRequests"): NOT_DONE,
    (500, "InternalError"): UNKNOWN,
    (500, "OperationTimedOut"): UNKNOWN,
    (501, "NotImplemented"): REFUSED,
    (503, "ServerBusy"): NOT_DONE,
}


@every_verb
def test_every_answer_to_every_verb(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    is_hierarchical: bool,
    verb: tuple[Verb, str, str],
) -> None:
    store = opening(is_hierarchical=is_hierarchical)
    call, doing, _ = verb
    for (status, code), reply in ANSWERS.items():
        responder.script(said(status, code))
        caught = runner.run(failure_of(call(store)))
        assert caught.reply is reply, (code, caught)
        assert caught.path == PATH
        assert str(caught).startswith(f"cannot {doing} 'abfs://bucket/out/a b': "), caught
        assert code in str(caught)
        assert "\n" not in str(caught)
        assert caught.errno
        assert caught.strerror
    # And each was sent once.
    assert len(responder.received) == len(ANSWERS)


@every_verb
def test_a_code_in_the_body_is_as_good(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    is_hierarchical: bool,
    verb: tuple[Verb, str, str],
) -> None:
    """Of both endpoints; a HEAD has no body."""
    store = opening(is_hierarchical=is_hierarchical)
    if verb[1] == "look at":
        return
    for body in (
        b"<?xml version='1.0'?><Error><Code>ServerBusy</Code><Message>x</Message></Error>",
        b'{"error": {"code": "ServerBusy", "message": "x"}}',
    ):
        responder.script(told(503, body))
        assert runner.run(failure_of(verb[0](store))).reply is NOT_DONE


@every_verb
def test_a_connection_that_breaks_says_nothing(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    is_hierarchical: bool,
    verb: tuple[Verb, str, str],
) -> None:
    """And the request is not sent again, neither by aiohttp nor by an SDK."""
    store = opening(is_hierarchical=is_hierarchical)
    responder.script(CLOSED)
    caught = runner.run(failure_of(verb[0](store)))
    assert caught.reply is UNKNOWN
    assert "failed before the answer" in str(caught)
    assert len(responder.received) == 1


@every_verb
def test_a_denied_verb_names_the_permission(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    is_hierarchical: bool,
    verb: tuple[Verb, str, str],
) -> None:
    store = opening(is_hierarchical=is_hierarchical)
    call, doing, action = verb
    responder.script(said(403, "AuthorizationPermissionMismatch"))
    caught = runner.run(failure_of(call(store)))
    assert f"cannot {doing} 'abfs://bucket/out/a b'" in str(caught)
    assert f"allow {action} (of a signature: " in str(caught)
    assert caught.errno == errno.EACCES


def test_blocks_that_are_gone_are_told_from_a_conflict(
    runner: asyncio.Runner, responder: Responder, flat: AzureStore
) -> None:
    for status, code, number in (
        (400, "InvalidBlockList", errno.ENOENT),
        (409, "BlobAlreadyExists", errno.EEXIST),
        (412, "ConditionNotMet", errno.EEXIST),
    ):
        responder.script(said(status, code))
        caught = runner.run(failure_of(FLAT["complete"][0](flat)))
        assert (caught.reply, caught.errno) == (REFUSED, number)


def test_an_upload_that_was_let_go_of_is_not_completed(
    runner: asyncio.Runner, responder: Responder, flat: AzureStore
) -> None:
    runner.run(uploads(flat).abort(UPLOAD))
    caught = runner.run(failure_of(FLAT["complete"][0](flat)))
    assert (caught.reply, caught.errno) == (REFUSED, errno.ENOENT)
    assert responder.received == []


@pytest.mark.parametrize("body", [b"", b"<no", b"[]", b'{"paths": 1}', b'{"paths": [1]}'])
def test_a_listing_that_is_none(
    runner: asyncio.Runner, responder: Responder, store: AzureStore, body: bytes
) -> None:
    """An error page with a 200 is not an empty directory."""
    responder.script(told(200, body))
    verbs = GEN2 if store.files is not None else FLAT
    for name in ("tree", "children"):
        caught = runner.run(failure_of(verbs[name][0](store)))
        assert caught.reply is UNKNOWN
        assert "no listing" in str(caught)


def test_what_is_gone_is_deleted(
    runner: asyncio.Runner, responder: Responder, store: AzureStore
) -> None:
    responder.script(said(404, "BlobNotFound"))
    runner.run(store.delete(PATH, expecting=Expect.ANYTHING))
    assert runner.run(failure_of(store.delete(PATH, expecting=Token("e1")))).reply is REFUSED


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"x-ms-retry-after-ms": "1500"}, 1.5),
        (
            {
                "Retry-After": "Fri, 20 Nov 2026 14:00:30 GMT",
                "Date": "Fri, 20 Nov 2026 14:00:00 GMT",
            },
            30.0,
        ),
        (
            {
                "Retry-After": "Fri, 20 Nov 2026 14:00:30 -0000",
                "Date": "Fri, 20 Nov 2026 14:00:00 GMT",
            },
            30.0,
        ),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": f"Fri, 20 Nov {'9' * 20} 14:00:30 GMT"}, None),
        ({}, None),
    ],
)
def test_the_store_says_how_long_to_wait(
    runner: asyncio.Runner,
    responder: Responder,
    gen2: AzureStore,
    headers: dict[str, str],
    seconds: float | None,
) -> None:
    responder.script(said(503, "ServerBusy", headers))
    assert runner.run(failure_of(GEN2["put"][0](gen2))).retry_after_s == seconds


class TestNotAuthenticated:
    """One code, and no body where it matters: what both clocks say tells the reasons apart."""

    def why(
        self, runner: asyncio.Runner, responder: Responder, store: AzureStore, date: str
    ) -> str:
        responder.script(said(403, "AuthenticationFailed", {"Date": date}))
        caught = runner.run(failure_of(GEN2["stat"][0](store)))
        assert (caught.reply, caught.errno) == (REFUSED, errno.EACCES)
        return str(caught)

    def test_a_wrong_key(
        self, runner: asyncio.Runner, responder: Responder, gen2: AzureStore
    ) -> None:
        now = format_datetime(SYSTEM_IDS.now())
        assert "check account_key=" in self.why(runner, responder, gen2, now)

    def test_a_wrong_clock(
        self, runner: asyncio.Runner, responder: Responder, gen2: AzureStore
    ) -> None:
        past = "Fri, 20 Nov 2020 14:00:30 GMT"
        why = self.why(runner, responder, gen2, past)
        assert "this machine's clock is " in why
        assert " s ahead of the store's; set it right" in why

    @pytest.mark.parametrize(
        ("ends", "words"),
        [("2020-01-01T00:00:00Z", "has expired"), ("2999-01-01T00:00Z", "is not valid here")],
    )
    def test_a_signature(
        self,
        runner: asyncio.Runner,
        responder: Responder,
        opening: Opening,
        ends: str,
        words: str,
    ) -> None:
        signature = f"SharedAccessSignature=sv=2023-11-03&se={ends}&sig=planted"
        store = opening(connection_string=account_at(responder.url, signature))
        why = self.why(runner, responder, store, format_datetime(SYSTEM_IDS.now()))
        assert f"the shared access signature {words}" in why
        assert "planted" not in why


@every_verb
def test_a_redirection_is_not_followed(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    is_hierarchical: bool,
    verb: tuple[Verb, str, str],
) -> None:
    """Nobody but the account is shown the credentials; what was done by then, it does not say."""
    store = opening(is_hierarchical=is_hierarchical)
    other = Responder()
    runner.run(other.__aenter__())
    try:
        location = f"{other.url}/planted-path?sig=planted-signature"
        for status in (300, 301, 302, 303, 304, 307, 308):
            responder.received.clear()
            responder.script(Answer(status, headers={"Location": location}))
            caught = runner.run(failure_of(verb[0](store)))
            assert caught.reply is UNKNOWN, status
            where = f"redirection to {other.url} (HTTP {status}), which is not followed"
            assert where in str(caught)
            assert "planted" not in str(caught)
            assert len(responder.received) == 1
        assert other.received == []
    finally:
        runner.run(other.__aexit__())
