"""The page from a symptom to a command leaves out no error, no state and no kind to act on."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import pytest
import typer

import fsspec_commit as fc
from fsspec_commit.cli.application import application
from fsspec_commit.protocol.recovery import ShownState

if TYPE_CHECKING:
    import click

pytestmark = pytest.mark.checkout

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "when-things-go-wrong.md").read_text("utf-8")
COMMANDS = sorted(set(re.findall(r"`(fsspec-commit [^`\n]+)`", PAGE)))
OF_A_CALL = {
    "options, and ids that were given",
    "settings of Hadoop's, in Spark",
    "names of files",
    "files of a task",
    "data and sources",
    "writes from Spark",
}
"""Kinds of mistakes in a call, of which the message says all that there is to do."""


def first_cells(heading: str) -> set[str]:
    """The names in the first column of a table."""
    section = re.split(
        r"^##+ ", PAGE.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE
    )
    cells = re.findall(r"^\| (`.*?) \|", section[0], re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_every_state_has_its_row() -> None:
    assert first_cells("What `jobs` and `show` say") == {*get_args(ShownState)}


def test_every_public_error_has_its_row() -> None:
    errors = {name for name in fc.__all__ if name.endswith("Error")}
    assert first_cells("What an error says") - {"RuntimeError", "TypeError"} == errors


def test_every_kind_that_is_no_mistake_in_a_call_has_its_row() -> None:
    table = (DOCS / "api.md").read_text("utf-8").partition("| concerning | kinds |")[2]
    rows = re.findall(r"^\| (.*) \| (`.*`) \|$", table.partition("\n\n")[0], re.MULTILINE)
    kinds = {concerning: re.findall(r"`(\w+)`", names) for concerning, names in rows}
    wanted = {kind for about, names in kinds.items() for kind in names if about not in OF_A_CALL}
    assert kinds.keys() >= OF_A_CALL
    found = first_cells("Kinds with something to do")
    assert wanted <= found
    assert found <= {kind for names in kinds.values() for kind in names}


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_can_be_typed_so(line: str) -> None:
    """Its name and its options are there; what they do, the example on the page shows."""
    commands = cast("click.Group", typer.main.get_command(application)).commands
    _, name, *arguments = shlex.split(line)
    commands[name].make_context(name, arguments)


def test_what_changes_something_is_run_on_the_page() -> None:
    examples = "\n".join(re.findall(r"^\$ (fsspec-commit .*)$", PAGE, re.MULTILINE))
    run = {line.split()[1] for line in examples.splitlines()}
    assert run >= {"jobs", "resume", "abort", "clean"}
    assert {line.split()[1] for line in COMMANDS} >= {"show", "verify", "ls", "explain", "probe"}


def write(destination: Path, mode: fc.Mode) -> None:
    with fc.Job(destination, mode=mode) as job, job.task() as task:
        task.filesystem.pipe_file("part.txt", b"x")


def test_a_nested_destination_becomes_a_part_of_the_outer_one(tmp_path: Path) -> None:
    """As the row of its kind says."""
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "day=1"
    write(outer, "append")
    write(inner, "append")
    for refused in (lambda: fc.committed_files(outer), lambda: write(outer, "overwrite")):
        with pytest.raises(fc.RequestError) as caught:
            refused()
        assert caught.value.kind == "nested_destination"
    assert fc.jobs(inner) == []
    shutil.rmtree(inner / "_commit")
    assert len(fc.committed_files(outer)) == 2
    with pytest.raises(fc.RequestError) as caught:
        fc.committed_files(inner)
    assert caught.value.kind == "inside_destination"
    write(outer, "overwrite")
    assert len(fc.committed_files(outer)) == 1
