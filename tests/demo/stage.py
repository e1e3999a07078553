"""How the demo is told: headings, commands as typed, what readers see, a check of every claim."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.compute as pc
import pyarrow.dataset as ds
from fsspec.callbacks import Callback
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

import fsspec_commit as fc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).parents[2]
console = Console(highlight=False, emoji=False)


def shown(path: Path) -> str:
    """A path as one types it in the checkout."""
    return os.fspath(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


@dataclass(frozen=True)
class View:
    """A dataset as one reader finds it."""

    files: int
    rows: int
    miles: int
    digest: str

    @classmethod
    def listed(cls, destination: Path) -> View:
        """By listing the directory, as pyarrow does by itself."""
        return cls.of(ds.dataset(destination, format="parquet").files)

    @classmethod
    def of(cls, paths: Iterable[str]) -> View:
        """Of exactly these files: their rows, and their bytes."""
        ordered = sorted(paths)
        miles = ds.dataset(ordered, format="parquet").to_table(columns=["distance"])["distance"]
        digest = sha256(b"".join(sha256(Path(path).read_bytes()).digest() for path in ordered))
        return cls(len(ordered), len(miles), pc.sum(miles).as_py(), digest.hexdigest()[:8])


class Story:
    """The demo as it is told.

    Attributes:
        wrong: The claims that did not hold.
    """

    def __init__(self) -> None:
        self.wrong: list[str] = []

    def heading(self, title: str) -> None:
        """A new chapter."""
        console.print()
        console.rule(f"[bold]{title}", align="left")

    def say(self, text: str) -> None:
        """What happens, and why."""
        console.print(f"\n{text}", style="italic", markup=False)

    def claim(self, text: str, *, holds: bool) -> None:
        """What is to be seen, said after having looked."""
        style, mark = ("green", "✓") if holds else ("bold red", "✗ NOT SO:")
        console.print(f"  {mark} {text}", style=style, markup=False)
        if not holds and text not in self.wrong:
            self.wrong.append(text)

    def result(self, result: fc.CommitResult) -> None:
        """What a commit returned."""
        console.print(f"\n{result!r}", style="bold", markup=False, soft_wrap=True)

    def command(
        self, *arguments: str, refused: bool = False, variables: Mapping[str, str] | None = None
    ) -> None:
        """Run the command as anybody would, in their shell, where these variables are set."""
        program = Path(sys.executable).with_name("fsspec-commit")
        console.print(f"\n$ fsspec-commit {shlex.join(arguments)}", style="bold", soft_wrap=True)
        sys.stdout.flush()
        ended = subprocess.run(
            [program, *arguments],
            cwd=ROOT,
            env={**os.environ, **(variables or {})},
            stderr=subprocess.STDOUT,
            check=False,
        )
        if (ended.returncode != 0) != refused:
            self.claim(f"fsspec-commit {arguments[0]} does its work", holds=False)

    def views(self, destination: Path, known: Mapping[str, View]) -> tuple[View, View | None]:
        """What readers find: who lists the directory, and who asks what is committed."""
        listed = View.listed(destination)
        # Not there in every build of the first release; then nothing is claimed about it.
        committed_files = getattr(fc, "committed_files", None)
        asked = View.of(committed_files(destination)) if committed_files else None
        frame: Any = pd.read_parquet(destination, columns=["distance"])
        table = Table("reader", "files", "rows", "miles", "SHA-256", box=box.SIMPLE_HEAD)
        if known:
            table.add_column("sees")
        for reader, view in ("pyarrow, lists", listed), ("committed_files", asked):
            if view is None:
                continue
            sees = next((name for name, one in known.items() if one == view), "a mixture")
            row = (reader, f"{view.files}", f"{view.rows:,}", f"{view.miles:,}", view.digest)
            table.add_row(*row, *([sees] if known else []))
        table.add_row("pandas, lists", "", f"{len(frame):,}", f"{frame['distance'].sum():,}")
        console.print(table)
        return listed, asked


def bars() -> Progress:
    """Rows written, files published."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=console)


class PublishingBar(Callback):  # type: ignore[misc]  # fsspec ships no types
    """A bar that moves while files are published."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress
        self._bar = progress.add_task("files published", total=None)

    def set_size(self, size: int) -> None:
        """Publishing begins."""
        self._progress.update(self._bar, total=size)

    def relative_update(self, inc: int = 1) -> None:
        """So many more files are in place."""
        self._progress.advance(self._bar, inc)


def kill(destination: Path, dies: str) -> tuple[str, int]:
    """Start the victim, wait until it stands where it is to die, and kill it.

    Returns:
        What it said last, and how it ended: ``-9`` is SIGKILL.
    """
    with subprocess.Popen(
        [sys.executable, "-m", "tests.demo.victim", os.fspath(destination), dies],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as victim:
        assert victim.stdout is not None
        said = victim.stdout.readline().strip()
        victim.kill()
        return said, victim.wait()
