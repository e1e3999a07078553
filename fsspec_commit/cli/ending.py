"""How a run of a command ends: every exception becomes one sentence and one exit status.

The status says what stands on the store, so that a script never has to read the sentence: 0 done,
1 not committed, 2 refused, 3 partial, unknown, or committed by somebody else. Only after 1 and
2 may a job be run again or cleaned up after; after 3, look first, and delete nothing.
"""

import errno
import logging
import shlex
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, TypedDict

import typer

import fsspec_commit as fc
from fsspec_commit.cli.interrupts import catch_interrupts, ignore_interrupts
from fsspec_commit.cli.options import Redactor, StorageOptions, storage_options
from fsspec_commit.cli.output import Output, is_unheard, printable, printable_lines, put_error
from fsspec_commit.cli.wording import in_options
from fsspec_commit.sync.bridge import about_to_end

Outcome = Literal["not_committed", "committed", "partial", "unknown"]


class Status(IntEnum):
    """The exit statuses."""

    DONE = 0
    NOT_COMMITTED = 1
    USAGE = 2
    UNSETTLED = 3


@dataclass(frozen=True)
class CutShort:
    """What stands on the store if the run ends here, by Ctrl-C or by an unforeseen error.

    Attributes:
        status: The exit status that says so.
        outcome: The same in the words of the API's errors.
        consequence: The same in words for people.
    """

    status: Status
    outcome: Outcome
    consequence: str


NOTHING_CHANGED = CutShort(Status.NOT_COMMITTED, "not_committed", "nothing was changed")
PROBING = CutShort(
    Status.NOT_COMMITTED,
    "not_committed",
    "small objects of the probe may remain under _commit/, which clean removes",
)
NOT_COMMITTED = CutShort(Status.NOT_COMMITTED, "not_committed", "nothing was committed")
COMMITTED = CutShort(Status.DONE, "committed", "the job had committed")
ABORTED = CutShort(Status.DONE, "not_committed", "the job was aborted")

_PROGRAM = "fsspec-commit"
_SAME_OPTIONS = "and the same storage options"


def unsettled(command: str) -> CutShort:
    """The end of a command whose work may be half done: *command* finishes or shows it."""
    return CutShort(
        Status.UNSETTLED, "unknown", f"what was begun may be half done; go on with: {command}"
    )


def command_line(command: str, *arguments: str, options: bool = False) -> str:
    """A command that can be pasted into a shell; *options* adds a reminder of what is not printed.

    The reminder is a comment, which a shell passes over.
    """
    line = shlex.join([_PROGRAM, command, *arguments])
    return f"{line}  # {_SAME_OPTIONS}" if options else line


class Opening(TypedDict):
    """How the API's functions are to open the destination."""

    storage_options: StorageOptions
    single_writer: bool
    probe: bool


class Run:
    """One run of one command.

    Attributes:
        output: What it prints through.
        storage_options: What the destination is opened with.
        cut_short: What stands on the store if it ends now; the command keeps it up to date.
        debug: Tracebacks are wanted, and what is logged.
    """

    def __init__(
        self,
        destination: str,
        *,
        as_json: bool = False,
        quiet: bool = False,
        debug: bool = False,
        public: Sequence[str] = (),
    ) -> None:
        """*public* is what else the user typed for all to see."""
        self.destination = destination
        self.storage_options: StorageOptions = None
        self.output = Output(as_json=as_json, quiet=quiet)
        self.cut_short = NOTHING_CHANGED
        self.debug = debug
        self._public = [destination, *public]

    def opening(
        self, texts: Sequence[str] | None, *, single_writer: bool, no_probe: bool
    ) -> Opening:
        """How to open the destination; from now on no value of its storage options is printed."""
        self.storage_options = self.hide(storage_options(texts))
        return {
            "storage_options": self.storage_options,
            "single_writer": single_writer,
            "probe": not no_probe,
        }

    def hide(self, options: StorageOptions) -> StorageOptions:
        """From now on print no value of *options*; return them."""
        self.output.redact |= Redactor(options, public=self._public)
        return options

    def command(self, name: str, *arguments: str) -> str:
        """The command that does *name* at this destination."""
        return command_line(
            name, self.destination, *arguments, options=self.storage_options is not None
        )

    def fail(self, error: BaseException) -> Status:
        """Say what happened and return the status that says what stands."""
        status, outcome = self._verdict(error)
        message, notes = self._sentence(error, outcome)
        if self.debug:
            lines = "".join(traceback.format_exception(error)).rstrip()
            put_error(printable_lines(self.output.redact(lines)))
        if status is Status.DONE:
            self._done_anyway(outcome, message)
        elif self.output.as_json and not is_unheard(error):
            told = {
                "class": type(error).__name__,
                "message": message,
                "outcome": outcome,
                "kind": getattr(error, "kind", None),
                "job_id": getattr(error, "job_id", None),
                "notes": notes,
            }
            self.output.document({"error": told})
        else:
            put_error(self.output.redact(f"error: {message}"))
            for note in notes:
                put_error(self.output.redact(f"  {note}"))
        return status

    def _done_anyway(self, outcome: Outcome, message: str) -> None:
        """Report an interrupt that came too late to stop the job."""
        if self.output.as_json:
            state = "committed" if outcome == "committed" else "aborted"
            self.output.document({"state": state, "message": message})
        else:
            self.output.warn(message)

    def _verdict(self, error: BaseException) -> tuple[Status, Outcome]:
        if isinstance(error, fc.CommitError):
            return _status_of(error), error.outcome
        if isinstance(error, KeyboardInterrupt):
            notes = _notes(error)
            if notes and notes[0].startswith(("committed", "skipped")):
                return Status.DONE, "committed"
            if notes:
                return Status.UNSETTLED, "partial"
        elif isinstance(error, ImportError) and self.cut_short.status is Status.NOT_COMMITTED:
            return Status.USAGE, "not_committed"
        return self.cut_short.status, self.cut_short.outcome

    def _sentence(self, error: BaseException, outcome: Outcome) -> tuple[str, list[str]]:
        notes = _notes(error)
        if isinstance(error, fc.CommitError):
            unsettled = outcome in {"partial", "unknown"}
            # These leave no job to be finished: it is over, or nobody may act on it; and a request
            # that is refused says itself what can be done.
            finishable = not isinstance(
                error, fc.JobNotActiveError | fc.RecordError | fc.RequestError
            )
            if error.job_id and unsettled and finishable:
                said = " ".join([str(error), *notes])
                if "fsspec-commit resume" not in said:
                    notes.append(f"finish it with: {self.command('resume', error.job_id)}")
            # The API knows of no command line, nor of what was given on it.
            names_command = f": {_PROGRAM} " in str(error) and _SAME_OPTIONS not in str(error)
            if names_command and self.storage_options is not None:
                notes.append("give that command the same storage options")
            message = in_options(printable(error))
            return message, [n for n in notes if _PROGRAM not in n or n not in message]
        if isinstance(error, KeyboardInterrupt):
            if notes:
                return f"interrupted; {notes[0]}", notes[1:]
            return f"interrupted; {self.cut_short.consequence}", notes
        # A package that is not installed cannot have done anything.
        is_missing = isinstance(error, ImportError) and outcome == "not_committed"
        cut_short = NOTHING_CHANGED if is_missing else self.cut_short
        return f"{_described(error)}; {cut_short.consequence}", notes


