"""Rules about the source text that no linter states: size, names, and who may read a clock."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[2]
# Tests are read as code is, so the same limits hold for them.
SOURCES = sorted(
    path for root in ("fsspec_commit", "stores", "tests") for path in (ROOT / root).rglob("*.py")
)
LINES_OF_A_FILE = 400
LINES_OF_A_FUNCTION = 70
# Names that say nothing, under which anything may gather.
EMPTY_NAMES = frozenset({"base", "context", "handler", "helpers", "manager", "utils"})
# Code that the simulator runs in virtual time.
SIMULATED = ("protocol", "committers", "effects", "records", "store")
# What the simulator judges by: a mistake of the library must not be its own as well.
JUDGES = [
    "known",
    "markers",
    "model",
    "obstacles",
    "remains",
    "rules",
    "shown",
    "spellings",
    "told",
]
SIMULATION = "fsspec_commit.testing.simulation"


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported_modules(tree: ast.AST) -> set[str]:
    return {name.partition(".")[0] for name in imported(tree)}


def imported(tree: ast.AST) -> set[str]:
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return found


def test_there_is_source_to_check() -> None:
    assert SOURCES


def test_a_file_stays_under_400_lines() -> None:
    lengths = {shown(path): len(path.read_text("utf-8").splitlines()) for path in SOURCES}
    assert {name: n for name, n in lengths.items() if n >= LINES_OF_A_FILE} == {}


def test_a_function_stays_under_70_lines() -> None:
    too_long = {
        f"{shown(path)}:{node.lineno} {node.name}": length
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) >= LINES_OF_A_FUNCTION
    }
    assert too_long == {}


def test_no_module_has_an_empty_name() -> None:
    assert [shown(path) for path in SOURCES if EMPTY_NAMES & {path.stem, path.parent.name}] == []


def test_simulated_code_imports_no_clock_and_no_thread() -> None:
    offenders = {
        shown(path): forbidden
        for layer in SIMULATED
        for path in sorted((ROOT / "fsspec_commit" / layer).rglob("*.py"))
        if (
            forbidden := imported_modules(ast.parse(path.read_text("utf-8")))
            & {"threading", "time"}
        )
    }
    # A lock: threads of other jobs decode the same classes.
    assert offenders == {"fsspec_commit/store/json_forms.py": {"threading"}}


@pytest.mark.parametrize("name", JUDGES)
def test_the_simulators_model_calls_nothing_of_the_library(name: str) -> None:
    source = ROOT / "fsspec_commit/testing/simulation" / f"{name}.py"
    modules = imported(ast.parse(source.read_text("utf-8")))
    assert [one for one in modules if one.startswith("fsspec") and SIMULATION not in one] == []


def test_no_fixture_is_of_a_folder() -> None:
    """Folders of tests are no packages, and a fixture of one lives as long as the session."""
    offenders = [
        shown(path)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.keyword)
        and node.arg == "scope"
        and isinstance(node.value, ast.Constant)
        and node.value.value == "package"
    ]
    assert offenders == []
