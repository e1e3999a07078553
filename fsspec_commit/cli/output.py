"""What a command prints, and where: tables for people, lines for pipes, JSON for programs.

On a terminal an answer is a table and a finished job is summed up. On a pipe an answer is one
line per row, its fields separated by tabs, and so is a finished job; nothing else is printed that
was not asked for.
Errors and warnings go to the standard error. Nothing is printed but through this module.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any, TextIO

import fsspec_commit as fc
from fsspec_commit.cli.options import Redactor

_KILO = 1000
_UNBOUNDED = 10_000
_COMMAND = "fsspec-commit "
_STANDARD_OUTPUT = "the standard output"
_LINE_BREAKS = re.compile(r"\s*[\r\n]\s*")


def put(text: str) -> None:
    """Print one line to the standard output.

    A reader that left, as `head` does, changes nothing about what was done.

    Raises:
        OSError: The line cannot be written, perhaps because a disk is full.
    """
    try:
        _put(sys.stdout, text)
    except BrokenPipeError:
        return
    except OSError as error:
        raise OSError(error.errno, error.strerror, _STANDARD_OUTPUT) from error


def is_unheard(error: BaseException) -> bool:
    """Whether :func:`put` has raised it: nothing more can be said there."""
    return isinstance(error, OSError) and error.filename == _STANDARD_OUTPUT


def put_error(text: str) -> None:
    """Print one line to the standard error, where it can be written.

    What cannot be said changes nothing about what was done, and must not hide its status.
    """
    with suppress(OSError):
        _put(sys.stderr, text)


def _put(stream: TextIO, text: str) -> None:
    try:
        stream.write(f"{_encodable(text, stream)}\n")
        stream.flush()
    except OSError:
        # The interpreter flushes once more when it ends, and must not stumble over it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise


def _encodable(text: str, stream: TextIO) -> str:
    """*text*, with escapes for what the encoding of *stream* does not have."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def printable(text: object) -> str:
    """One line of text that moves no cursor: records on a store may hold anything."""
    return _unsteering(_LINE_BREAKS.sub(" ", str(text).strip()))


def printable_lines(text: str) -> str:
    """A text of several lines, such as a traceback, each as :func:`printable` shows it."""
    return "\n".join(map(_unsteering, text.split("\n")))


