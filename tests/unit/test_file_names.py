"""Names of a job's files: a million of them are small, and none is lost."""

from __future__ import annotations

import pickle
import sys
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit.protocol.file_names import (
    FileNames,
    NameIndex,
    NameTokens,
    SomeOf,
    repeated_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

JOB = "20261120T140355-9c1e5f00a1b2c3d4"
NAMES = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12
)


def of_task(task: int, files: int = 1000) -> Iterator[str]:
    return (f"day=2026-11-{n % 30:02}/part-{n:05}-{JOB}-{task}.parquet" for n in range(files))


@given(st.lists(st.lists(NAMES, max_size=5), max_size=5), st.integers(1, 4))
def test_names_come_back_in_order_again_and_again(batches: list[list[str]], chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fsspec_commit.protocol.file_names._CHUNK", chunk)
        names = FileNames()
        for batch in batches:
            names.extend(batch)
    expected = [name for batch in batches for name in batch]
    assert list(names) == list(names) == expected
    assert len(names) == len(expected)
    assert bool(names) == bool(expected)
    assert repr(names) == f"<FileNames of {len(expected)} files>"
    assert list(pickle.loads(pickle.dumps(names))) == expected


def test_two_readers_do_not_disturb_each_other() -> None:
    names = FileNames()
    names.extend(of_task(0, 10_000))
    both = zip(names, names, strict=True)
    assert all(one == other for one, other in both)


def test_a_million_names_take_less_than_16_mb() -> None:
    names = FileNames()
    for task in range(1000):
        names.extend(of_task(task))
    assert len(names) == 1_000_000
    assert sum(map(sys.getsizeof, [*names._chunks, *names._recent])) < 16_000_000
    assert len(pickle.dumps(names)) < 16_000_000
    assert next(iter(names)) == next(of_task(0))


def test_adding_many_at_once_holds_them_no_longer_than_needed() -> None:
    names = FileNames()
    tracemalloc.start()
    try:
        names.extend(name for task in range(50) for name in of_task(task))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(names) == 50_000
    assert peak < 3_000_000


@given(st.lists(NAMES, max_size=50), st.lists(NAMES, max_size=50))
def test_an_index_holds_what_was_added(held: list[str], asked: list[str]) -> None:
    index = NameIndex()
    index.extend(held)
    repeated = index.freeze()
    assert len(index) == len(held)
    assert [name for name in held + asked if index.holds(name)] == [
        name for name in held + asked if name in held
    ]
    twice = {name for name in held if held.count(name) > 1}
    assert len(repeated) == len(twice)
    assert set(repeated_names(held, repeated)) == twice


@given(
    st.dictionaries(NAMES, NAMES, max_size=50),
    st.lists(NAMES, max_size=9),
    st.lists(NAMES, max_size=50),
)
def test_tokens_are_found_by_name(held: dict[str, str], more: list[str], asked: list[str]) -> None:
    index = NameIndex()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fsspec_commit.protocol.file_names._GROUP", 7)
        patch.setattr("fsspec_commit.protocol.file_names._RECENT_BYTES_MAX", 20)
        for name in [*held, *more]:
            index.extend([name])
        index.freeze()
        tokens = NameTokens(index)
        for name, token in reversed(held.items()):
            tokens.add(name, token)
        assert len(tokens) == len(held)
        for name in [*held, *more, *asked]:
            assert tokens.get(name) == held.get(name)


@given(st.sets(NAMES, max_size=50), st.lists(NAMES, max_size=50))
def test_some_names_of_an_index_are_told_from_the_others(held: set[str], added: list[str]) -> None:
    some = SomeOf(NameIndex.of(held))
    assert [some.add(name) for name in added] == [name in held for name in added]
    assert {name for name in [*held, *added] if some.holds(name)} == held & set(added)


def test_an_index_says_when_a_name_was_added_and_numbers_each() -> None:
    index, names = NameIndex(), [f"{number}.parquet" for number in range(20_000)]
    for start in range(0, len(names), 100):
        index.extend(names[start : start + 100])
    assert index.freeze() == set()
    groups = [index.group(name) for name in names]
    assert groups == sorted(groups, key=lambda group: -1 if group is None else group)
    assert len({*groups}) > 3
    assert sorted(str(index.position(name)) for name in names) == sorted(map(str, range(20_000)))
    assert (index.group("other"), index.position("other")) == (None, None)


def test_an_odd_name_of_a_disk_is_a_name() -> None:
    index = NameIndex()
    index.extend(["a\udcff"])
    index.freeze()
    assert index.holds("a\udcff")
    assert not index.holds("a")


def test_names_that_are_repeated_are_told_in_the_order_in_which_they_come_again() -> None:
    index, names = NameIndex(), ["a", "b", "c", "b", "a", "d", "b"]
    index.extend(names)
    assert repeated_names(names, index.freeze()) == ["b", "a", "b"]


def test_digests_that_have_one_half_in_common_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    digests = {name: (7, number) for number, name in enumerate("abcd")}
    monkeypatch.setattr("fsspec_commit.protocol.file_names._digest", digests.__getitem__)
    index = NameIndex()
    index.extend("cab")
    assert index.freeze() == set()
    tokens = NameTokens(index)
    for name in "cab":
        tokens.add(name, name.upper())
    assert [index.holds(name) for name in "abcd"] == [True, True, True, False]
    assert [tokens.get(name) for name in "abcd"] == ["A", "B", "C", None]


def test_an_index_takes_little_more_than_18_bytes_a_name() -> None:
    index = NameIndex()
    tracemalloc.start()
    try:
        index.extend(f"part-{number}" for number in range(50_000))
        index.freeze()
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 22 * 50_000
    assert peak < 30 * 50_000


def test_a_token_takes_little_and_nothing_is_held_of_those_that_were_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In two groups of names at most: they are asked for in about the order of the index."""
    monkeypatch.setattr("fsspec_commit.protocol.file_names._GROUP", 250)
    tasks, index = range(4), NameIndex()
    for task in tasks:
        for name in of_task(task):
            index.extend([name])
    index.freeze()
    tokens = NameTokens(index)
    tracemalloc.start()
    try:
        for task in reversed(tasks):
            for number, name in enumerate(of_task(task)):
                tokens.add(name, f"{task:x}41a6-18ea0bc0f7b{task * 7 + number * 31:05x}-1fa")
        held, _ = tracemalloc.get_traced_memory()
        for task in tasks:
            assert all(tokens.get(name) is not None for name in of_task(task))
        again, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 30 * 1000 * len(tasks)
    assert again - held < 250_000
