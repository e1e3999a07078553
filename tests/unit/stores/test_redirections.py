"""Redirections are not followed, and told of by the host alone: the rest may be secret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply
from fsspec_commit_stores.http.redirections import is_redirection, origin_of, why_redirected
from tests.unit.stores.clouds import every_verb
from tests.unit.stores.responder import Answer, Responder

if TYPE_CHECKING:
    from tests.unit.stores.scripted import Scripted
    from tests.unit.stores.verbs import Verb


@pytest.mark.parametrize(
    ("location", "origin"),
    [
        ("https://login.corp/sso?to=planted", "https://login.corp"),
        ("http://me:planted@Host:8080/planted#planted", "http://host:8080"),
        ("http://[::1]:9000/planted", "http://[::1]:9000"),
        ("/planted?planted", ""),
        ("//host/planted", ""),
        ("ftp://host/planted", ""),
        ("http://host:planted/", ""),
        ("http://[planted/", ""),
        ("http://pl\x1b[31manted/", ""),
        ("", ""),
    ],
)
def test_it_is_the_host_alone(location: str, origin: str) -> None:
    assert origin_of(location) == origin


def test_in_words() -> None:
    assert why_redirected(307, "https://h") == (
        "it was answered by a redirection to https://h (HTTP 307), which is not followed"
    )
    assert "redirection (HTTP 302)" in why_redirected(302, "")
    assert [status for status in (200, 299, 300, 399, 400) if is_redirection(status)] == [300, 399]


@every_verb
def test_no_verb_follows_one(cloud: Scripted[Any], verb: Verb, responder: Responder) -> None:
    """Nobody but who was named is shown the credentials; what was done by then, it does not say."""
    responder.answering = lambda _: Answer(200, headers={"ETag": '"e1"'})
    location = f"{responder.url}/planted-path?X-Amz-Signature=planted&sig=planted&upload_id=planted"
    for status in (300, 301, 302, 303, 304, 305, 307, 308):
        cloud.received.clear()
        cloud.always(Answer(status, headers={"Location": location}))
        caught = cloud.failure_of(verb.call(cloud.store))
        assert caught.reply is Reply.UNKNOWN, status
        assert f"redirection to {responder.url} (HTTP {status}), which is not followed" in str(
            caught
        )
        assert f"check {cloud.address_option}" in str(caught)
        assert "planted" not in str(caught)
        assert len(cloud.asked) == 1
    assert responder.received == []
