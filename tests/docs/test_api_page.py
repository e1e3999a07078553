"""The page of the API lists every kind of refused request, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    path
    for folder in ("fsspec_commit", "stores")
    for path in sorted((ROOT / folder).rglob("*.py"))
    # Of the tests' own code, what refuses a user's command.
    if "testing" not in path.parts or path.name == "proving_ground.py"
]


def test_every_kind_is_listed() -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    table = page.partition("| concerning | kinds |")[2].partition("\n\n")[0]
    listed = re.findall(r"`([a-z_]+)`", table)
    assert sorted(listed) == sorted(set(listed))
    raised = {kind for path in SOURCES for kind in _kinds(ast.parse(path.read_text("utf-8")))}
    assert set(listed) == raised


def _kinds(tree: ast.Module) -> Iterator[str]:
    """What is passed as ``kind=``, and what it is by default."""
    for node in ast.walk(tree):
        given: list[ast.expr | None] = []
        if isinstance(node, ast.Call):
            given = [one.value for one in node.keywords if one.arg == "kind"]
        elif isinstance(node, ast.arguments):
            named = zip(node.kwonlyargs, node.kw_defaults, strict=True)
            given = [default for one, default in named if one.arg == "kind"]
        for value in given:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value
