"""The command, run in this process as its entry point runs it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """``command("jobs", path)`` runs ``fsspec-commit jobs <path>``, its output on pipes."""

    def run(*arguments: object) -> Ran:
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        told = capfd.readouterr()
        assert isinstance(left.value.code, int)
        return Ran(int(left.value.code), told.out, told.err)

    return run
