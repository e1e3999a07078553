"""A 404 says that something is missing only where S3 says it: on the way to it stand others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import Expect
from tests.unit.stores.s3.responder import Answer, Responder, error
from tests.unit.stores.s3.verbs import PATH, VERBS, failure_of, versioning_or

if TYPE_CHECKING:
    import asyncio

    from fsspec_commit_stores.s3 import S3Store

ELSEWHERE = {
    "no body": Answer(404),
    "text": Answer(404, b"404 page not found\n"),
    "a page": Answer(404, b"<html><body>default backend</body></html>"),
}
"""What ingresses answer while no server is behind them."""


@pytest.mark.parametrize("answer", ELSEWHERE.values(), ids=ELSEWHERE)
@pytest.mark.parametrize("verb", VERBS)
def test_one_of_somebody_else_says_nothing(
    runner: asyncio.Runner, responder: Responder, store: S3Store, verb: str, answer: Answer
) -> None:
    """A job whose record was not found would be over, and its area void."""
    responder.answering = versioning_or(answer)
    caught = runner.run(failure_of(VERBS[verb][0](store)))
    assert caught.reply is Reply.UNKNOWN
    assert "HTTP 404" in str(caught)
    assert "check endpoint_url= and the proxy" in str(caught)
    assert not isinstance(caught, FileNotFoundError)


def test_nothing_is_deleted_by_one(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    responder.script(ELSEWHERE["text"])
    with pytest.raises(StoreError) as caught:
        runner.run(store.delete(PATH, expecting=Expect.ANYTHING))
    assert caught.value.reply is Reply.UNKNOWN


def test_one_of_s3_says_that_it_is_missing(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    """To a HEAD nobody has more to say; then a listing is asked, which has."""
    responder.script(error(404, "NoSuchKey"))
    assert runner.run(store.read(PATH, limit_bytes=9)) is None
    responder.script(Answer(404), ELSEWHERE["text"])
    caught = runner.run(failure_of(store.stat(PATH)))
    assert caught.reply is Reply.UNKNOWN
