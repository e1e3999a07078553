"""What is printed, where, and in which form."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.cli.options import Redactor
from fsspec_commit.cli.output import (
    Output,
    counted,
    human_bytes,
    plain,
    printable,
    put,
    result_document,
)
from tests.unit.cli.terminal import on_a_terminal

if TYPE_CHECKING:
    from pathlib import Path

STARTED = datetime(2026, 11, 20, 14, 3, 55, tzinfo=UTC)
COMMITTED = fc.CommitResult(
    job_id="20261120T140355-9c1e5d0a7b2f4e68",
    destination="s3://b/t",
    mode="overwrite",
    committer="v1",
    state="committed",
    file_count=2,
    bytes=61_234_567,
    rows=336_776,
    partitions=("day=1", "day=2"),
    replaced_count=1,
    warnings=("an upload could not be aborted",),
    statistics={"committer_files_committed": 2},
    duration_s=2.06,
)
SKIPPED = fc.CommitResult(
    job_id="20261120T140355-9c1e5d0a7b2f4e68",
    destination="s3://b/t",
    mode="ignore",
    committer="v1",
    state="skipped",
)


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (61_234_567, "61.2 MB"),
        (10**12, "1.0 TB"),
        (3 * 10**18, "3,000.0 PB"),
    ],
)
def test_sizes(count: int, shown: str) -> None:
    assert human_bytes(count) == shown


def test_counts() -> None:
    assert counted(1, "file") == "1 file"
    assert counted(1200, "file") == "1,200 files"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("two\n  lines\r\n", "two lines"),
        ("\x1b[31mred\x1b[0m\x07", r"\x1b[31mred\x1b[0m\x07"),
        ("a\tb", r"a\tb"),
        ("evil\u202eknil", r"evil\u202eknil"),
        ("\udcff", r"\udcff"),
        ("schön 日本", "schön 日本"),
    ],
)
def test_no_text_moves_the_cursor(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_json_knows_the_values_of_the_api() -> None:
    capabilities = fc.Capabilities(atomic_rename=fc.AtomicRename.FILE, evidence={"a": "probed"})
    found = plain({"when": STARTED, "facts": capabilities, "names": ("a",), "n": 1, "none": None})
    assert found["when"] == "2026-11-20T14:03:55+00:00"
    assert found["facts"]["atomic_rename"] == "file"
    assert found["facts"]["evidence"] == {"a": "probed"}
    assert found["names"] == ["a"]
    assert json.loads(json.dumps(found)) == found


def test_a_result_counts_its_files_and_does_not_list_them() -> None:
    document = json.loads(json.dumps(plain(result_document(COMMITTED))))
    assert document == {
        "job_id": "20261120T140355-9c1e5d0a7b2f4e68",
        "destination": "s3://b/t",
        "mode": "overwrite",
        "committer": "v1",
        "state": "committed",
        "file_count": 2,
        "bytes": 61_234_567,
        "rows": 336_776,
        "partitions": ["day=1", "day=2"],
        "replaced_count": 1,
        "in_place": [],
        "warnings": ["an upload could not be aborted"],
        "statistics": {"committer_files_committed": 2},
        "duration_s": 2.06,
    }


def test_a_pipe_gets_lines_for_an_answer(capfd: pytest.CaptureFixture[str]) -> None:
    rows = [("j1", STARTED, None), ("j2", "a\tb\nc", 0)]
    Output().answer({}, ("job", "started", "tasks"), rows)
    assert capfd.readouterr().out == "j1\t2026-11-20 14:03:55 UTC\t-\nj2\ta\\tb c\t0\n"


def test_a_pipe_gets_nothing_that_it_did_not_ask_for(capfd: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.say("done")
    output.answer({}, ("job",), [], none="no job")
    assert capfd.readouterr() == ("", "")


def test_a_pipe_gets_one_line_for_a_finished_job(capfd: pytest.CaptureFixture[str]) -> None:
    """And warnings go to the standard error."""
    Output().result(COMMITTED)
    told = capfd.readouterr()
    fields = (COMMITTED.job_id, "committed", "overwrite", "2", "336776", "61234567", "s3://b/t")
    assert told.out == "\t".join(fields) + "\n"
    assert told.err == "warning: an upload could not be aborted\n"
    Output().result(SKIPPED)
    assert capfd.readouterr().out.split("\t")[1:5] == ["skipped", "ignore", "0", "-"]
    Output(quiet=True).result(SKIPPED)
    assert capfd.readouterr() == ("", "")


JOBS = ("job", "state", "mode", "started", "host", "tasks committed")
ROW = (COMMITTED.job_id, "committing", "overwrite_partitions", STARTED, "node-17.example.org", 1200)


@pytest.mark.parametrize(
    ("columns", "shown"), [(200, JOBS), (100, ("job", "state", "mode", "tasks committed"))]
)
def test_a_table_does_without_what_a_terminal_has_no_room_for(
    columns: int, shown: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(Output, "for_people", True)
    Output().answer({}, JOBS, [ROW], spare=("started", "host", "mode"))
    heading, _, row = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert re.split(r"\s{2,}", heading.strip()) == list(shown)
    assert len(row.rstrip()) <= columns
    assert ROW[0] in row


def test_eighty_columns_are_enough_for_any_job(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(Output, "for_people", True)
    Output().answer({}, JOBS, [ROW], spare=("started", "host", "mode"))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80


def test_a_command_is_not_cut_in_two(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Copied from two lines of a table it would run as two commands."""
    monkeypatch.setattr(Output, "for_people", True)
    command = f"fsspec-commit resume s3://bucket/a/long/way/to/clicks {ROW[0]}"
    rows = [("state", "decided"), ("settle with", command)]
    for columns, line in (("200", f" settle with   {command}"), ("80", f"settle with: {command}")):
        monkeypatch.setenv("COLUMNS", columns)
        Output().answer({}, ("what", "answer"), rows)
        told = capsys.readouterr().out
        assert line in [shown.rstrip() for shown in told.splitlines()]
        assert told.count("settle with") == 1


