"""The command speaks of options: no message of the API that reaches its user is Python."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import fsspec_commit
from fsspec_commit.cli.wording import in_options

PACKAGE = Path(fsspec_commit.__file__).parent
# What the command has an option for, or does by itself.
OPTIONS = (
    *("mode", "names", "committer", "success", "durability", "partition_by", "partitions"),
    *("idempotency_key", "wait_s", "format", "max_rows_per_file", "older_than", "damaged"),
    *("storage_options", "single_writer", "delete_by_name", "accept_loss"),
)
PYTHON = re.compile(rf"\b(?:{'|'.join(OPTIONS)})=|\bcommit\(\)|timedelta")
# Files whose messages are for programs only: about what no command can be told so.
FOR_PROGRAMS = {"options.py", "suggestions.py", "partitioned.py", "location.py", "arrow.py"}
FOR_PROGRAMS |= {"local_tasks.py", "operations.py", "task.py"}


@pytest.mark.parametrize(
    ("told", "read"),
    [
        ('use names="unique"', "use --names unique"),
        (
            'use mode="append", "overwrite", "overwrite_partitions" or "ignore"',
            "use --mode append, overwrite, overwrite_partitions or ignore",
        ),
        ("committer='v2' is none of 'auto'", "--committer v2 is none of 'auto'"),
        ("say single_writer=True", "give --single-writer"),
        ("probe=False forbids to", "--no-probe forbids to"),
        ("say which jobs: older_than=timedelta(…), or", "say which jobs: --older-than, or"),
        ("pass it in storage_options= or through", "pass it in --storage-option or through"),
        (
            "finish with job.commit() or: fsspec-commit resume s3://b/t 9c1e",
            "finish with: fsspec-commit resume s3://b/t 9c1e",
        ),
        (
            "give storage_options key= and secret=, a profile=, or set AWS_ACCESS_KEY_ID",
            "give --storage-option key=… and secret=…, profile=, or set AWS_ACCESS_KEY_ID",
        ),
        ("partitions=[…] is for", "--partitions is for"),
        ("'day=2026-11-20/mode=x' exists", "'day=2026-11-20/mode=x' exists"),
    ],
)
def test_options_stand_for_arguments(told: str, read: str) -> None:
    assert in_options(told) == read


def texts() -> list[tuple[str, str]]:
    """Every text of the core that may be a message: no docstring, and whole where it is put
    together.
    """
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if {"cli", "testing"} & set(path.parts) or path.name in FOR_PROGRAMS:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        docstrings = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        parts = {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.JoinedStr)
            for part in node.values
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                pieces = (p.value if isinstance(p, ast.Constant) else "x" for p in node.values)
                found.append((path.name, "".join(map(str, pieces))))
            elif isinstance(node, ast.Constant) and id(node) not in docstrings | parts:
                found.append((path.name, str(node.value)))
    return found


def test_no_message_of_the_core_leaves_python_behind() -> None:
    known = [(where, text) for where, text in texts() if PYTHON.search(text)]
    assert len(known) > 10, "the messages are not found any more"
    left = {where: in_options(text) for where, text in known if PYTHON.search(in_options(text))}
    assert left == {}