def _unsteering(line: str) -> str:
    return line if line.isprintable() else "".join(map(_escaped, line))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def human_bytes(count: int) -> str:
    """A size such as 61.2 MB, in steps of a thousand."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < _KILO:
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= _KILO
    return f"{size:,.1f} PB"


def counted(count: int, noun: str) -> str:
    """A count with its noun: 1 file, 1,200 files."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def plain(value: object) -> Any:
    """*value* in the types that JSON has."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(plain(name)): plain(inner) for name, inner in value.items()}
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain(inner) for inner in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return value if value is None or isinstance(value, str | int | float) else str(value)


class Output:
    """Where one run of a command says what it has to say.

    Attributes:
        as_json: One JSON document is wanted, and nothing else on the standard output.
        quiet: Nothing but errors is wanted.
        redact: Takes the values of storage options out of a text.
    """

    def __init__(
        self, *, as_json: bool = False, quiet: bool = False, redact: Redactor | None = None
    ) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.redact = redact or Redactor()

    @property
    def for_people(self) -> bool:
        """Somebody reads along: tables and summaries are welcome."""
        return sys.stdout.isatty() and not self.as_json

    @property
    def shows_progress(self) -> bool:
        """Somebody watches: a bar that moves is welcome."""
        return sys.stderr.isatty() and not self.quiet

    def document(self, document: Mapping[str, object]) -> None:
        """Print the JSON document that a program asked for."""
        text = json.dumps(self.redact.document(plain(document)), indent=2)
        put(text.replace("\x7f", r"\u007f"))  # the one control character that JSON leaves bare

    def answer(
        self,
        document: Mapping[str, object],
        columns: Sequence[str],
        rows: Sequence[Sequence[object]],
        *,
        none: str = "",
        spare: Sequence[str] = (),
    ) -> None:
        """Answer a question: a document, a table, or a line for each row.

        Args:
            document: The answer for a program.
            columns: The table's headings.
            rows: The answer for people and for pipes.
            none: What people are told when there is no row.
            spare: Columns that are left out, one after the other in this order, as long as the
                table is wider than the terminal.
        """
        if self.as_json:
            self.document(document)
            return
        cells = [[self._cell(value) for value in row] for row in rows]
        if not self.for_people:
            for row in cells:
                put("\t".join(row))
        elif cells:
            self._table(columns, cells, spare)
        else:
            self.say(none)

    def lines(self, document: Mapping[str, object], lines: Sequence[str], *, none: str) -> None:
        """Answer with names, each on a line of its own everywhere, so that it can be copied."""
        if self.as_json:
            self.document(document)
            return
        for line in lines:
            put(self._cell(line))
        if not lines:
            self.say(none)

    def say(self, text: str) -> None:
        """Tell people what was done; pipes and programs did not ask."""
        if self.for_people and not self.quiet:
            put(printable_lines(self.redact(text)))

    def warn(self, text: str) -> None:
        """Tell of something that is not as it should be, although the command did its work."""
        put_error(f"warning: {self.redact(printable(text))}")

    def result(self, result: fc.CommitResult) -> None:
        """Sum up a finished job."""
        if self.as_json:
            self.document(result_document(result))
            return
        if self.for_people:
            for line in _summary(result):
                self.say(line)
        elif not self.quiet:
            put("\t".join(self._cell(value) for value in _row(result)))
        for warning in result.warnings:
            self.warn(warning)

    def _cell(self, value: object) -> str:
        if isinstance(value, datetime):
            return f"{value:%Y-%m-%d %H:%M:%S %Z}"
        shown = plain(value)
        return "-" if shown is None else self.redact(printable(shown))

    def _table(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str]
    ) -> None:
        from rich.console import Console

        console = Console(highlight=False, markup=False, emoji=False)
        unbounded = console.options.update(max_width=_UNBOUNDED)
        left_out = 0
        table = _drawn(columns, rows, ())
        while (
            left_out < len(spare)
            and console.measure(table, options=unbounded).maximum > console.width
        ):
            left_out += 1
            table = _drawn(columns, rows, spare[:left_out])
        if console.measure(table, options=unbounded).maximum <= console.width:
            console.print(table)
            return
        # A command that is cut in two cannot be copied.
        whole = [row for row in rows if row[-1].startswith(_COMMAND)]
        console.print(_drawn(columns, [row for row in rows if row not in whole], spare))
        for row in whole:
            put(f"{row[0]}: {row[-1]}")


def _drawn(columns: Sequence[str], rows: Sequence[Sequence[str]], without: Sequence[str]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = [number for number, column in enumerate(columns) if column not in without]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number in shown:
        table.add_column(columns[number], no_wrap=number == 0)  # the first is what people copy
    for row in rows:
        table.add_row(*(Text(row[number], overflow="fold") for number in shown))
    return table


def result_document(result: fc.CommitResult) -> dict[str, object]:
    """What is known of a finished job; its files are counted, not listed."""
    return {
        "job_id": result.job_id,
        "destination": result.destination,
        "mode": result.mode,
        "committer": result.committer,
        "state": result.state,
        "file_count": result.file_count,
        "bytes": result.bytes,
        "rows": result.rows,
        "partitions": result.partitions,
        "replaced_count": result.replaced_count,
        "in_place": list(result.in_place),
        "warnings": result.warnings,
        "statistics": result.statistics,
        "duration_s": result.duration_s,
    }


def _row(result: fc.CommitResult) -> Sequence[object]:
    """A finished job for a pipe; its id first, as in ``jobs``."""
    what = (result.file_count, result.rows, result.bytes)
    return (result.job_id, result.state, result.mode, *what, result.destination)


def _summary(result: fc.CommitResult) -> list[str]:
    how = f"mode {result.mode}, committer {result.committer}, {result.duration_s:.1f} s"
    where = printable(result.destination)
    if result.state == "skipped":
        return [
            f"skipped {where}: nothing was to be done",
            f"  {how}, job {result.job_id}",
        ]
    what = [counted(result.file_count, "file")]
    if result.rows is not None:
        what.append(counted(result.rows, "row"))
    what.append(human_bytes(result.bytes))
    lines = [f"committed {', '.join(what)} to {where}"]
    if result.partitions:
        lines.append(f"  {counted(len(result.partitions), 'partition')}")
    if result.replaced_count:
        lines.append(f"  {counted(result.replaced_count, 'old file')} replaced")
    return [*lines, f"  {how}, job {result.job_id}"]
