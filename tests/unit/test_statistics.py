"""Counters and durations under Hadoop's names, as plain integers."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit.statistics import Statistics


def test_nothing_happened() -> None:
    assert Statistics().snapshot() == {}


def test_counters_add_up() -> None:
    statistics = Statistics()
    statistics.count("committer_files_committed", 3)
    statistics.count("committer_files_committed")
    statistics.count("committer_bytes_committed", 0)
    statistics.failed("op_rename")
    statistics.failed("op_rename")
    assert statistics.snapshot() == {
        "committer_bytes_committed": 0,
        "committer_files_committed": 4,
        "op_rename.failures": 2,
    }


@given(st.lists(st.floats(min_value=0, max_value=100), min_size=1, max_size=50))
def test_a_duration_has_a_count_and_milliseconds(seconds: list[float]) -> None:
    statistics = Statistics()
    for one in seconds:
        statistics.took("op_rename", one)
    assert statistics.snapshot() == {
        "op_rename": len(seconds),
        "op_rename.max": round(max(seconds) * 1000),
        "op_rename.mean": statistics.snapshot()["op_rename.mean"],
        "op_rename.min": round(min(seconds) * 1000),
    }
    mean = sum(seconds) / len(seconds) * 1000
    assert abs(statistics.snapshot()["op_rename.mean"] - mean) <= 1


@given(st.lists(st.tuples(st.floats(0, 100), st.integers(1, 1000)), min_size=1, max_size=20))
def test_many_that_took_some_time_together_took_it_evenly(
    together: list[tuple[float, int]],
) -> None:
    statistics = Statistics()
    for seconds, times in together:
        statistics.took("op_rename", seconds, times=times)
    snapshot = statistics.snapshot()
    assert snapshot["op_rename"] == sum(times for _, times in together)
    assert snapshot["op_rename.min"] == round(min(s / times for s, times in together) * 1000)
    assert snapshot["op_rename.max"] == round(max(s / times for s, times in together) * 1000)


def test_none_took_no_time() -> None:
    statistics = Statistics()
    statistics.took("op_rename", 1.0, times=0)
    assert statistics.snapshot() == {}


def test_a_snapshot_is_a_sorted_copy_of_integers() -> None:
    statistics = Statistics()
    statistics.took("b", 0.25)
    statistics.count("a")
    statistics.count("b", 2)
    snapshot = statistics.snapshot()
    statistics.count("a")
    assert snapshot == {"a": 1, "b": 3, "b.max": 250, "b.mean": 250, "b.min": 250}
    assert list(snapshot) == sorted(snapshot)
    assert all(type(value) is int for value in snapshot.values())
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot
