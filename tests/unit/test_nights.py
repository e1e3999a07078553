"""The shares of the nights: disjoint, alike in size, and whole together."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.benchmarks.run_all import ORDER, ROOT
from tests.nights import Share

NODEIDS = [f"tests/protocol/test_x.py::test_y[{number}]" for number in range(600)]


@pytest.mark.parametrize("count", [1, 3, 5])
def test_all_nights_together_run_every_test_once(count: int) -> None:
    shares = [Share.parse(f"{number}/{count}") for number in range(count)]
    for nodeid in NODEIDS:
        assert sum(share.has(nodeid) for share in shares) == 1
    for share in shares:
        assert sum(map(share.has, NODEIDS)) == pytest.approx(600 / count, rel=0.3)


def test_days_are_counted_on() -> None:
    assert Share.parse("20780/3") == Share.parse("2/3") == Share(2, 3)
    assert str(Share.parse("20780/3")) == "2/3"


@pytest.mark.parametrize("text", ["", "3", "1/0", "a/b", "-1/3", "1/3/5"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(pytest.UsageError, match="write 0/3, 1/3 or 2/3"):
        Share.parse(text)


@pytest.mark.parametrize("count", [1, 3, 8])
def test_all_nights_together_run_every_benchmark_once(count: int) -> None:
    shares = [Share(number, count).of(ORDER) for number in range(count)]
    assert sorted(name for share in shares for name in share) == sorted(ORDER)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.checkout
def test_what_is_long_begins_first() -> None:
    collect = ["-m", "pytest", "--collect-only", "-q", "-m", "slow", "-p", "no:cacheprovider"]
    files = ["tests/protocol/simulation/test_slices.py", "tests/mutation/test_mutants.py"]
    program = [sys.executable, *collect, *files]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True)
    collected = [line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line]
    long = collected.count(files[1])
    assert long
    assert collected[:long] == [files[1]] * long
    assert set(collected[long:]) == {files[0]}
