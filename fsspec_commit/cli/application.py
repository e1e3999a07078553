"""The commands put together, and what becomes of a command line that cannot be understood."""

import json
from collections.abc import Callable, Sequence
from importlib.metadata import version
from inspect import cleandoc
from typing import Annotated, Any, cast

import typer
from typer.main import get_command

from fsspec_commit.cli import inspect, settle, snapshot
from fsspec_commit.cli.certify import certify
from fsspec_commit.cli.ending import Status
from fsspec_commit.cli.options import redacted_arguments
from fsspec_commit.cli.output import printable, put, put_error
from fsspec_commit.cli.write import write
from fsspec_commit.records.job import MODES
from fsspec_commit.suggestions import counterpart

PROGRAM = "fsspec-commit"
# Typer carries its own click since 0.26: this reaches what both raise for a wrong command line.
WrongUsage = cast("type[Exception]", typer.BadParameter.__mro__[1])

application = typer.Typer(
    name=PROGRAM,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _help(function: Callable[..., object]) -> str:
    """A docstring for Typer, which keeps line breaks: paragraphs on one line, examples as they are.

    Typer's markup is not ours either, so brackets are escaped.
    """
    paragraphs = cleandoc(function.__doc__ or "").replace("[", r"\[").split("\n\n")
    return "\n\n".join(
        f"\b\n{text}" if text.startswith("Examples:") else text.replace("\n", " ")
        for text in paragraphs
    )


_PANELS: dict[str, tuple[Callable[..., object], ...]] = {
    "Write": (write,),
    "Read": (snapshot.ls, snapshot.verify),
    "Look": (inspect.explain, inspect.probe, certify, inspect.jobs, inspect.show),
    "Settle": (settle.resume, settle.abort, settle.clean),
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        application.command(help=_help(_command), rich_help_panel=_panel)(_command)


def _show_version(wanted: bool) -> None:
    if wanted:
        put(f"{PROGRAM} {version(PROGRAM)}")
        raise typer.Exit


def fsspec_commit(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Write datasets that appear whole or not at all, on local disks and object stores.

    A job's files become visible when it commits, and none of them before. What a job that died
    has left is found with `jobs` and settled with `resume` or `abort`.

    Exit status: 0 done, 1 not committed, 2 refused, 3 partial or unknown: then delete nothing
    and resume the job.
    """


application.callback(help=_help(fsspec_commit))(fsspec_commit)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status."""
    try:
        status = get_command(application).main(
            args=list(arguments), prog_name=PROGRAM, standalone_mode=False
        )
    except WrongUsage as error:
        return _wrong_usage(error, arguments)
    except (KeyboardInterrupt, typer.Abort):
        put_error("error: interrupted; nothing was committed")
        return Status.NOT_COMMITTED
    return status if isinstance(status, int) else Status.DONE


def _meant(error: Exception, context: Any) -> str:
    """A hint at what an unknown option is called here; none where its spelling tells more."""
    there = {name for one in context.command.params for name in one.opts} if context else set()
    name = str(getattr(error, "option_name", "")).lstrip("-").replace("-", "_")
    if "--mode" in there and name in MODES:
        return f"; did you mean --mode {name}?"
    if "--delete" in there and name == "dry_run":
        return "; nothing is removed without --delete"
    if "--delete" in there and name in {"force", "yes"}:
        return "; did you mean --delete?"
    called = f"--{(counterpart(name) or '').replace('_', '-')}"
    return f"; did you mean {called}?" if called in there else ""


def _wrong_usage(error: Exception, arguments: Sequence[str]) -> int:
    """Say what is wrong with the command line, in one sentence, and where to read more."""
    context = getattr(error, "ctx", None)
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    if type(error).__name__ == "NoArgsIsHelpError":
        put_error(text)
        return Status.USAGE
    if type(error).__name__ == "NoSuchOption" and (hint := _meant(error, context)):
        text = f"{str(getattr(error, 'message', text)).rstrip('.')}{hint}"
    # A secret may stand where none was expected, and then it is no storage option yet.
    text = redacted_arguments(arguments)(printable(text)).rstrip(".")
    text = text.replace(": Value error, ", ": ")  # Typer's, of an enumeration
    if text.lower().startswith("missing argument 'source'"):
        # The last argument is the destination: given only one, Typer says the first is missing.
        text = "Missing argument: write takes one SOURCE or more, and then the DESTINATION"
    sentence = f"{text[:1].lower()}{text[1:]}"
    help_command = f"{context.command_path if context else PROGRAM} --help"
    if "--json" in arguments:
        told = {"class": "UsageError", "message": sentence, "outcome": "not_committed"}
        put(json.dumps({"error": {**told, "kind": "usage", "job_id": None, "notes": []}}, indent=2))
    else:
        put_error(f"error: {sentence}{' ' if sentence.endswith('?') else '; '}see: {help_command}")
    return Status.USAGE
