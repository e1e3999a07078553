"""The bar that moves while a job works, for somebody who watches; nobody else sees anything."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from fsspec.callbacks import Callback

if TYPE_CHECKING:
    from rich.progress import Progress


class Bars(Protocol):
    """What a job has done so far, told as it happens, from any thread."""

    def read(self, rows: int) -> None:
        """So many more rows have been read."""

    def publishing(self, files: int) -> None:
        """So many files will be published; reading is over."""

    def published(self, files: int) -> None:
        """So many more files are in place."""


class Unseen:
    """Bars that nobody watches."""

    def read(self, rows: int) -> None:
        """Nobody watches."""

    def publishing(self, files: int) -> None:
        """Nobody watches."""

    def published(self, files: int) -> None:
        """Nobody watches."""


@contextmanager
def bars(*, shown: bool, reading: bool = True) -> Iterator[Bars]:
    """Show the bars on the standard error, and leave no trace of them.

    Args:
        shown: Somebody watches.
        reading: Rows will be read; a job that is resumed reads none.
    """
    if not shown:
        yield Unseen()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[done]}"),
        TimeElapsedColumn(),
    ]
    console = Console(stderr=True, highlight=False, emoji=False)
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Watched(progress, reading=reading)


class _Watched:
    """Two bars: rows without a known end, then files with one."""

    def __init__(self, progress: "Progress", *, reading: bool) -> None:
        self._progress = progress
        self._rows = self._files = self._file_count = 0
        self._reading = progress.add_task("reading", total=None, done="", visible=reading)
        self._publishing = progress.add_task("publishing", total=None, done="", visible=False)

    def read(self, rows: int) -> None:
        self._rows += rows
        self._progress.update(self._reading, done=f"{self._rows:,} rows")

    def publishing(self, files: int) -> None:
        self._file_count = files
        self._progress.update(self._reading, total=1, completed=1)
        self._progress.update(self._publishing, total=files, visible=True)
        self.published(0)

    def published(self, files: int) -> None:
        self._files += files
        done = f"{self._files:,} of {self._file_count:,} files"
        self._progress.update(self._publishing, completed=self._files, done=done)


class Publishing(Callback):  # type: ignore[misc]  # fsspec ships no types
    """A callback of fsspec's, which is called as files are published."""

    def __init__(self, bars: Bars, decided: Callable[[], object] = lambda: None) -> None:
        """*decided* is called as soon as the job will be committed."""
        super().__init__()
        self._bars = bars
        self._decided = decided

    def set_size(self, size: int) -> None:
        """The job is decided: so many files will be published."""
        self._decided()
        self._bars.publishing(size)

    def relative_update(self, inc: int = 1) -> None:
        """So many more files are in place."""
        self._bars.published(inc)


@contextmanager
def trying(*, shown: bool) -> Iterator[Callable[[int, int, str], None]]:
    """Show how many tests have ended, and what the last one tried, while somebody watches."""
    if not shown:
        yield lambda _done, _of, _promise: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = [
        TextColumn("trying"),
        BarColumn(),
        TextColumn("{task.fields[done]}"),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    ]
    # The stream as it is now: tests replace it while they run.
    console = Console(file=sys.stderr, highlight=False, emoji=False)
    with Progress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as progress:
        task = progress.add_task("", total=None, done="finding out what it is")

        def watch(done: int, of: int, promise: str) -> None:
            told = f"{done:,} of {of:,} tests"
            progress.update(task, total=of, completed=done, done=told, description=promise)

        yield watch
