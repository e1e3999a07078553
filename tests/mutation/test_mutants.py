"""Mutants of the protocol: their names are theirs alone, they run, and the tests kill most.

A mutant is the product with one small change: a condition negated, a statement left out. All are
tried by ``python -m tests.mutation.measure``; a night tries some, others each time.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.testing.simulation import run
from tests.mutation.measure import results_in
from tests.mutation.mutants import code_of, live_function, modules, mutants_of
from tests.mutation.rate import Rate, known_and_killed, rate_of
from tests.mutation.record import measured
from tests.mutation.survivors import NO_DIFFERENCE, SURVIVORS
from tests.protocol.simulation.scenes import plan_of

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
SHARES = 5
LEARNS_S = 1_000
NIGHT_S = 420
LIMIT_S = 2_700
"""For what hangs: it takes minutes more to collect the tests, and to end what was begun in time."""
KILLED_MIN = 0.9

PLANS = [
    plan
    for family in ("disk", "gcs", "s3-versioned")
    for scene in ("append", "overwrite", "resumed")
    if (plan := plan_of(scene, family))
]


def test_there_is_a_mutant_of_each_step() -> None:
    names = {mutant.name for mutant in mutants_of("protocol/commit.py")}
    for step in (
        "_prepare: await refuse_endangered(job, held, new) -> nothing",
        "commit_job: other is None -> other is not None",
        "commit_job: await alive.end() -> nothing",
        "finish_job: await is_over(job) -> not await is_over(job)",
    ):
        assert f"protocol/commit.py:{step}" in names


@pytest.mark.parametrize("module", modules()[::7])
def test_mutants_take_the_place_of_functions(module: str) -> None:
    """Each by the same name in the same file, and as many as there are names."""
    mutants = mutants_of(module)
    assert len({mutant.name for mutant in mutants}) == len(mutants)
    for mutant in mutants[::20]:
        code, real = code_of(mutant), live_function(mutant).__code__
        is_other = code.co_code != real.co_code or code.co_consts != real.co_consts
        assert is_other or code.co_names != real.co_names
        assert (code.co_name, code.co_freevars) == (real.co_name, real.co_freevars)


BY_DAY = (
    ("protocol/commit.py", "_finish: published is None -> published is not None"),
    (
        "protocol/commit.py",
        (
            "_finish: warnings += await delete_replaced(job, published, replaced, stood, elsewhere)"
            " -> nothing"
        ),
    ),
    ("protocol/decision.py", "_confirmed: ours is None -> ours is not None"),
    ("committers/renaming.py", "RenamingCommitter.publish: not arrived -> arrived"),
    (
        "effects/confirmed/store.py",
        (
            "ConfirmedStore.delete: "
            "await confirm(Effect(apply, observe, 'deleting', path), self._pace) -> nothing"
        ),
    ),
)


@pytest.mark.unforeseen
@pytest.mark.parametrize(("module", "change"), BY_DAY, ids=map(":".join, BY_DAY))
def test_the_simulator_kills_them(
    module: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant = next(one for one in mutants_of(module) if one.name == f"{module}:{change}")
    monkeypatch.setattr(live_function(mutant), "__code__", code_of(mutant))
    assert any(run(plan).violations for plan in PLANS)


@pytest.mark.checkout
def test_what_is_known_to_survive_is_a_mutant() -> None:
    known = [*NO_DIFFERENCE, *SURVIVORS]
    named = {
        mutant.name
        for module in {name.partition(":")[0] for name in known}
        for mutant in mutants_of(module)
    }
    assert not set(known) - named
    assert not NO_DIFFERENCE.keys() & SURVIVORS.keys()


def test_a_small_sample_says_little() -> None:
    assert Rate(7, 10).least < 0.4 < KILLED_MIN > Rate(7, 10).most - 0.01
    assert Rate(700, 1_000).most < 0.75
    assert (Rate(0, 0).least, Rate(0, 0).most) == (0, 1)
    undecided = Rate(700, 1_000, 200)
    assert (undecided.alive, undecided.least) == (100, Rate(700, 1_000).least)
    assert undecided.most == Rate(900, 1_000).most


def test_the_last_measurement_shows_that_nine_of_ten_are_killed() -> None:
    """Those that are known to survive count as alive here, and undecided ones as well."""
    assert measured().rate.least >= KILLED_MIN


@pytest.mark.checkout
def test_what_survives_tests_of_which_nothing_is_known_is_undecided(tmp_path: Path) -> None:
    """None of these tests was asked what it reaches. Each undecided one is recorded by its name."""
    name = "effects/confirmed/reads.py:StoreReads.stat: "
    program = [sys.executable, "-m", "tests.mutation.measure", name]
    tests = ["--tests", "tests/unit/effects/test_reads.py", "--learn-within=0"]
    to, file = tmp_path / "results", tmp_path / "measured.json"
    record = [f"--to={to}", "--record", f"--record-in={file}"]
    subprocess.run([*program, *tests, *record], cwd=ROOT, capture_output=True, check=True)
    rate, recorded = rate_of(results_in(to)), measured(file)
    assert 0 < rate.undecided == rate.tried
    assert (recorded.rate, recorded.mutants, recorded.names_alive) == (rate, rate.tried, [])
    names = [one.name for one in mutants_of("effects/confirmed/reads.py") if name in one.name]
    assert recorded.names_undecided == sorted(names)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.checkout
@pytest.mark.usefixtures("own_limit")
@pytest.mark.parametrize("share", range(SHARES), ids="part-{}".format)  # Each in another night.
def test_most_are_killed_and_those_that_survive_are_known_to(
    share: int,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    say_what_ran: Callable[[str], None],
) -> None:
    """As many of a share as there is time for, and it must be possible that nine of ten of all are.

    What makes no difference does not count. What is known to survive is tried first, and must do
    so; on a busy machine there may be no time for more. Before that it takes some minutes to learn
    what the tests reach, and there may be no time to ask all of them: then nothing is known of what
    survives, and the run says how many were asked.
    """
    to, seed = tmp_path / "results", request.config.option.sweep_seed
    program = [sys.executable, "-m", "tests.mutation.measure", "--workers=1", f"--to={to}"]
    which = ["--known-first", f"--share={share}/{SHARES}", f"--seed={seed}"]
    done = subprocess.run(
        [*program, *which, f"--learn-within={LEARNS_S}", f"--within={NIGHT_S}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = results_in(to)
    rate = rate_of({name: result for name, result in results.items() if name not in SURVIVORS})
    asked = done.stdout.partition(",")[0]
    say_what_ran(f"{rate.killed} of {rate.tried} mutants killed, {rate.alive} alive, by {asked}")
    known = known_and_killed(results)
    assert not known, f"take them out of survivors.py, if the test fails by itself: {known}"
    assert results, "none was tried in that time"
    assert rate.most >= KILLED_MIN, done.stdout
