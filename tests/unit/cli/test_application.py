"""The command line as a whole: help, wrong usage, and what is loaded for it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import fsspec_commit as fc
from fsspec_commit.cli.application import application

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.unit.cli.conftest import Ran

COMMANDS = (
    *("write", "ls", "verify", "explain", "probe", "certify", "jobs", "show", "resume", "abort"),
    "clean",
)


def help_of(*command: str) -> str:
    ran = CliRunner().invoke(application, [*command, "--help"], env={"COLUMNS": "80"})
    assert ran.exit_code == 0
    return ran.output


def test_the_help_lists_every_command_and_the_statuses() -> None:
    text = help_of()
    for name in COMMANDS:
        assert f"│ {name} " in text
    assert "0 done, 1 not committed, 2 refused, 3 partial or unknown" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_is_worth_reading(name: str) -> None:
    text = help_of(name)
    explained, _, rest = text.partition("Examples:")
    assert len(explained.split()) > 20
    assert rest.count(f"\n   fsspec-commit {name} ") == 2
    assert "…" not in text, "an option's name is cut off"
    assert "--json" in text


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "write"])
def test_every_command_takes_the_options_of_the_store(name: str) -> None:
    assert "--storage-option" in help_of(name)


def test_the_version(command: Callable[..., Ran]) -> None:
    ran = command("--version")
    assert ran.status == 0
    assert ran.out.startswith("fsspec-commit ")


def test_the_package_is_the_command() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "fsspec_commit", "--version"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert ran.stdout == f"fsspec-commit {fc.__version__}\n"


@pytest.mark.parametrize(
    ("shell", "begins"),
    [
        ("bash", "complete -o default -F _fsspec_commit_completion fsspec-commit"),
        ("zsh", "#compdef fsspec-commit"),
        ("fish", "complete --command fsspec-commit --no-files"),
    ],
)
def test_a_shell_completes_the_command(
    shell: str, begins: str, command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_FSSPEC_COMMIT_COMPLETE", f"source_{shell}")
    ran = command()
    assert begins in ran.out
    assert f"_FSSPEC_COMMIT_COMPLETE=complete_{shell}" in ran.out
    # What that script sets and asks: each shell tells the words in its own way.
    monkeypatch.setenv("_FSSPEC_COMMIT_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", "fsspec-commit re")
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "fsspec-commit re")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    ran = command()
    assert "resume" in ran.out
    assert "abort" not in ran.out


def test_no_command_shows_the_help(command: Callable[..., Ran]) -> None:
    ran = command()
    assert ran.status == 2
    assert "Usage: fsspec-commit" in ran.out + ran.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["writ"], "no such command 'writ'. Did you mean 'write'? see: fsspec-commit --help"),
        (["jobs"], "missing argument 'DESTINATION'; see: fsspec-commit jobs --help"),
        (["write", "a"], "missing argument: write takes one SOURCE or more, and then the DEST"),
        (["jobs", "a", "b"], "unexpected extra argument"),
        (["jobs", "a", "--nope"], "no such option: --nope"),
        (
            ["write", "a", "b", "--mode", "x"],
            "invalid value for '--mode': 'x' is not one of 'error'",
        ),
        (["write", "no.csv", "b", "--mode", "Append"], "there is no source 'no.csv'"),
        (["write", "a", "b", "--max-rows-per-file", "0"], "invalid value"),
        (["clean", "a"], "missing option '--older-than'"),
        (["clean", "a", "--older-than", "soon"], "--older-than 'soon' is no duration"),
        (["write", "a", "b", "--wait", "soon"], "--wait 'soon' is no duration"),
        (["write", "a", "b", "--format", "json"], "pyarrow writes parquet, csv, arrow"),
        (["write", "a", "b", "--format", "orc"], "--format 'orc' cannot be written"),
        (["write", "a", "b", "--source-format", "xls"], "is none of parquet, csv, json, orc"),
        (["jobs", "a", "--storage-option", "x"], "--storage-option takes NAME=VALUE"),
        (["write", "a", "b", "--source-storage-option", "x"], "--source-storage-option takes"),
    ],
)
def test_wrong_usage_is_one_sentence(
    arguments: list[str], says: str, command: Callable[..., Ran]
) -> None:
    ran = command(*arguments)
    assert ran.status == 2
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert says in ran.err


@pytest.mark.parametrize(
    "arguments",
    [["jobs", "--json"], ["jobs", "a", "--json", "--nope"], ["clean", "a", "--json"]],
)
def test_wrong_usage_for_programs(arguments: list[str], command: Callable[..., Ran]) -> None:
    ran = command(*arguments)
    assert (ran.status, ran.err) == (2, "")
    error = ran.document["error"]
    assert (error["outcome"], error["kind"], error["job_id"]) == ("not_committed", "usage", None)


@pytest.mark.parametrize("as_json", [[], ["--json"]])
@pytest.mark.parametrize(
    "arguments",
    [
        ["jobs", "a", "secret=hunter2"],
        ["jobs", "a", "--storage-option", "key=b", "secret=hunter2"],
        ["jobs", "a", "--storage-options=secret=hunter2"],
        ["jobs", "a", "--storage-option", "hunter2"],
        ["jobs", "a", "--storage-option", 'secret={"hunter2'],
        ["jobs", "--storage-option", "secret=hunter2"],
        ["write", "no/such/file", "a", "--storage-option", "secret=hunter2"],
        ["write", "s3://u:hunter2@b/in.csv", "a"],
        ["write", "hunter3://b/in.csv", "a", "--source-storage-option", "secret=hunter2"],
    ],
)
def test_no_wrong_usage_shows_a_secret(
    arguments: list[str], as_json: list[str], command: Callable[..., Ran]
) -> None:
    ran = command(*arguments, *as_json)
    assert ran.status == 2
    assert "hunter2" not in ran.out + ran.err


LOADED_LATER = ("fsspec_commit.cli.reading", "numpy", "pandas", "pyarrow", "pyarrow.dataset")


@pytest.mark.parametrize("arguments", [["--help"], ["write", "--help"], ["jobs", "here"]])
def test_arrow_is_loaded_only_to_write(arguments: list[str], tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from fsspec_commit.cli import main\n"
        "assert 'typer' not in sys.modules\n"
        f"try: main({arguments})\n"
        f"except SystemExit: print([m for m in {LOADED_LATER} if m in sys.modules])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert ran.stdout.splitlines()[-1] == "[]"


def test_a_missing_library_is_named_with_its_remedy() -> None:
    program = (
        "import sys\n"
        "sys.modules['typer'] = None\n"
        "from fsspec_commit.cli import main\n"
        "main(['--help'])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert ran.returncode == 2
    assert ran.stderr == (
        "error: the command needs typer, which is not installed; install it with:"
        " pip install 'fsspec-commit[cli]'\n"
    )
