"""What is read from a store is data: nothing in the product runs it, whatever it says (S17).

Whoever may write where a job's records are would otherwise run code in whoever reads them. Looked
at are both packages, all of them, also what is told to run only with engines or in tests.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("fsspec_commit", "stores/fsspec_commit_stores")
RUNS_TEXT = frozenset({"eval", "exec", "compile", "__import__"})
"""Functions that run what they are given. As a method, `compile` makes a pattern."""
MAKES_ANYTHING = frozenset(
    {"cloudpickle", "dill", "joblib", "jsonpickle", "marshal", "pickle", "shelve", "yaml"}
)
"""Modules whose formats say what is to be called."""
RUNS_MODULES = frozenset({"builtins", "code", "codeop", "imp", "runpy"})
READS_PICKLES = frozenset({"allow_pickle", "read_pickle", "eval", "exec"})
"""What libraries call it: arguments and methods."""

ALLOWED = {
    ("fsspec_commit/engines/dask/publisher.py", "pickle"): (
        "a function of ours, from a driver to the workers of its own cluster, which run whatever "
        "their drivers send; nobody writes it down"
    ),
    ("fsspec_commit/testing/store_contract/uploads.py", "pickle"): "what the test has just pickled",
    ("fsspec_commit/testing/committer_contract/attempts.py", "pickle"): (
        "what the test has just pickled"
    ),
    ("fsspec_commit/store/registry.py", "import_module"): (
        "an adapter, by the protocol of a user's URL: of our table, of an entry point of an "
        "installed package, or registered in this process; no record names a module"
    ),
    ("fsspec_commit/testing/__init__.py", "import_module"): "our own modules, by a table of them",
}
"""Where it is done all the same, and why that is no content of a store."""


def runs(tree: ast.AST) -> Iterator[str]:
    """By what a source could run what it has read: names, wherever they stand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if node.id in RUNS_TEXT:
                yield node.id
        elif isinstance(node, ast.Attribute):
            if node.attr in READS_PICKLES:
                yield node.attr
        elif isinstance(node, ast.keyword):
            if node.arg in READS_PICKLES:
                yield str(node.arg)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from _modules(node)
        elif isinstance(node, ast.Call):
            yield from _imports_by_text(node)


def _modules(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    inner = [alias.name for alias in node.names]
    named = [node.module or ""] if isinstance(node, ast.ImportFrom) else inner
    for name in {one.partition(".")[0].lstrip("_") for one in named}:
        if name in MAKES_ANYTHING | RUNS_MODULES:
            yield name


def _imports_by_text(node: ast.Call) -> Iterator[str]:
    """A module that is not named in the source itself."""
    called = node.func
    name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
    is_constant = bool(node.args) and isinstance(node.args[0], ast.Constant)
    if name == "import_module" and not is_constant:
        yield name


@pytest.mark.checkout
def test_nothing_runs_what_a_store_holds() -> None:
    found = {
        (path.relative_to(ROOT).as_posix().removeprefix("stores/"), what)
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for what in runs(ast.parse(path.read_text("utf-8")))
    }
    assert found == ALLOWED.keys()


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("eval(text)", "eval"),
        ("map(exec, texts)", "exec"),
        ("compile(text, '', 'exec')", "compile"),
        ("__import__(name)", "__import__"),
        ("import builtins\nbuiltins.eval(text)", "builtins"),
        ("import pickle as p\np.loads(data)", "pickle"),
        ("from pickle import loads", "pickle"),
        ("import _pickle", "pickle"),
        ("def f():\n    import yaml", "yaml"),
        ("import pandas as pd\npd.read_pickle(path)", "read_pickle"),
        ("np.load(file, allow_pickle=True)", "allow_pickle"),
        ("frame.eval(text)", "eval"),
        ("import importlib\nimportlib.import_module(record.module)", "import_module"),
        ("from importlib import import_module\nimport_module(f'a.{name}')", "import_module"),
        ("import runpy", "runpy"),
    ],
)
def test_whatever_would_is_noticed(source: str, what: str) -> None:
    assert what in set(runs(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "re.compile(text)",
        "importlib.import_module('json')",
        "import json\njson.loads(text)",
        "from fsspec_commit.code import compiled",
    ],
)
def test_what_does_not_is_left_alone(source: str) -> None:
    assert set(runs(ast.parse(source))) == set()
