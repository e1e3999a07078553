"""Mutants: the functions of three packages, each with one small change, by names that last.

A name says where the change is and what is changed, not in which line, so that it stays the same
while nothing near it is changed: ``protocol/commit.py:commit_job: other is None -> other is not
None``.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import fsspec_commit
from tests.mutation.changes import Change, changes

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(fsspec_commit.__file__).parent
PACKAGES = ("protocol", "effects", "committers")
_TEXT_MAX = 80


@dataclass(frozen=True)
class Mutant:
    """One function with one change.

    Attributes:
        name: Where it is and what it changes.
        kind: What kind of change it is.
        module: The file, below the package: ``"protocol/commit.py"``.
        function: The function, as it is called in the file: ``"SignOfLife.end"``.
        number: Which of the changes of the function it is.
        lines: The lines of what is changed.
    """

    name: str
    kind: str
    module: str
    function: str
    number: int
    lines: range

    @property
    def path(self) -> Path:
        """The file."""
        return ROOT / self.module


def modules() -> list[str]:
    """The files whose functions are changed."""
    return [
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    ]


def mutants_of(module: str) -> list[Mutant]:
    """All mutants of a file, in the order of its source."""
    found: dict[str, Mutant] = {}
    for function, tree in _functions(ast.parse((ROOT / module).read_text("utf-8"))):
        for number, change in enumerate(changes(tree)):
            name = f"{module}:{function}: {_shown(change)}"
            name = _unused(name, found)
            lines = range(change.node.lineno, (change.node.end_lineno or 0) + 1)  # type: ignore[attr-defined]  # statements and expressions have a place
            found[name] = Mutant(name, change.kind, module, function, number, lines)
    return [*found.values()]


def all_mutants() -> list[Mutant]:
    """All mutants of the three packages."""
    return [mutant for module in modules() for mutant in mutants_of(module)]


def code_of(mutant: Mutant) -> CodeType:
    """The changed function, compiled."""
    tree = ast.parse(mutant.path.read_text("utf-8"))
    function = dict(_functions(tree))[mutant.function]
    [*changes(function)][mutant.number].make()
    module = compile(ast.fix_missing_locations(tree), str(mutant.path), "exec")
    line = min([function.lineno, *(one.lineno for one in function.decorator_list)])
    return next(code for code in _codes(module) if code.co_firstlineno == line)


def live_function(mutant: Mutant) -> FunctionType:
    """The function of this process that is to run the changed code."""
    name = f"{fsspec_commit.__name__}.{mutant.module.removesuffix('.py').replace('/', '.')}"
    name = name.removesuffix(".__init__")
    found: Any = sys.modules.get(name) or import_module(name)
    for part in mutant.function.split("."):
        found = vars(found)[part]
        found = getattr(found, "fget", None) or getattr(found, "__func__", found)
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    assert isinstance(found, FunctionType), f"{mutant.function}() is {found!r}"
    return found


def _functions(
    tree: ast.Module | ast.ClassDef, within: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{within}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{within}{node.name}.")


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _shown(change: Change) -> str:
    if change.kind in {"finally", "once"}:
        return f"{_short(change.was)} [{change.kind}]"
    if isinstance(change.node, ast.Call) and change.kind != "negated":
        return f"{_short(ast.unparse(change.node.func))}(…) [{change.kind}]"
    was, becomes = _short(change.was), _short(change.becomes)
    if was == becomes:  # They differ where it is cut off.
        becomes = _short(change.becomes[len(_common(change.was, change.becomes)) :])
        return f"{was} [{change.kind}: …{becomes}]"
    return f"{was} -> {becomes}"


def _common(one: str, other: str) -> str:
    length = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return one[: max(length - 10, 0)]


def _short(text: str) -> str:
    return text if len(text) <= _TEXT_MAX else f"{text[: _TEXT_MAX - 1]}…"


def _unused(name: str, taken: dict[str, Mutant]) -> str:
    found, number = name, 2
    while found in taken:
        found, number = f"{name} ({number})", number + 1
    return found
