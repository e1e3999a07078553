"""Every answer to every verb is classified: not done, refused or unknown, in one plain sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from google.oauth2.credentials import Credentials

from fsspec_commit.errors import Reply
from tests.unit.stores.gcs.answers import error, said
from tests.unit.stores.gcs.verbs import CHANGES
from tests.unit.stores.responder import Answer, Responder
from tests.unit.stores.verbs import put

if TYPE_CHECKING:
    from tests.unit.stores.gcs.scripted import ScriptedGcs

NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN


def test_a_requester_pays_bucket_is_explained(gcs: ScriptedGcs) -> None:
    message = "Bucket is a requester pays bucket but no user project provided."
    gcs.script(error(400, "required", message=message))
    caught = gcs.failure_of(put(gcs.store))
    assert "say requester_pays=True" in str(caught)


@pytest.mark.parametrize("verb", CHANGES)
def test_a_name_that_was_just_written_is_left_alone_for_a_second(
    gcs: ScriptedGcs, verb: str
) -> None:
    """The service does not say how long: it is in its documentation."""
    gcs.script(
        error(
            429,
            "rateLimitExceeded",
            message="The object b/o exceeded the rate limit for object mutation operations "
            "(create, update, and delete). Please reduce your request rate.",
        )
    )
    caught = gcs.failure_of(CHANGES[verb].call(gcs.store))
    assert caught.reply is NOT_DONE
    assert caught.retry_after_s == 1.0
    assert not caught.is_overload, "the others may go on"


@pytest.mark.parametrize(
    "answer",
    [
        said({}),
        said({"generation": "x"}),
        said({"generation": "7", "size": "2"}),
        Answer(200, b""),
        Answer(200, b"[]"),
        Answer(200, b"{", announced=99),
    ],
)
def test_a_write_whose_answer_names_no_generation_is_in_doubt(
    gcs: ScriptedGcs, answer: Answer
) -> None:
    gcs.script(answer)
    caught = gcs.failure_of(put(gcs.store))
    assert caught.reply is UNKNOWN


def test_a_token_is_not_fetched_elsewhere(gcs: ScriptedGcs, responder: Responder) -> None:
    """The refresh token and the client's secret go to the one who was named."""
    credentials = Credentials(  # type: ignore[no-untyped-call]  # google-auth ships no types
        None,
        refresh_token="planted-refresh-token",
        client_id="id",
        client_secret="planted-client-secret",
        token_uri=f"{gcs.url}/token",
    )
    gcs.script(Answer(307, headers={"Location": f"{responder.url}/token"}))
    caught = gcs.failure_of(put(gcs.open(token=credentials)))
    assert caught.reply is NOT_DONE
    assert "no token could be fetched" in str(caught)
    assert "planted" not in str(caught)
    assert len(gcs.received) == 1
    assert responder.received == []