def test_what_an_encoding_lacks_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    put("/home/é")
    assert stream.buffer.getvalue() == b"/home/\\xe9\n"


def test_programs_get_one_document(capfd: pytest.CaptureFixture[str]) -> None:
    output = Output(as_json=True)
    output.result(COMMITTED)
    output.say("done")
    told = capfd.readouterr()
    assert json.loads(told.out)["file_count"] == 2
    assert told.err == ""


def test_no_form_steers_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever a store's names and records hold."""
    steering = "a\x1b[2J\x07\r\x7f\x9b1m\u202e\u2028\x85"
    result = replace(COMMITTED, destination=steering, partitions=(steering,), warnings=(steering,))
    for for_people in (True, False):
        monkeypatch.setattr(Output, "for_people", for_people)
        for output in (Output(), Output(as_json=True)):
            output.answer({steering: [steering]}, ("a", "b"), [(steering, steering)])
            output.answer({}, ("a",), [], none=f"none at {steering}")
            output.result(result)
            output.warn(steering)
            output.say(steering)
    told = "".join(capsys.readouterr())
    assert told.replace("\n", "").replace("\t", "").isprintable(), ascii(told)


def test_no_form_shows_a_secret(capfd: pytest.CaptureFixture[str]) -> None:
    hide = Redactor({"secret": "hunter2"})
    for output in (Output(redact=hide), Output(as_json=True, redact=hide)):
        output.answer({"a": "hunter2"}, ("a",), [("hunter2",)])
        output.warn("hunter2")
    told = capfd.readouterr()
    assert "hunter2" not in told.out + told.err
    assert told.out.count("***") == 2


PROGRAM = """
from datetime import UTC, datetime
import fsspec_commit as fc
from fsspec_commit.cli.output import Output
from fsspec_commit.cli.progress import bars

output = Output()
output.result(fc.CommitResult(
    job_id="20261120T140355-9c1e5d0a7b2f4e68", destination="s3://b/[red]t", mode="append",
    committer="v1", state="committed", file_count=2, bytes=61_234_567, rows=336_776,
    partitions=("day=1", "day=2"), replaced_count=1, duration_s=2.06))
output.result(fc.CommitResult(
    job_id="20261120T140355-9c1e5d0a7b2f4e68", destination="s3://b/t", mode="ignore",
    committer="v1", state="skipped"))
output.answer({}, ("job", "state"), [("[red]j1[/red]", "open\x1b[31m")], none="no job")
output.answer({}, ("job", "state"), [], none="no job")
with bars(shown=output.shows_progress) as seen:
    seen.read(1000)
    seen.publishing(7)
    seen.published(3)
"""


def test_a_terminal_gets_summaries_tables_and_bars() -> None:
    shown = on_a_terminal(PROGRAM)
    assert "committed 2 files, 336,776 rows, 61.2 MB to s3://b/[red]t\n" in shown
    assert "  2 partitions\n  1 old file replaced\n" in shown
    assert "  mode append, committer v1, 2.1 s, job 20261120T140355-9c1e5d0a7b2f4e68\n" in shown
    assert "skipped s3://b/t: nothing was to be done\n" in shown
    assert re.search(r"^ *job +state *$", shown, re.MULTILINE)
    assert re.search(r"^ *\[red\]j1\[/red\] +open\\x1b\[31m *$", shown, re.MULTILINE)
    assert "no job\n" in shown
    assert "1,000 rows" in shown
    assert "3 of 7 files" in shown


def test_a_reader_that_leaves_early_changes_nothing(tmp_path: Path) -> None:
    program = (
        "from fsspec_commit.cli.output import put\n"
        "for _ in range(100_000): put('x' * 100)\n"
        f"open({str(tmp_path / 'end')!r}, 'w').close()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
    assert (tmp_path / "end").exists()
