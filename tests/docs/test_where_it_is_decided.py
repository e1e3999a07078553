"""The pages that name functions of the code name such as exist, and leave out no rule."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[2]
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text("utf-8")
DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef)
CONTRIBUTING = (ROOT / "docs" / "CONTRIBUTING.md").read_text("utf-8")


def section(page: str, title: str) -> str:
    return page.partition(f"## {title}\n")[2].partition("\n## ")[0]


def rows() -> list[tuple[str, str]]:
    """What each row is about, and who decides it; without headings and rules."""
    found = re.findall(
        r"^\| (.+) \| (.+) \|$", section(PROTOCOL, "Where it is decided"), re.MULTILINE
    )
    return [(about, who) for about, who in found if who not in {"decided by", "answered by"}]


def test_who_decides_is_there() -> None:
    for about, who in rows():
        names = re.findall(r"`([a-z_]+(?:\.\w+)+)`", who.replace(".py`", "`"))
        assert names or "fsspec_commit_stores/" in who, about
        for name in names:
            assert resolve_name(f"fsspec_commit.{name}"), name


def test_every_rule_says_who_decides_it() -> None:
    rules = re.findall(r"^(\S.*)\n: ", section(PROTOCOL, "Why each rule is there"), re.MULTILINE)
    assert len(rules) > 20
    assert [about for about, _ in rows() if about in rules] == rules


def test_the_way_down_leads_past_what_is_there() -> None:
    way = section(CONTRIBUTING, "From `Job.commit` to a rename on GCS")
    steps = re.findall(r"^\d+\. `([\w/]+)\.py`, `([\w.]+)`", way, re.MULTILINE)
    assert len(steps) == len(re.findall(r"^\d+\. ", way, re.MULTILINE)) > 0
    for file, function in steps:
        top = ROOT if file.startswith("stores/") else ROOT / "fsspec_commit"
        tree = ast.parse((top / f"{file}.py").read_text("utf-8"))
        assert function in _defined(tree), f"{file}: {function}"


def _defined(tree: ast.Module) -> Iterator[str]:
    """Functions, and methods by their class; an adapter is not loaded for their sake."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{one.name}" for one in node.body if isinstance(one, DEFINED))
        elif isinstance(node, DEFINED):
            yield node.name
