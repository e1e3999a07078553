"""Every exception becomes one sentence and one exit status."""

from __future__ import annotations

import json
import logging
import signal
from typing import TYPE_CHECKING, Any

import pytest
import typer

import fsspec_commit as fc
from fsspec_commit.cli.ending import (
    ABORTED,
    COMMITTED,
    NOT_COMMITTED,
    PROBING,
    CutShort,
    Run,
    Status,
    ending,
    unsettled,
)
from fsspec_commit.cli.interrupts import SIGNALS

if TYPE_CHECKING:
    from collections.abc import Iterator

JOB = "20261120T140355-9c1e5d0a7b2f4e68"
STEERING = "\x1b[2J\x1b]0;mine\x07\r\x9b31m\x7f\x08\u202egnp\u2066\u2028\x85"
"""Clears a screen, names a window, hides what was said before, turns text around."""


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Give the process its Ctrl-C back, which the end of a command takes away."""
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def ended(error: BaseException, *, cut_short: CutShort | None = None, **options: Any) -> int:
    """The exit status of a run that meets *error*."""
    run = Run("s3://b/my table", **options)
    run.hide({"secret": "hunter2"})
    run.cut_short = cut_short or run.cut_short
    with pytest.raises(typer.Exit) as left, ending(run):
        raise error
    return left.value.exit_code


def noted(error: BaseException, *notes: str) -> BaseException:
    for note in notes:
        error.add_note(note)
    return error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (fc.RequestError("no"), 2),
        (fc.UnsafeStoreError("no"), 2),
        (fc.UnknownProtocolError("no"), 2),
        (fc.DestinationExistsError("no"), 1),
        (fc.ConcurrentJobError("no"), 1),
        (fc.CommitFailedError("no"), 1),
        (fc.StoreError("no"), 1),
        (fc.RecordError("no"), 3),
        (fc.SnapshotUnstableError("no"), 1),
        (fc.JobNotActiveError("aborted"), 1),
        (fc.JobNotActiveError("committed", outcome="committed"), 3),
        (fc.JobNotActiveError("over", outcome="unknown"), 3),
        (fc.PartialCommitError("no"), 3),
        (fc.CommitStateUnknownError("no"), 3),
        (fc.CommitFailedError("who knows", outcome="unknown"), 3),
    ],
    ids=lambda value: f"{type(value).__name__}, {getattr(value, 'outcome', value)}",
)
@pytest.mark.parametrize("as_json", [False, True])
def test_the_status_says_what_stands(error: Exception, status: int, as_json: bool) -> None:
    assert ended(error, as_json=as_json) == status


def test_an_error_is_one_sentence_and_its_notes(capfd: pytest.CaptureFixture[str]) -> None:
    error = noted(
        fc.CommitFailedError("cannot commit:\n  no space"), "delete some files", "then\x07"
    )
    ended(error)
    assert capfd.readouterr() == (
        "",
        "error: cannot commit: no space\n  delete some files\n  then\\x07\n",
    )


def test_an_error_for_programs(capfd: pytest.CaptureFixture[str]) -> None:
    error = noted(
        fc.RequestError("2 of 3 tasks are missing", kind="missing_tasks", job_id=JOB), "a"
    )
    ended(error, as_json=True)
    told = capfd.readouterr()
    assert told.err == ""
    assert json.loads(told.out) == {
        "error": {
            "class": "RequestError",
            "message": "2 of 3 tasks are missing",
            "outcome": "not_committed",
            "kind": "missing_tasks",
            "job_id": JOB,
            "notes": ["a"],
        }
    }


@pytest.mark.parametrize("error", [fc.PartialCommitError, fc.CommitStateUnknownError])
def test_an_unfinished_job_names_the_command_that_finishes_it(
    error: type[fc.CommitError], capfd: pytest.CaptureFixture[str]
) -> None:
    ended(error("812 of 1000 files are in place", job_id=JOB))
    assert f"  finish it with: fsspec-commit resume 's3://b/my table' {JOB}" in (
        capfd.readouterr().err
    )


def test_a_command_that_is_already_named_is_not_named_again(
    capfd: pytest.CaptureFixture[str],
) -> None:
    ended(noted(fc.PartialCommitError("no", job_id=JOB), "do: fsspec-commit resume s3://b/t 9c1e"))
    assert capfd.readouterr().err.count("resume") == 1


def test_a_note_that_is_in_the_message_is_not_repeated(capfd: pytest.CaptureFixture[str]) -> None:
    todo = f"delete nothing; finish with: fsspec-commit resume s3://b/t {JOB}"
    ended(noted(fc.PartialCommitError(f"1 of 2 files; {todo} (no space)", job_id=JOB), todo))
    assert capfd.readouterr().err == f"error: 1 of 2 files; {todo} (no space)\n"


def test_a_command_reminds_of_options_and_does_not_print_them() -> None:
    run = Run("s3://b/t")
    run.storage_options = run.hide({"key": "hunter2"})
    assert run.command("resume", JOB) == (
        f"fsspec-commit resume s3://b/t {JOB}  # and the same storage options"
    )


def test_what_is_not_installed_has_left_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """A probe says that something may remain, but not where it could not begin."""
    assert ended(ImportError("pip install it"), cut_short=PROBING) == 2
    assert capfd.readouterr().err == "error: pip install it; nothing was changed\n"


@pytest.mark.parametrize("options", [None, {"key": "hunter2"}])
def test_a_command_of_the_api_is_told_to_lack_the_options(
    options: dict[str, object] | None, capfd: pytest.CaptureFixture[str]
) -> None:
    """It was made where nobody knew of them, and asks another server without."""
    error = fc.PartialCommitError(f"no; finish with: fsspec-commit resume s3://b/t {JOB}")
    run = Run("s3://b/t")
    run.storage_options = run.hide(options)
    with pytest.raises(typer.Exit), ending(run):
        raise error
    told = "  give that command the same storage options\n"
    assert capfd.readouterr().err == f"error: {error}\n{told if options else ''}"


def test_ctrl_c_before_the_decision(capfd: pytest.CaptureFixture[str]) -> None:
    assert ended(KeyboardInterrupt(), cut_short=NOT_COMMITTED) == 1
    assert capfd.readouterr() == ("", "error: interrupted; nothing was committed\n")


def test_ctrl_c_after_the_decision(capfd: pytest.CaptureFixture[str]) -> None:
    note = f"the job is decided; finish it with: fsspec-commit resume s3://b/t {JOB}"
    assert ended(noted(KeyboardInterrupt(), note), cut_short=NOT_COMMITTED) == 3
    assert capfd.readouterr() == ("", f"error: interrupted; {note}\n")


def test_ctrl_c_after_the_decision_for_programs(capfd: pytest.CaptureFixture[str]) -> None:
    note = f"the job is decided; finish it with: fsspec-commit resume s3://b/t {JOB}"
    assert ended(noted(KeyboardInterrupt(), note), cut_short=NOT_COMMITTED, as_json=True) == 3
    error = json.loads(capfd.readouterr().out)["error"]
    assert (error["class"], error["outcome"]) == ("KeyboardInterrupt", "partial")
    assert note in error["message"]


def test_ctrl_c_that_came_too_late(capfd: pytest.CaptureFixture[str]) -> None:
    assert ended(noted(KeyboardInterrupt(), "committed: 3 files")) == 0
    assert capfd.readouterr() == ("", "warning: interrupted; committed: 3 files\n")
    assert ended(KeyboardInterrupt(), cut_short=COMMITTED) == 0
    assert capfd.readouterr() == ("", "warning: interrupted; the job had committed\n")


def test_ctrl_c_that_came_too_late_for_programs(capfd: pytest.CaptureFixture[str]) -> None:
    assert ended(noted(KeyboardInterrupt(), "committed: 3 files"), as_json=True) == 0
    assert json.loads(capfd.readouterr().out)["state"] == "committed"
    assert ended(KeyboardInterrupt(), cut_short=ABORTED, as_json=True) == 0
    assert json.loads(capfd.readouterr().out)["state"] == "aborted"


def test_ctrl_c_where_nobody_knows(capfd: pytest.CaptureFixture[str]) -> None:
    assert ended(KeyboardInterrupt(), cut_short=unsettled("fsspec-commit jobs x")) == 3
    assert "go on with: fsspec-commit jobs x" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (FileNotFoundError(2, "No such file or directory", "a b"), 1, "directory: 'a b'; nothing"),
        (ValueError("the CSV is broken."), 1, "error: the CSV is broken; nothing was committed"),
        (ImportError("Install s3fs to access S3"), 2, "error: Install s3fs to access S3"),
        (ZeroDivisionError("oh"), 1, "error: ZeroDivisionError: oh (--debug shows more)"),
        (ValueError(), 1, "error: ValueError"),
    ],
)
def test_errors_that_are_not_ours(
    error: Exception, status: int, says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ended(error, cut_short=NOT_COMMITTED) == status
    told = capfd.readouterr().err
    assert says in told
    assert "Traceback" not in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("error", [ZeroDivisionError("oh"), ImportError("oh")])
def test_an_error_nobody_foresaw_after_the_decision_is_unknown(error: Exception) -> None:
    assert ended(error, cut_short=unsettled("fsspec-commit jobs x")) == 3


def test_debug_shows_the_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    ended(fc.CommitFailedError("no"), debug=True)
    told = capfd.readouterr().err
    assert "Traceback" in told
    assert told.endswith("error: no\n")


@pytest.mark.parametrize("options", [{}, {"debug": True}, {"as_json": True}])
def test_no_error_shows_a_secret(
    options: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    error = noted(fc.PartialCommitError("no: hunter2", job_id="hunter2"), "hunter2")
    error.__cause__ = OSError("the store said: hunter2")
    ended(error, **options)
    told = capfd.readouterr()
    assert "hunter2" not in told.out + told.err
    assert "***" in told.out + told.err


@pytest.mark.parametrize("options", [{}, {"debug": True}, {"as_json": True}])
def test_no_error_steers_the_terminal(
    options: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    """Not by what a store's records say, nor by what a library says of them."""
    error = noted(fc.RecordError(f"bad: {STEERING}"), STEERING)
    error.__cause__ = ValueError(STEERING)
    ended(error, **options)
    told = "".join(capfd.readouterr())
    assert "bad: " in told
    assert told.replace("\n", "").isprintable(), ascii(told)


