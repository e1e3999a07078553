"""Collections that look only at what a test has made."""

from __future__ import annotations

import gc
import weakref

import pytest

from fsspec_commit.testing import garbage
from fsspec_commit.testing.garbage import BLOCKS_UNTIL_ALL, only_what_comes


class Circle:
    """Only the garbage collector ends it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test of this project runs within such a block."""
    monkeypatch.setattr(garbage, "_frozen", [])


def test_a_collection_looks_at_what_was_made_in_the_block() -> None:
    before = Circle()
    with only_what_comes():
        within = Circle()
        gone, kept = weakref.ref(within), weakref.ref(before)
        del within, before
        gc.collect()
        assert gone() is None
        assert kept() is not None
    gc.collect()
    assert kept() is None


def test_a_block_within_another_ends_nothing() -> None:
    before = Circle()
    kept = weakref.ref(before)
    with only_what_comes():
        with only_what_comes():
            pass
        del before
        gc.collect()
        assert kept() is not None


def test_what_is_given_up_in_a_block_does_not_stay_for_ever() -> None:
    """A run of thousands of tests grew to two gigabytes a worker."""
    before = Circle()
    kept = weakref.ref(before)
    with only_what_comes():
        del before
    # More than once: a collection does nothing while another thread is at one.
    for _ in range(4 * BLOCKS_UNTIL_ALL):
        with only_what_comes():
            pass
    assert kept() is None
