"""The bars are told what happens; nobody sees them who does not watch."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fsspec_commit.cli.progress import Publishing, bars

if TYPE_CHECKING:
    import pytest


def test_nothing_is_shown_to_nobody(capfd: pytest.CaptureFixture[str]) -> None:
    with bars(shown=False) as seen:
        seen.read(1000)
        seen.publishing(3)
        seen.published(1)
    assert capfd.readouterr() == ("", "")


def test_fsspecs_callback_moves_the_bars() -> None:
    class Seen:
        told: list[tuple[str, int]]

        def __init__(self) -> None:
            self.told = []

        def read(self, rows: int) -> None:
            self.told.append(("read", rows))

        def publishing(self, files: int) -> None:
            self.told.append(("publishing", files))

        def published(self, files: int) -> None:
            self.told.append(("published", files))

    seen = Seen()
    callback = Publishing(seen, lambda: seen.told.append(("decided", 0)))
    callback.set_size(7)
    callback.relative_update(3)
    callback.relative_update()
    assert seen.told == [
        ("decided", 0),
        ("publishing", 7),
        ("published", 3),
        ("published", 1),
    ]


def test_rich_is_loaded_for_watchers_only() -> None:
    before = set(sys.modules)
    with bars(shown=False):
        assert not {"rich.progress"} & (set(sys.modules) - before)
