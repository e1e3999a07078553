"""A 404 says that something is missing only where Azure says it: on the way to it stand others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply
from tests.unit.stores.azure.verbs import FLAT, GEN2, PATH, failure_of, said
from tests.unit.stores.s3.responder import Answer, Received, Responder

if TYPE_CHECKING:
    import asyncio

    from tests.unit.stores.azure.conftest import Opening


def _always(answer: Answer, _: Received) -> Answer:
    return answer


@pytest.mark.parametrize("is_hierarchical", [False, True])
def test_one_of_somebody_else_says_nothing(
    runner: asyncio.Runner, responder: Responder, opening: Opening, is_hierarchical: bool
) -> None:
    """A job whose record was not found would be over, and its area void."""
    store = opening(is_hierarchical=is_hierarchical)
    for name, (call, _, _) in (GEN2 if is_hierarchical else FLAT).items():
        for body in (b"", b"404 page not found\n", b"<html><body>default backend</body></html>"):
            responder.answering = partial(_always, Answer(404, body))
            caught = runner.run(failure_of(call(store)))
            assert caught.reply is Reply.UNKNOWN, name
            assert "not Azure has answered (HTTP 404)" in str(caught)
            assert not isinstance(caught, FileNotFoundError)


def test_one_of_azure_says_that_it_is_missing(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    """To a HEAD as well, by a header."""
    store = opening(is_hierarchical=True)
    responder.answering = lambda _: said(404, "BlobNotFound")
    assert runner.run(store.stat(PATH)) is None
    assert runner.run(store.read(PATH, limit_bytes=9)) is None
