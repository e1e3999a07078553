"""A secret among the options reaches no output and no file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.cli.command import command

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("how", [[], ["--json"], ["--debug"]])
@pytest.mark.parametrize("mode", ["append", "error"])
def test_no_run_shows_a_secret(mode: str, how: list[str], source: Path, destination: Path) -> None:
    for _ in range(2):
        ran = command(
            "write",
            source,
            destination,
            *("--mode", mode, "--storage-option", "secret=hunter2"),
            *("--source-storage-option", "token=hunter2", *how),
        )
        assert "hunter2" not in ran.out + ran.err
    for path in destination.rglob("*"):
        if path.is_file():
            assert b"hunter2" not in path.read_bytes()
