"""What a probe has found of a server holds for every caller; what one of them promised does not."""

from __future__ import annotations

from typing import Self
from uuid import uuid4

import pytest

import fsspec_commit as fc
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Capabilities, OpenOptions, registry
from fsspec_commit_stores.memory import CAPABILITIES, MemoryStore


class UnverifiedEndpoint(MemoryStore):
    """Nobody says whether its listings are consistent, and a probe cannot tell."""

    in_flight_max = unverified_endpoint = None
    paged = False

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        store = cls(StorePath("/" + url.partition("://")[2]))
        store.unverified_endpoint = url  # type: ignore[assignment]  # every other memory is verified
        unknown = {"consistent_listing": None, "exclusive_create": None}
        known = CAPABILITIES.known("declared", paged_listing=cls.paged, **unknown)
        if options.single_writer:
            known = known.known("assumed", consistent_listing=True)
        store.capabilities = known
        return store


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(registry._registered, "unverified", UnverifiedEndpoint)
    return f"unverified://{uuid4().hex}/out"


def test_a_fact_that_was_assumed_before_is_judged_when_it_is_not(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where listings are paged, so that a probe can tell."""
    monkeypatch.setattr(UnverifiedEndpoint, "paged", True)
    for single_writer in (True, False):
        facts = fc.explain(url, single_writer=single_writer).capabilities
        assert facts.consistent_listing is True
        how = "assumed" if single_writer else "probed"
        assert facts.evidence["consistent_listing"] == how


@pytest.mark.parametrize("promised", [(True, False), (False, True, False)])
def test_a_promise_is_that_of_the_caller_who_made_it(url: str, promised: tuple[bool, ...]) -> None:
    for single_writer in promised:
        selection = fc.explain(url, single_writer=single_writer)
        assert selection.committer == ("v1" if single_writer else None)
        assert selection.capabilities.exclusive_create is True
        assert selection.capabilities.evidence["exclusive_create"] == "probed"


def test_only_what_was_seen_is_taken_over() -> None:
    mine = Capabilities(unique_tokens=False, multipart=True)
    seen = Capabilities().known("probed", exclusive_create=True, multipart=False)
    theirs = seen.known("assumed", consistent_listing=True).known("declared", unique_tokens=True)
    completed = mine.completed_by(theirs)
    assert (completed.exclusive_create, completed.multipart) == (True, False)
    assert (completed.consistent_listing, completed.unique_tokens) == (None, False)
