"""Every answer to every verb is classified: not done, refused or unknown, in one plain sentence."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply
from fsspec_commit.store import Expect, Token
from tests.unit.stores.clouds import CLOUDS, every_verb
from tests.unit.stores.responder import CLOSED, Answer
from tests.unit.stores.verbs import PATH, put

if TYPE_CHECKING:
    from tests.unit.stores.scripted import Scripted
    from tests.unit.stores.verbs import Verb


@every_verb
def test_every_answer_to_every_verb(cloud: Scripted[Any], verb: Verb) -> None:
    for (status, code), reply in cloud.errors.items():
        cloud.always(cloud.error(status, code))
        caught = cloud.failure_of(verb.call(cloud.store))
        assert caught.reply is reply, (code, caught)
        assert caught.path == PATH
        assert str(caught).startswith(f"cannot {verb.doing} '{cloud.url_of_store}/a b': "), code
        assert code in str(caught)
        assert "said so" not in str(caught)
        assert "\n" not in str(caught)
        assert caught.errno
        assert caught.strerror
    # And each was sent once.
    assert len(cloud.asked) == len(cloud.errors)


@every_verb
def test_whether_too_much_is_asked_is_another_question_than_what_was_done(
    cloud: Scripted[Any], verb: Verb
) -> None:
    for status, code in cloud.errors:
        cloud.always(cloud.error(status, code))
        is_throttled = status == 429 or "ateLimitExceeded" in code
        expected = is_throttled or (status >= 500 and status != 501)
        assert cloud.failure_of(verb.call(cloud.store)).is_overload is expected, (status, code)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
@pytest.mark.parametrize("cloud", CLOUDS, indirect=True)
def test_a_bare_status_says_that_too_much_is_asked(cloud: Scripted[Any], status: int) -> None:
    """As S3 answers a look, and a proxy everything."""
    cloud.always(Answer(status))
    for call in (cloud.store.stat(PATH), put(cloud.store)):
        assert cloud.failure_of(call).is_overload


@pytest.mark.parametrize("cloud", CLOUDS, indirect=True)
def test_no_answer_says_nothing_of_that(cloud: Scripted[Any]) -> None:
    cloud.always(CLOSED)
    assert not cloud.failure_of(put(cloud.store)).is_overload


@every_verb
def test_a_denied_verb_names_the_permission(cloud: Scripted[Any], verb: Verb) -> None:
    cloud.always(cloud.error(*cloud.denied))
    caught = cloud.failure_of(verb.call(cloud.store))
    assert f"cannot {verb.doing} '{cloud.url_of_store}/a b'" in str(caught)
    assert f"allow {verb.permission} " in str(caught)
    assert caught.errno == errno.EACCES


@every_verb
def test_a_missing_bucket_is_said_to_be_missing(cloud: Scripted[Any], verb: Verb) -> None:
    """And is not taken for a file that is not there."""
    cloud.always(cloud.no_bucket)
    caught = cloud.failure_of(verb.call(cloud.store))
    assert "there is no such bucket" in str(caught) or "there is no such container" in str(caught)
    assert caught.reply is Reply.REFUSED
    assert len(cloud.asked) == 1


def test_what_is_gone_is_deleted(cloud: Scripted[Any]) -> None:
    cloud.script(cloud.error(*cloud.missing))
    cloud.run(cloud.store.delete(PATH, expecting=Expect.ANYTHING))
    caught = cloud.failure_of(cloud.store.delete(PATH, expecting=Token("7")))
    assert (caught.reply, caught.errno) == (Reply.REFUSED, errno.ENOENT)


@pytest.mark.parametrize(
    ("cloud", "verb"),
    [
        *((cloud, verb) for cloud in CLOUDS for verb in ("put", "delete")),
        *(("gcs", "rename"), ("gen2", "rename"), ("s3", "complete"), ("flat", "complete")),
    ],
    indirect=["cloud"],
)
def test_a_condition_that_is_not_met_is_a_refusal(cloud: Scripted[Any], verb: str) -> None:
    cloud.script(cloud.error(*cloud.not_as_expected))
    caught = cloud.failure_of(cloud.verbs[verb].call(cloud.store))
    assert (caught.reply, caught.errno) == (Reply.REFUSED, errno.EEXIST)
    assert "something else stands there than was expected" in str(caught)


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        ("7", 7.0),
        ("Fri, 20 Nov 2026 14:00:30 GMT", 30.0),
        ("Fri, 20 Nov 2026 14:00:30 -0000", 30.0),
        ("soon", None),
        (f"Fri, 20 Nov {'9' * 20} 14:00:30 GMT", None),
    ],
)
def test_the_store_says_how_long_to_wait(
    cloud: Scripted[Any], retry_after: str, seconds: float | None
) -> None:
    headers = {"Retry-After": retry_after, "Date": "Fri, 20 Nov 2026 14:00:00 GMT"}
    cloud.script(cloud.error(*cloud.busy, headers))
    assert cloud.failure_of(put(cloud.store)).retry_after_s == seconds
    cloud.script(cloud.error(*cloud.busy))
    assert cloud.failure_of(put(cloud.store)).retry_after_s is None
