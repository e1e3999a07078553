"""The first release, installed beside this version in one process, under names of its own.

Its code is taken out of this repository's history. A process has one package of a name, so that in
the copy the packages have others, wherever they are imported or named for an import. What stands in
records, such as ``fsspec_commit.Job``, stays as it was.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from importlib import import_module
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.processes import ROOT

if TYPE_CHECKING:
    from pathlib import Path

COMMIT = "b174776"
"""The commit whose jobs are recorded: its formats are those of the first release."""
PREFIX = "first_"
_PACKAGES = {
    "fsspec_commit": ["fsspec_commit"],
    "stores/fsspec_commit_stores": ["stores/fsspec_commit_stores"],
    "tests": ["tests/integration/crashing_driver.py", "tests/integration/one_process.py"],
}
"""Where they are, and what of each is taken; of the tests, drivers that die in this process."""
_IMPORTED = re.compile(r"^(\s*(?:from|import) )(fsspec_commit(?:_stores)?|tests)\b", re.MULTILINE)
_IN_A_TABLE = re.compile(r'"(fsspec_commit_stores\.\w+:)')


def unpacked(to: Path, *paths: str) -> None:
    """Write code of the first release to a directory.

    A shallow clone has none: then the test is skipped, and so it is wherever `CI` is not set.
    """
    asked = subprocess.run(
        ["git", "-C", str(ROOT), "archive", COMMIT, *paths], capture_output=True, check=False
    )
    if asked.returncode:
        why = f"commit {COMMIT} is not in this checkout's history: {asked.stderr.decode()}"
        if os.environ.get("CI") and not _is_shallow():
            pytest.fail(why)
        pytest.skip(why)
    with tarfile.open(fileobj=BytesIO(asked.stdout)) as files:
        files.extractall(to, filter="data")


def _is_shallow() -> bool:
    """Whether this checkout was made without its history."""
    asked = ["git", "-C", str(ROOT), "rev-parse", "--is-shallow-repository"]
    return subprocess.run(asked, capture_output=True, check=False).stdout.strip() == b"true"


class FirstRelease:
    """Its packages, importable until it is closed.

    Args:
        at: An empty directory.
    """

    def __init__(self, at: Path) -> None:
        unpacked(at, *chain.from_iterable(_PACKAGES.values()))
        for where in map(at.joinpath, _PACKAGES):
            for path in where.rglob("*.py"):
                path.write_text(renamed(path.read_text("utf-8")), "utf-8")
            where.rename(at / f"{PREFIX}{where.name}")
        self._at = str(at)
        sys.path.append(self._at)

    def module(self, name: str) -> Any:
        """A module, by the name that it has in this version."""
        return import_module(f"{PREFIX}{name}")

    def close(self) -> None:
        """Forget it."""
        sys.path.remove(self._at)
        for name in [one for one in sys.modules if one.startswith(PREFIX)]:
            del sys.modules[name]


def renamed(source: str) -> str:
    """The source of a module of ours, with the names of the copy where it imports one."""
    return _IN_A_TABLE.sub(rf'"{PREFIX}\1', _IMPORTED.sub(rf"\1{PREFIX}\2", source))
