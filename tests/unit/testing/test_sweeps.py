"""What a sweep leaves out depends on the seed, which the run says, with how many cases it ran."""

from __future__ import annotations

import re
from itertools import count, islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.testing.sweeps import Sweep, sweep_of
from tests.sweeps import pytest_collection_modifyitems, some_tests_by_day
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


@pytest.mark.parametrize(("options", "every"), [({"sweep_whole": True}, 1), ({}, 50)])
def test_a_run_can_ask_for_all_cases(options: dict[str, object], every: int) -> None:
    config = SimpleNamespace(getoption=options.get)
    node = SimpleNamespace(nodeid="test_one", user_properties=[])
    request: Any = SimpleNamespace(config=config, node=node)
    [sweep] = sweep_of(request, 50)
    assert sweep.every == every
    assert node.user_properties == [("sweep", (every, 0, 0))]


class Case(pytest.Item):
    """A test on a server, as pytest has collected it."""

    def runtest(self) -> None:
        """Nothing: it is only chosen, or not."""

    def on(self, server: str) -> Case:
        self.callspec = SimpleNamespace(params={"s3_server": server})
        return self


def runs(case: pytest.Item) -> bool:
    return case.get_closest_marker("slow") is None


class TestSomeByDay:
    @pytest.fixture
    def cases(self, request: pytest.FixtureRequest) -> list[pytest.Item]:
        """Ten on each of two servers; the last of each is the only one for P2."""
        return self.made(request.session, everywhere=False)

    def made(self, session: pytest.Session, *, everywhere: bool) -> list[pytest.Item]:
        cases: list[pytest.Item] = []
        for server in ("ministack", "seaweedfs"):
            for number in range(10):
                case = Case.from_parent(session, name=f"test_{number}[{server}]").on(server)
                case.add_marker(some_tests_by_day(4, everywhere=everywhere))
                case.add_marker(pytest.mark.guarantees("P2" if number == 9 else "P1"))
                cases.append(case)
        return cases

    def choose(self, cases: list[pytest.Item], *, marks: str, seed: int) -> list[pytest.Item]:
        option = SimpleNamespace(markexpr=marks, sweep_seed=seed)
        config: Any = SimpleNamespace(option=option)
        pytest_collection_modifyitems(config, cases)
        return [case for case in cases if runs(case)]

    def test_on_every_server(self, request: pytest.FixtureRequest) -> None:
        cases = self.made(request.session, everywhere=True)
        chosen = self.choose(cases, marks="not slow", seed=1)
        assert {cases[9], cases[19]} <= {*chosen}
        assert all(
            len([case for case in some if runs(case)]) < 5 for some in (cases[:10], cases[10:])
        )

    @pytest.mark.parametrize("seed", range(3))
    def test_by_day(self, cases: list[pytest.Item], seed: int) -> None:
        """All on the first server, and some on the second: of each guarantee at least one."""
        chosen = self.choose(cases, marks="not slow", seed=seed)
        assert chosen[:10] == cases[:10]
        assert chosen[-1] == cases[-1]
        assert len(chosen[10:-1]) in {2, 3}
        counted: Any = [value for case in chosen[10:] for _, value in case.user_properties]
        assert {every for every, _, _ in counted} == {4}
        assert sum(ran for _, ran, _ in counted) == len(chosen[10:])
        assert sum(seen for _, _, seen in counted) == 10

    def test_by_night(self, cases: list[pytest.Item]) -> None:
        """All that is chosen from by day: the chosen ones of that day are not known."""
        assert self.choose(cases, marks="slow", seed=1) == cases[:10]
