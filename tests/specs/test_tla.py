"""The specification in TLA+, by TLC: it holds, and each of its rules is needed.

By day with the two configurations as they stand in `docs/spec`, and two more that are small; by
night with the others of `configurations.py`. Each must have exactly the states that were counted.
"""

from __future__ import annotations

import re
from importlib import import_module
from pkgutil import resolve_name
from typing import TYPE_CHECKING

import pytest

from tests.servers.plugin import available_or_skip
from tests.specs.configurations import BY_DAY, BY_NIGHT, STATES, WEAKER, checked
from tests.specs.model_checker import SPEC

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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


@pytest.mark.parametrize("name", BY_DAY)
def test_by_day_the_specification_holds(name: str, tmp_path: Path) -> None:
    found = available_or_skip(lambda: checked(BY_DAY[name], tmp_path, quickly=True))
    assert found.violated is None, found.output
    assert found.states == STATES[name]


@pytest.mark.slow
@pytest.mark.usefixtures("own_limit")
@pytest.mark.parametrize("name", BY_NIGHT)
def test_the_specification_holds(name: str, tmp_path: Path) -> None:
    found = available_or_skip(lambda: checked(BY_NIGHT[name], tmp_path))
    assert found.violated is None, found.output
    assert found.states == STATES[name]


@pytest.mark.slow
@pytest.mark.parametrize("rule", WEAKER)
def test_without_a_rule_a_promise_breaks(rule: str, tmp_path: Path) -> None:
    weaker = WEAKER[rule].configured
    found = available_or_skip(lambda: checked(weaker, tmp_path, weakened=rule, quickly=True))
    assert found.violated == WEAKER[rule].breaks, found.output


def test_the_states_of_every_configuration_are_counted() -> None:
    assert STATES.keys() == BY_DAY.keys() | BY_NIGHT.keys()


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