def _status_of(error: fc.CommitError) -> Status:
    # Run again, a job that somebody else committed, or still may, would write its rows twice.
    if error.outcome != "not_committed":
        return Status.UNSETTLED
    # A file in the place of a destination is a mistake of whoever typed it, and no store's failure.
    is_refused = isinstance(error, fc.RequestError) or (
        isinstance(error, fc.StoreError) and error.errno == errno.ENOTDIR
    )
    return Status.USAGE if is_refused else Status.NOT_COMMITTED


def _notes(error: BaseException) -> list[str]:
    return [in_options(printable(note)) for note in getattr(error, "__notes__", ())]


def _described(error: BaseException) -> str:
    """An error that is not one of ours, in its own words if they are meant for people."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.strerror.lower()}: {printable(repr(error.filename))}"
    said = printable(error).rstrip(".")
    arrow = any(kind.__name__ == "ArrowException" for kind in type(error).__mro__)
    if said and (arrow or isinstance(error, OSError | ValueError | ImportError)):
        return said
    return f"{type(error).__name__}: {said} (--debug shows more)"


@contextmanager
def ending(run: Run) -> Iterator[Run]:
    """End the process as *run* says, whatever happens inside.

    SIGTERM and SIGHUP settle the job as Ctrl-C does. Afterwards none of these signals has anything
    left to stop, and they are ignored: they would only hide the status.

    Raises:
        typer.Exit: With the exit status, if anything was raised inside.
    """
    with _logging(run), about_to_end():
        try:
            catch_interrupts()
            yield run
        except typer.Exit:
            raise
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  # each has its status
            raise typer.Exit(_failed(run, error)) from None
        finally:
            ignore_interrupts()


def _failed(run: Run, error: BaseException) -> Status:
    try:
        ignore_interrupts()
        return run.fail(error)
    except KeyboardInterrupt:
        # One more came before it was ignored: it does not change what stands.
        return run.fail(error)


@contextmanager
def _logging(run: Run) -> Iterator[None]:
    """Show what libraries warn of, without secrets; what we log is shown on demand only.

    What this package warns of is in the result, and printed from there. But which job is waited for
    is said at once, and so is that there is nothing at a destination, which may be misspelled.
    """
    debug = run.debug
    ours = logging.getLogger("fsspec_commit")
    handler = _StandardError()
    handler.setFormatter(_RedactingFormatter(run.output))
    handler.addFilter(lambda record: debug or _is_for_users(record, quiet=run.output.quiet))
    root, level = logging.getLogger(), ours.level
    root.addHandler(handler)
    ours.setLevel(logging.DEBUG if debug else logging.INFO)
    try:
        yield
    finally:
        ours.setLevel(level)
        root.removeHandler(handler)


class _StandardError(logging.Handler):
    """Prints as everything else is printed: above the progress bar, if one is drawn."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            put_error(self.format(record))
        except Exception:  # noqa: BLE001  # what cannot be logged ends no program
            self.handleError(record)


def _is_for_users(record: logging.LogRecord, *, quiet: bool) -> bool:
    if record.name.startswith("fsspec_commit"):
        return _is_said(record) and not quiet
    return record.levelno >= logging.WARNING


def _is_said(record: logging.LogRecord) -> bool:
    """Whether it is a sentence for the users of a command, and not only for a log."""
    return hasattr(record, "waits_for") or hasattr(record, "nothing_at")


class _RedactingFormatter(logging.Formatter):
    """One line per record, without secrets; a traceback keeps its lines."""

    def __init__(self, output: Output) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")
        self._output = output

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's name
        return printable(super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        if _is_said(record):
            return self._output.redact(printable(record.getMessage()))
        return printable_lines(self._output.redact(super().format(record)))
