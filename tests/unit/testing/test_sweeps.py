"""What a sweep leaves out depends on the seed, which the run says, with how many cases it ran."""

from __future__ import annotations

import re
from itertools import count, islice
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.testing.sweeps import Sweep
from tests.unit.test_testing_plugin import run_pytest

if TYPE_CHECKING:
    from pathlib import Path


def test_all_cases_are_run_unless_it_is_told_otherwise() -> None:
    sweep = Sweep(1, seed="any")
    assert list(sweep("abc")) == ["a", "b", "c"]
    assert sweep.is_whole
    assert (sweep.ran, sweep.seen) == (3, 3)


@pytest.mark.parametrize("seed", range(20))
def test_every_so_many_th_from_one_of_the_first_on(seed: int) -> None:
    sweep = Sweep(5, seed=str(seed))
    chosen = list(islice(sweep(count()), 4))
    assert chosen[0] < 5
    assert [later - chosen[0] for later in chosen] == [0, 5, 10, 15]
    assert not sweep.is_whole
    assert (sweep.ran, sweep.seen) == (4, chosen[-1] + 1)


@pytest.mark.parametrize("cases", [1, 2, 4])
def test_of_a_few_cases_one_is_run(cases: int) -> None:
    chosen = set[int]()
    for seed in range(200):
        sweep = Sweep(50, seed=str(seed))
        [one] = sweep(range(cases))
        chosen.add(one)
        assert (sweep.ran, sweep.seen) == (1, cases)
    assert chosen == set(range(cases))
    assert list(Sweep(50, seed="any")(())) == []


def test_each_case_is_chosen_by_some_seed() -> None:
    first = {next(Sweep(5, seed=str(seed))(count())) for seed in range(100)}
    assert first == {0, 1, 2, 3, 4}


SUITE = """
import pytest
from fsspec_commit.testing.sweeps import sweep_of

@pytest.fixture
def sweep(request, every):
    yield from sweep_of(request, every)

@pytest.mark.parametrize("every", [1, 50, 70])
def test_some(sweep, every):
    with open(f"{every}.txt", "w") as file:
        print(*sweep(range(200)), file=file)
"""


def test_the_seed_that_a_run_says_chooses_the_same_again(tmp_path: Path) -> None:
    """Whether workers run the tests or not."""
    (tmp_path / "test_sweeps.py").write_text(SUITE)
    first = run_pytest(tmp_path, "-n", "2")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "sweeps, whole: 200 of 200 cases in 1 tests" in first.stdout
    said = re.search(r"chosen by (--sweep-seed=\d+): \d of 400 cases in 2 tests", first.stdout)
    assert said, first.stdout
    before = {path.name: path.read_text() for path in tmp_path.glob("*.txt")}
    again = run_pytest(tmp_path, "-n", "0", said[1])
    assert again.returncode == 0, again.stdout
    assert {path.name: path.read_text() for path in tmp_path.glob("*.txt")} == before
    assert said[0] in again.stdout
