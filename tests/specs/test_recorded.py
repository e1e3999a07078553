"""What the code does in the simulator is a behaviour of `docs/spec/Job.tla`; a bug is not."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.testing.simulation import FAMILIES, run
from tests.protocol.planted import of_attempts, of_commits, of_decisions, of_effects
from tests.specs.drawn_runs import ASKED, PLAIN, Asked, draw, kind_of
from tests.specs.recorded import events_of, module_of
from tests.specs.traces import accepted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.specs.drawn_runs import Kind
    from tests.specs.recorded import Recorded

pytestmark = pytest.mark.checkout

ACTORS = {
    "Drivers": '{"driver", "twin"}',
    "Resumers": '{"resumer"}',
    "Aborters": '{"aborter"}',
    "Cleaners": '{"cleaner"}',
    "Operators": '{"operator", "operator2"}',
}
BY_NIGHT = range(60)
# Among their faults: a marker that comes late, the last request of a resumer that is not answered.
BY_DAY = (0, 8, 22, 24)
KINDS = sorted({kind_of(family) for family in FAMILIES}, key=str)
# Of jobs that are asked for anything else; on each kind of store, by day, one of them.
OTHERWISE = [asked for asked in ASKED if asked != PLAIN]
# The 13th on MinIO leaves a pointer as the area goes, where another stood.
OTHERWISE_BY_DAY = (0, 1, 13)
# Beyond the first twenty, those of which the specification once refused one on some store: what a
# driver finds in place that overwrites exact names; a decision, or a record that all is in place,
# that is looked for when the area has gone.
OTHERWISE_BY_NIGHT = (*range(20), 56, 64, 77)
ONE_OF_EACH = [
    pytest.param(kind, asked, id=f"{kind}: {asked}")
    for kind, asked in zip(
        KINDS,
        (
            Asked("overwrite", "exact", collects=True),
            Asked("append", "unique", collects=True),
            Asked("append", "exact"),
            Asked("overwrite", "exact"),
        ),
        strict=True,
    )
]
PLANTED: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], tuple[str, ...]]] = {
    "publishes before its decision": (
        of_commits.publishes_before_its_decision,
        ("gcs", "gen2", "azure-flat"),
    ),
    "deletes before it publishes": (
        of_commits.deletes_before_it_publishes,
        ("s3-versioned", "gen2", "memory"),
    ),
    "leaves the old files": (of_commits.leaves_the_old_files, ("disk", "gen2", "minio")),
    "believes its decision in a void area": (
        of_decisions.believes_its_decision_in_a_void_area,
        ("gcs", "gen2", "s3-express"),
    ),
    "aborts without a decision": (
        of_decisions.aborts_without_a_decision,
        ("disk", "gen2", "disk-folding"),
    ),
    "cleans without a fence": (of_effects.cleans_without_a_fence, ("s3-versioned", "gen2")),
    "removes the decision first": (
        of_effects.removes_the_decision_first,
        ("s3-versioned", "gen2", "s3-express"),
    ),
}
OF_FAMILIES = [(name, family) for name, (_, families) in PLANTED.items() for family in families]


def behaviours(
    folder: Path, kind: Kind, runs: list[list[Recorded]], asked: Asked = PLAIN
) -> set[int]:
    """Which of *runs* are behaviours of the specification, by their numbers."""
    constants = {
        **ACTORS,
        **kind.constants(),
        **asked.constants(),
        "Tasks": "{1, 2}",
        "Tries": "{1, 2}",
        "Losses": "3",
    }
    quickly = len(runs) <= len(BY_DAY) * len(FAMILIES)
    return accepted(folder, "Job", constants, module_of(runs), quickly=quickly)


def refused(
    folder: Path, kind: Kind, families: Iterable[str], seeds: Iterable[int], asked: Asked = PLAIN
) -> list[tuple[str, int]]:
    """The runs of *families*, all of one kind, that are no behaviours of the specification."""
    drawn = list(product(families, seeds))
    runs = [events_of(run(draw(seed, family, asked))) for family, seed in drawn]
    taken = behaviours(folder, kind, runs, asked)
    return [one for number, one in enumerate(drawn) if number not in taken]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_by_day_what_the_code_does_is_specified(kind: Kind, tmp_path: Path) -> None:
    families = [family for family in FAMILIES if kind_of(family) == kind]
    assert not refused(tmp_path, kind, families, BY_DAY)


@pytest.mark.parametrize(("kind", "asked"), ONE_OF_EACH)
def test_by_day_what_the_code_does_is_specified_whatever_it_is_asked(
    kind: Kind, asked: Asked, tmp_path: Path
) -> None:
    families = [family for family in FAMILIES if kind_of(family) == kind]
    assert not refused(tmp_path, kind, families, OTHERWISE_BY_DAY, asked)


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_what_a_job_is_asked_is_done(asked: Asked) -> None:
    """What no run had done, the tests beside this one would accept unseen."""
    drawn = [draw(seed, family, asked) for family in ("disk", "gcs", "minio") for seed in range(3)]
    done = {event.what for plan in drawn for event in events_of(run(plan)) if event.changed}
    assert {"create decision", "publish", "create published"} <= done
    assert ("create pointer" in done) == asked.collects
    assert ("delete old" in done) == (asked.mode == "overwrite" and not asked.in_place)


@pytest.mark.slow
@pytest.mark.parametrize("asked", OTHERWISE, ids=str)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_the_code_does_is_specified_whatever_it_is_asked(
    kind: Kind, asked: Asked, tmp_path: Path
) -> None:
    families = [family for family in FAMILIES if kind_of(family) == kind]
    assert not refused(tmp_path, kind, families, OTHERWISE_BY_NIGHT, asked)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_what_the_code_does_is_specified(family: str, tmp_path: Path) -> None:
    assert not refused(tmp_path, kind_of(family), [family], BY_NIGHT)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "family"), OF_FAMILIES)
def test_what_code_with_a_bug_does_is_not(
    name: str, family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, _ = PLANTED[name]
    plant(monkeypatch)
    assert refused(tmp_path, kind_of(family), [family], BY_NIGHT[:25])


@pytest.mark.slow
@pytest.mark.parametrize("family", ["disk", "gcs", "minio"])
def test_a_pointer_that_is_written_over_is_not(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_attempts.chooses_the_last_attempt(monkeypatch)
    asked = Asked(collects=True)
    assert refused(tmp_path, kind_of(family), [family], OTHERWISE_BY_NIGHT, asked)
