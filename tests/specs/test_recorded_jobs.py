"""What two jobs do to each other in the simulator is a behaviour of `Destination.tla`."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.testing.simulation import run
from tests.protocol.planted import of_claims, of_commits, of_decisions
from tests.specs.recorded_jobs import (
    FAMILIES,
    NEWER,
    OLDER,
    PAIRS,
    begin_in_turn,
    draw,
    events_of,
    module_of,
)
from tests.specs.traces import accepted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.specs.recorded_jobs import Pair, Recorded

pytestmark = pytest.mark.checkout

BY_NIGHT = range(60)
BY_DAY = ("overwrite and append", "one key"), (*range(5), 13)  # With 13 a job claims again.
PLANTED: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "appends without a claim": (of_claims.appends_without_a_claim, "append and overwrite"),
    "lets one key pass twice": (of_claims.lets_one_key_pass_twice, "one key"),
    "passes whatever a name says": (of_claims.passes_whatever_a_name_says, "one partition"),
    "passes who has decided": (of_claims.passes_who_has_decided, "two overwrites"),
    "leaves the old files": (of_commits.leaves_the_old_files, "two overwrites"),
    "publishes before its decision": (of_commits.publishes_before_its_decision, "one partition"),
    "aborts without a decision": (of_decisions.aborts_without_a_decision, "two overwrites"),
}


def recorded(pair: Pair, seeds: Iterable[int]) -> dict[tuple[str, int], list[Recorded]]:
    """The events of the runs whose jobs begin in turn, of which there must be many."""
    drawn = list(product(FAMILIES, seeds))
    runs = {key: events_of(run(draw(key[1], key[0], pair))) for key in drawn}
    found = {key: events for key, events in runs.items() if begin_in_turn(events)}
    assert len(found) > len(drawn) * 0.8
    return found


def refused(
    folder: Path, pair: Pair, seeds: Iterable[int], *, quickly: bool = False
) -> list[tuple[str, int]]:
    """The runs that are no behaviours of the specification."""
    runs = recorded(pair, seeds)
    module = module_of([*runs.values()])
    taken = accepted(folder, "Destination", pair.constants(), module, quickly=quickly)
    return [one for number, one in enumerate(runs) if number not in taken]


@pytest.mark.parametrize("name", BY_DAY[0])
def test_p11_by_day_what_two_jobs_do_is_specified(name: str, tmp_path: Path) -> None:
    assert not refused(tmp_path, PAIRS[name], BY_DAY[1], quickly=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_p11_what_two_jobs_do_is_specified(name: str, tmp_path: Path) -> None:
    assert not refused(tmp_path, PAIRS[name], BY_NIGHT)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_p11_what_two_jobs_of_code_with_a_bug_do_is_not(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, pair = PLANTED[name]
    plant(monkeypatch)
    assert refused(tmp_path, PAIRS[pair], BY_NIGHT[:25])


def test_the_runs_of_a_day_have_each_step_of_a_claim() -> None:
    """Else it would be left to the night whether waits and fences are specified."""
    seen = set[str]()
    for name in BY_DAY[0]:
        for events in recorded(PAIRS[name], BY_DAY[1]).values():
            claims = [one.who for one in events if one.what == "create claim"]
            seen |= {"claims again"} if len(claims) > len({*claims}) else set()
            seen |= {step_of(one) for one in events}
    assert seen >= {"claims again", "is fenced", "withdraws", "decides", "is aborted by others"}


def step_of(event: Recorded) -> str:
    """What of a claim's life an event is."""
    if event.what == "delete claim":
        return "withdraws"
    if event.what != "create decision" or not event.changed:
        return ""
    own = {1: OLDER, 2: NEWER}[event.job]
    if event.who == own:
        return "decides"
    return "is fenced" if event.who in {OLDER, NEWER} else "is aborted by others"
