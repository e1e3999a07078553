"""The specification in TLA+, by TLC: it holds, and each of its rules is needed.

A configuration is one of `docs/spec`, with other constants. By day the two as they stand there; by
night those below, of which each must have so many states: with fewer it has lost what it is about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import resolve_name
from typing import TYPE_CHECKING

import pytest

from tests.servers.plugin import available_or_skip
from tests.specs.model_checker import SPEC, check

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tests.specs.model_checker import Checked

pytestmark = pytest.mark.checkout

MODULES = {name: (SPEC / f"{name}.tla").read_text("utf-8") for name in ("Job", "Destination")}
README = (SPEC / "README.md").read_text("utf-8")
# What committers do each in their own way: by an attempt's output, or by the committer itself.
OF_COMMITTERS = {
    "WriteFile": ("Attempt", "writer"),
    "SealAttempt": ("Attempt", "seal"),
    "DiscardAttempt": ("Attempt", "discard"),
    "PrepareMarker": ("Committer", "prepare_success"),
    "PublishFile": ("Committer", "publish"),
    "PublishMarker": ("Committer", "publish_success"),
}
# Actions that are others put together.
GROUPS = frozenset({"Next", "Step", "Settle", "TaskStep", "Drive", "Finish"})


@dataclass(frozen=True)
class Configured:
    """One configuration: what is otherwise than in the file of its module.

    Attributes:
        module: The module.
        constants: The constants that differ.
        states: How many distinct states it has at least.
        liveness: The property that is checked instead of the invariants.
    """

    module: str
    constants: Mapping[str, str] = field(default_factory=dict)
    states: int = 0
    liveness: str | None = None


@dataclass(frozen=True)
class Weaker:
    """A configuration that is enough to show what a rule is for."""

    breaks: str
    configured: Configured


def job(*different: Mapping[str, str], states: int = 0, liveness: str | None = None) -> Configured:
    return Configured("Job", _together(different), states, liveness)


def jobs(*different: Mapping[str, str], states: int = 0, liveness: str | None = None) -> Configured:
    return Configured("Destination", _together(different), states, liveness)


def _together(different: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {name: value for constants in different for name, value in constants.items()}


V1 = {"Committer": '"v1"', "Directories": "TRUE"}
GCS = {"Committer": '"manifest"'}
DRIVER = {"Aborters": "{}"}
RESUMED = {"Resumers": '{"resumer"}', "Aborters": "{}"}
BOTH = {"Resumers": '{"resumer"}'}
OPERATOR = {**DRIVER, "Operators": '{"operator"}'}
TWO = {"Appends": "{}", "Overwrites": "{1, 2}", "Second": "{}"}
ALIVE = {**TWO, "Recovers": "FALSE"}
NONE = {"Appends": "{}", "Overwrites": "{}", "Replaces": "{}", "Errors": "{}"}
THREE = {**NONE, "Jobs": "{1, 2, 3}", "First": "{1, 2, 3}", "Second": "{}", "Rounds": "1"}
SETTLED, NO_WAIT = "EventuallySettled", "P8NobodyWaitsForEver"

# A minute or two each, where nothing else runs.
OF_THREE = {
    "an overwrite between appends": jobs(
        THREE, {"Appends": "{1, 3}", "Overwrites": "{2}"}, states=919_000
    ),
    "one between two that refuse what is there": jobs(
        THREE, {"Errors": "{1, 3}", "Overwrites": "{2}"}, states=512_000
    ),
    "each replaces one partition, and one of them two": jobs(
        THREE, {"Replaces": "{1, 2, 3}", "First": "{1, 2}", "Second": "{2, 3}"}, states=1_282_000
    ),
}
BY_DAY = {"one job": job(states=1_000), "two jobs": jobs(states=9_000)}
BY_NIGHT = {
    "resumed and aborted": job(BOTH, states=17_000),
    "v1, two tries": job(BOTH, V1, {"Tries": "{1, 2}"}, states=39_000),
    "v1, a later job": job(BOTH, V1, {"LaterJob": "TRUE", "Losses": "1"}, states=84_000),
    "magic, a later job": job(BOTH, {"LaterJob": "TRUE", "Losses": "1"}, states=497_000),
    "settled, magic": job(OPERATOR, states=2_900, liveness=SETTLED),
    "settled, v1": job(OPERATOR, V1, states=700, liveness=SETTLED),
    "two jobs, one with a twin": jobs(TWO, {"Twins": "{1}", "GivesUp": "TRUE"}, states=395_000),
    "nobody waits for ever": jobs(ALIVE, states=480, liveness=NO_WAIT),
    **{f"three jobs, {one}": found for one, found in OF_THREE.items()},
}
WEAKER = {
    "A decision is exclusive": Weaker("P7DecidedOnce", job()),
    "job.json is read after the decision": Weaker("P5Abortable", job()),
    "A decision met counts only if job.json stands after it": Weaker(
        "P7DecidedOnce", job({"Drivers": '{"driver", "twin"}'})
    ),
    "job.json is created by one request, never by a second": Weaker(
        "P7DecidedOnce", job({"Losses": "1"})
    ),
    "job.json goes first when an area is removed": Weaker("P7DecidedOnce", job()),
    "The decision is repeated until some record stands": Weaker(
        "P5Abortable", job(DRIVER, {"Losses": "1"})
    ),
    "Each file is published by a step that consumes its source": Weaker(
        "P6Continuity", job(RESUMED, GCS, {"LaterJob": "TRUE"})
    ),
    "Replaced files are listed before the decision, with tokens": Weaker(
        "P6Continuity", job(RESUMED, {"LaterJob": "TRUE"})
    ),
    "The marker is published by a step that consumes its source": Weaker(
        "P6Continuity", job(RESUMED, {"LaterJob": "TRUE"})
    ),
    "The stale _SUCCESS goes before the first file": Weaker("MarkerMeansComplete", job(DRIVER)),
    "Old files go when every new one is in place": Weaker("P9NothingLost", job(DRIVER)),
    "The epoch changes before the area goes": Weaker("EpochBeforeEnd", job(DRIVER)),
    "An abort decides before it removes": Weaker("EpochBeforeEnd", job()),
    "Without its message an attempt never happened": Weaker("P3Chosen", job(DRIVER)),
    "Who has begun to commit discards nothing that may be chosen": Weaker(
        "P3Chosen", job(DRIVER, {"Collect": '"store"'})
    ),
    "A file is published on condition of its token": Weaker(
        "P2Exclusive", job(DRIVER, GCS, {"LateTries": "{1}"})
    ),
    "v1 takes a committed attempt out of the reach of late writers": Weaker(
        "P8Resumable", job(DRIVER, V1, {"LateTries": "{1}"})
    ),
    "What is left of a job that is over is removed": Weaker(
        "liveness", job(OPERATOR, liveness=SETTLED)
    ),
    "Claim first, look second": Weaker("P11Serial", jobs(TWO)),
    "An append claims too": Weaker("P11Serial", jobs({"Second": "{2}"})),
    "A committed job is waited for until it has finished": Weaker("P11Serial", jobs(TWO)),
    "A newer job is fenced, an older one is waited for": Weaker("P11Serial", jobs(TWO)),
    "A claim's nonce is never used again": Weaker(
        "P11Serial", jobs(TWO, {"Losses": "1", "Twins": "{1}", "GivesUp": "TRUE"})
    ),
    "A key that has committed is skipped": Weaker("P7OneOfAKey", jobs(TWO, {"SameKey": "{1, 2}"})),
    "Jobs with one key conflict": Weaker(
        "P7OneOfAKey",
        jobs({"SameKey": "{1, 2}", "Appends": "{1, 2}", "Overwrites": "{}", "Second": "{}"}),
    ),
    "The older job goes first": Weaker("liveness", jobs(ALIVE, liveness=NO_WAIT)),
}


def checked(configured: Configured, folder: Path, *, weakened: str = "", quickly: bool) -> Checked:
    constants = {**configured.constants, "Weakened": f'{{"{weakened}"}}' if weakened else "{}"}
    return available_or_skip(
        lambda: check(
            folder,
            configured.module,
            constants=constants,
            liveness=configured.liveness,
            quickly=quickly,
        )
    )


@pytest.mark.parametrize("name", BY_DAY)
def test_by_day_the_specification_holds(name: str, tmp_path: Path) -> None:
    found = checked(BY_DAY[name], tmp_path, quickly=True)
    assert found.violated is None, found.output
    assert found.states >= BY_DAY[name].states


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NIGHT)
def test_the_specification_holds(name: str, tmp_path: Path) -> None:
    found = checked(BY_NIGHT[name], tmp_path, quickly=False)
    assert found.violated is None, found.output
    assert found.states >= BY_NIGHT[name].states


@pytest.mark.slow
@pytest.mark.parametrize("rule", WEAKER)
def test_without_a_rule_a_promise_breaks(rule: str, tmp_path: Path) -> None:
    found = checked(WEAKER[rule].configured, tmp_path, weakened=rule, quickly=True)
    assert found.violated == WEAKER[rule].breaks, found.output


def test_every_rule_is_left_out_in_turn() -> None:
    named = [rule for text in MODULES.values() for rule in re.findall(r'Rule\("(.+?)"\)', text)]
    assert set(named) == set(WEAKER)


def test_rules_have_the_words_of_the_page_about_the_protocol() -> None:
    """A dozen of them; the others are too plain to be rules there."""
    page = (SPEC.parent / "protocol.md").read_text("utf-8")
    rules = re.findall(r"^\| (.+) \| `", page.replace("`job.json`", "job.json"), re.MULTILINE)
    assert len(set(WEAKER) & {rule.replace("`_SUCCESS`", "_SUCCESS") for rule in rules}) >= 12


@pytest.mark.parametrize("module", MODULES)
def test_every_action_names_the_functions_that_do_it(module: str) -> None:
    rows = functions_of(module)
    assert [*rows] == sorted(set(actions(module)), key=[*rows].index)
    for action, names in rows.items():
        assert names, action
        for name in names:
            assert resolve_name(f"fsspec_commit.{name}"), name


@pytest.mark.parametrize("committer", ["v1", "manifest", "magic"])
def test_what_each_committer_does_is_named(committer: str) -> None:
    """Also where one of them gets a function of its own that others had in common."""
    rows = functions_of("Job")
    module = import_module(f"fsspec_commit.committers.{committer}")
    for action, (side, name) in OF_COMMITTERS.items():
        done = getattr(getattr(module, f"{committer.capitalize()}{side}"), name)
        assert done in [resolve_name(f"fsspec_commit.{one}") for one in rows[action]], action


def test_what_is_said_to_be_elsewhere_is_there() -> None:
    elsewhere = set(re.findall(r"`(tests/[\w/]+\.py)`", README))
    assert len(elsewhere) > 5
    assert [path for path in sorted(elsewhere) if not (SPEC.parents[1] / path).is_file()] == []


def functions_of(module: str) -> dict[str, list[str]]:
    """The functions of each action, as the table says."""
    _, _, rest = README.partition(f"### {module}\n")
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| .*?\|$", rest.partition("\n#")[0], re.MULTILINE)
    return {action: re.findall(r"`([\w.]+)`", functions) for action, functions in rows}


def actions(module: str) -> Iterator[str]:
    """Every action of `Next`, by its name."""
    # A definition ends where the next one begins.
    found = re.split(r"^(\w+)(?:\([\w, ]+\))? ==", MODULES[module], flags=re.MULTILINE)
    bodies = dict(zip(found[1::2], found[2::2], strict=True))
    waiting = ["Next"]
    while waiting:
        body = re.sub(r"\(\*.*?\*\)|\\in \w+", "", bodies[waiting.pop()], flags=re.DOTALL)
        for name in re.findall(r"[A-Z]\w+", body):
            if name in GROUPS:
                waiting.append(name)
            elif name in bodies and name != "Counts":
                yield name
