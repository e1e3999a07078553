"""The page of the API lists every kind of refused request, and no other."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit import testing

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


def test_no_sentence_is_taken_for_a_type() -> None:
    """Napoleon takes what stands before the first colon of a ``Returns`` section for one."""
    modules = (fc, fc.dask, fc.spark, testing)
    public = [getattr(module, name) for module in modules for name in module.__all__]
    methods = [each for one in public if inspect.isclass(one) for each in vars(one).values()]
    wrong = [
        one.__qualname__
        for one in (*public, *methods)
        if inspect.isroutine(one)
        and re.search(r"Returns:\n +[^\n]*\w: ", inspect.getdoc(one) or "")
    ]
    assert wrong == []


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
