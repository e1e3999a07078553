"""P1 to P11 hold whatever users do, one call after the other, on each kind of store."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.flat.bucket import ALL_HABITS, make_bucket
from tests.protocol.planted.bugs import BUGS
from tests.protocol.public_api.machine import PublicApi
from tests.scenes.flat_place import FlatPlace
from tests.scenes.memory_place import MemoryPlace
from tests.scenes.places import LocalPlace

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from tests.protocol.faults import Place

WHERE = ["memory", "local", "versioned", "unversioned", "by path", "gcs", "gen2"]
BY_DAY, BY_NIGHT = 40, 200
"""Two hundred take a minute or two on a disk, which flushes each record."""
STEPS = 30
SEARCHES = 8
"""How often one is looked for that each search finds in most cases."""
SHRINKING_S = 60
"""Hypothesis takes five minutes; after so long a test is ended as hung, and says nothing."""
PLANTED = ["deletes before it publishes", "forgets its key", "says committed of an abort"]
"""The simulator finds them as well; here each breaks what another part of the truth knows."""


class Directory(LocalPlace):
    """A directory of its own on the disk."""

    def __init__(self) -> None:
        super().__init__(Path(mkdtemp(prefix="public-api-")) / "out")

    def remove(self) -> None:
        """Remove it."""
        rmtree(self.path.parent)


def machine_of(where: str) -> type[PublicApi]:
    def make(now: Callable[[], datetime]) -> Place:
        if where == "memory":
            return MemoryPlace()
        if where == "local":
            return Directory()
        return FlatPlace(make_bucket(ALL_HABITS[where], now=now))

    class Machine(PublicApi):
        keeps_names_apart = where != "by path"

    Machine.make = staticmethod(make)  # type: ignore[assignment]  # is called on the class
    return Machine


def search(where: str, number: int, *, runs: int, phases: tuple[Phase, ...]) -> None:
    """Do *runs* times what some number has drawn; raise the first failure, made small."""
    machine = seed(f"{where} {number}")(machine_of(where))
    how = settings(
        max_examples=runs,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=phases,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(machine, settings=how)


def search_often() -> None:
    """What is drawn changes a little with what the process has imported before."""
    for number in range(SEARCHES):
        search("memory", number, runs=BY_DAY, phases=(Phase.generate,))


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat at once: nobody is there who would be overloaded."""
    monkeypatch.setattr("fsspec_commit.effects.pacing.BACKOFF_S", 0.0001)
    monkeypatch.setattr("hypothesis.internal.conjecture.engine.MAX_SHRINKING_SECONDS", SHRINKING_S)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(
    "runs",
    [pytest.param(BY_DAY, id="some"), pytest.param(BY_NIGHT, id="many", marks=pytest.mark.slow)],
)
def test_p1_to_p11_hold_whatever_users_do(
    where: str, runs: int, request: pytest.FixtureRequest
) -> None:
    """By night something else each time."""
    night = int(request.config.getoption("sweep_seed", 0) or 0)
    number = night if runs == BY_NIGHT else 0
    search(where, number, runs=runs, phases=(Phase.generate, Phase.shrink))


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", PLANTED)
def test_it_finds_planted_bugs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS[name].plant(monkeypatch)
    with pytest.raises(AssertionError, match=r"^P[0-9]"):
        search_often()
