"""Slices and their answers travel as text, and nothing else is taken for one."""

from __future__ import annotations

import pickle

import pytest

from fsspec_commit.errors import RecordError
from fsspec_commit.records.job import TaskCommit
from fsspec_commit.records.slices import (
    Deleted,
    DeleteSlice,
    ListRange,
    PublishSlice,
    SliceAnswer,
    answer_of,
    repeated,
    slice_of,
    text_of,
)

MESSAGE = TaskCommit(
    task_id=3,
    attempt_id="0123456789abcdef",
    file_count=2,
    bytes=10,
    manifest="manifests/3/0123456789abcdef",
    digest="0" * 64,
)
PUBLISH = PublishSlice(
    number=1, count=4, decision="1" * 32, chosen=(MESSAGE, MESSAGE), resuming=False
)
LINES = ListRange(start=10, length=99, count=3, digest="2" * 64)
DELETE = DeleteSlice(number=1, count=4, decision="1" * 32, lines=LINES)
ANSWER = SliceAnswer(number=1, files=4, lost=("a.txt",), deleted=Deleted(changed=1))


@pytest.mark.parametrize("message", [PUBLISH, DELETE])
def test_a_slice_is_read_as_it_was_written(message: PublishSlice | DeleteSlice) -> None:
    assert slice_of(text_of(message)) == message
    assert pickle.loads(pickle.dumps(message)) == message


def test_an_answer_is_read_as_it_was_written() -> None:
    assert answer_of(text_of(ANSWER)) == ANSWER


def test_a_slice_counts_its_files() -> None:
    assert PUBLISH.file_count == 4


def test_a_slice_that_may_run_again_looks_at_each_file() -> None:
    again = slice_of(repeated(text_of(PUBLISH)))
    assert isinstance(again, PublishSlice)
    assert again.resuming
    assert again.chosen == PUBLISH.chosen
    assert repeated(text_of(DELETE)) == text_of(DELETE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "\ud800",
        text_of(ANSWER),
        text_of(PUBLISH)[:-1],
        text_of(PUBLISH).replace("publish", "clean"),
        text_of(PUBLISH).replace("1" * 32, "../x"),
        text_of(DELETE).replace('"count":3', '"count":0'),
        text_of(DELETE).replace('"start":10', '"start":-1'),
    ],
)
def test_what_is_no_slice_is_refused(text: str) -> None:
    with pytest.raises(RecordError):
        slice_of(text)


@pytest.mark.parametrize("text", ["", "{}", "[]", "\ud800", text_of(PUBLISH)])
def test_what_is_no_answer_is_refused(text: str) -> None:
    with pytest.raises(RecordError):
        answer_of(text)


def test_what_two_have_left_is_added_up() -> None:
    both = Deleted(changed=1, changed_names=("a",)) + Deleted(
        changed=2, changed_names=("b",), kept=1, kept_name="c"
    )
    assert both == Deleted(changed=3, changed_names=("a", "b"), kept=1, kept_name="c")