def test_nothing_that_is_logged_steers_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    """Nor makes a line of its own, which could pass for another message."""
    with ending(Run("s3://b/t", debug=True)):
        logging.getLogger("fsspec_commit").debug("of %s", f"{STEERING}\nERROR forged: yes")
        logging.getLogger("botocore").warning("lost", exc_info=OSError(STEERING))
    told = capfd.readouterr().err
    assert told.replace("\n", "").isprintable(), ascii(told)
    assert "\nERROR" not in told
    assert "\nOSError: " in told


def test_what_libraries_log_shows_no_secret(capfd: pytest.CaptureFixture[str]) -> None:
    with ending(Run("s3://b/t")) as run:
        run.hide({"secret": "hunter2"})
        logging.getLogger("botocore").warning("retrying with %s", "hunter2")
        logging.getLogger("botocore").info("quiet")
        logging.getLogger("fsspec_commit").warning("in the result as well")
    logging.getLogger("botocore").warning("over")
    assert capfd.readouterr().err.splitlines()[0] == "WARNING botocore: retrying with ***"
    assert "in the result" not in capfd.readouterr().err


def test_debug_shows_what_we_log(capfd: pytest.CaptureFixture[str]) -> None:
    with ending(Run("s3://b/t", debug=True)) as run:
        run.hide({"secret": "hunter2"})
        logging.getLogger("fsspec_commit").debug("create hunter2")
    assert "DEBUG fsspec_commit: create ***\n" in capfd.readouterr().err


def test_an_exit_of_the_command_itself_is_kept() -> None:
    with pytest.raises(typer.Exit) as left, ending(Run("s3://b/t")):
        raise typer.Exit(Status.NOT_COMMITTED)
    assert left.value.exit_code == 1
