"""The rule of the code, tried on every schedule; each weaker one fails there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsspec_commit.protocol import sign_of_life
from fsspec_commit.protocol.sign_of_life import FENCE_S, Watch
from tests.specs.sign_of_life import search

if TYPE_CHECKING:
    import pytest


class ByTheClock(Watch):
    """However long nobody looked, and whatever the job showed meanwhile."""

    def saw(self, signs: frozenset[str], *, since: float, until: float) -> bool:
        return super().saw(frozenset(), since=since, until=until)


class Never(Watch):
    """A job that has claimed is always waited for."""

    def saw(self, signs: frozenset[str], *, since: float, until: float) -> bool:
        super().saw(signs, since=since, until=until)
        return False


def test_the_rule_holds() -> None:
    assert search(Watch).problem is None


def test_a_rule_that_goes_by_the_clock_fails() -> None:
    assert search(ByTheClock, pauses=0).problem == "a living job is fenced"


def test_a_rule_that_never_fences_fails() -> None:
    assert search(Never, pauses=0).problem == "a dead job is never fenced"


def test_a_watch_that_counts_while_it_stood_still_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_of_life, "_LOOK_S_MAX", FENCE_S)
    assert search(Watch).problem == "a living job is fenced"
