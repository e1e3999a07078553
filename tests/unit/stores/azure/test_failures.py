"""Every answer to every verb is classified: not done, refused or unknown, in one plain sentence."""

from __future__ import annotations

import errno
from email.utils import format_datetime

import pytest

from fsspec_commit.errors import Reply
from fsspec_commit.ids import SYSTEM_IDS
from tests.unit.stores.azure.answers import said, told
from tests.unit.stores.azure.scripted import ScriptedAzure, account_at
from tests.unit.stores.azure.verbs import FLAT, UPLOAD
from tests.unit.stores.clouds import every_verb_of_azure
from tests.unit.stores.verbs import Verb, put, stat, uploads

NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN


@every_verb_of_azure
def test_a_code_in_the_body_is_as_good(azure: ScriptedAzure, verb: Verb) -> None:
    """Of both endpoints; a HEAD has no body."""
    if verb.doing == "look at":
        return
    for body in (
        b"<?xml version='1.0'?><Error><Code>ServerBusy</Code><Message>x</Message></Error>",
        b'{"error": {"code": "ServerBusy", "message": "x"}}',
    ):
        azure.script(told(503, body))
        assert azure.failure_of(verb.call(azure.store)).reply is NOT_DONE


def test_blocks_that_are_gone_are_told_from_a_conflict(flat: ScriptedAzure) -> None:
    for status, code, number in (
        (400, "InvalidBlockList", errno.ENOENT),
        (409, "BlobAlreadyExists", errno.EEXIST),
        (412, "ConditionNotMet", errno.EEXIST),
    ):
        flat.script(said(status, code))
        caught = flat.failure_of(FLAT["complete"].call(flat.store))
        assert (caught.reply, caught.errno) == (REFUSED, number)


def test_an_upload_that_was_let_go_of_is_not_completed(flat: ScriptedAzure) -> None:
    flat.run(uploads(flat.store).abort(UPLOAD))
    caught = flat.failure_of(FLAT["complete"].call(flat.store))
    assert (caught.reply, caught.errno) == (REFUSED, errno.ENOENT)
    assert flat.received == []


@pytest.mark.parametrize("body", [b"", b"<no", b"[]", b'{"paths": 1}', b'{"paths": [1]}'])
def test_a_listing_that_is_none(azure: ScriptedAzure, body: bytes) -> None:
    """An error page with a 200 is not an empty directory."""
    azure.script(told(200, body))
    for name in ("tree", "children"):
        caught = azure.failure_of(azure.verbs[name].call(azure.store))
        assert caught.reply is UNKNOWN
        assert "no listing" in str(caught)


def test_azure_says_in_milliseconds_how_long_to_wait(azure: ScriptedAzure) -> None:
    azure.script(said(503, "ServerBusy", {"x-ms-retry-after-ms": "1500"}))
    assert azure.failure_of(put(azure.store)).retry_after_s == 1.5


class TestNotAuthenticated:
    """One code, and no body where it matters: what both clocks say tells the reasons apart."""

    def why(self, azure: ScriptedAzure, date: str) -> str:
        azure.script(said(403, "AuthenticationFailed", {"Date": date}))
        caught = azure.failure_of(stat(azure.store))
        assert (caught.reply, caught.errno) == (REFUSED, errno.EACCES)
        return str(caught)

    def test_a_wrong_key(self, gen2: ScriptedAzure) -> None:
        now = format_datetime(SYSTEM_IDS.now())
        assert "check account_key=" in self.why(gen2, now)

    def test_a_wrong_clock(self, gen2: ScriptedAzure) -> None:
        past = "Fri, 20 Nov 2020 14:00:30 GMT"
        why = self.why(gen2, past)
        assert "this machine's clock is " in why
        assert " s ahead of the store's; set it right" in why

    @pytest.mark.parametrize(
        ("ends", "words"),
        [("2020-01-01T00:00:00Z", "has expired"), ("2999-01-01T00:00Z", "is not valid here")],
    )
    def test_a_signature(self, gen2: ScriptedAzure, ends: str, words: str) -> None:
        signature = f"SharedAccessSignature=sv=2023-11-03&se={ends}&sig=planted"
        gen2.open(connection_string=account_at(gen2.url, signature))
        why = self.why(gen2, format_datetime(SYSTEM_IDS.now()))
        assert f"the shared access signature {words}" in why
        assert "planted" not in why
