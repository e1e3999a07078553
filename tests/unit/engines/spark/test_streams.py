"""Batches that would be left out by mistake, told from a batch that comes again."""

from __future__ import annotations

import pytest

import fsspec_commit as fc
from fsspec_commit.engines.spark.streaming import Written

STREAM = ("/out", "numbers")
FIRST, AGAIN, OTHER = ("query", "run 1"), ("query", "run 2"), ("other query", "run 1")


def test_a_run_has_one_first_batch() -> None:
    written = Written()
    seen = []
    for run, number in ((FIRST, 0), (FIRST, 1), (AGAIN, 1), (AGAIN, 2)):
        with written.writing(STREAM, number, run) as is_first:
            seen.append(is_first)
    assert seen == [True, False, True, False]


@pytest.mark.parametrize(
    ("run", "message"), [(FIRST, "for the second time in one run"), (OTHER, "two queries write")]
)
def test_what_has_the_same_key_is_refused_even_while_the_first_is_written(
    run: tuple[str, str], message: str
) -> None:
    written = Written()
    with (
        written.writing(STREAM, 0, FIRST),
        pytest.raises(fc.RequestError, match=message),
        written.writing(STREAM, 0, run),
    ):
        raise AssertionError("it would be left out")


def test_a_batch_that_has_failed_may_come_again() -> None:
    written = Written()
    with pytest.raises(fc.StoreError), written.writing(STREAM, 0, FIRST):
        raise fc.StoreError("the store has gone")
    for run in (OTHER, ("other query", "run 2")):
        with written.writing(STREAM, 0, run) as is_first:
            assert is_first


def test_a_run_that_has_not_ended_does_not_hold_up_the_next_one() -> None:
    written = Written()
    with written.writing(STREAM, 0, FIRST), written.writing(STREAM, 0, AGAIN) as is_first:
        assert is_first
