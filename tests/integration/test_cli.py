"""The command against real destinations: what it does, what it says, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tests.unit.cli.terminal import on_a_terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMMAND = "from fsspec_commit.cli import main; main()"


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def rows(self) -> list[list[str]]:
        return [line.split("\t") for line in self.out.splitlines()]


def command(*arguments: object, program: str = COMMAND) -> Ran:
    """Run ``fsspec-commit`` in a process of its own, its output on pipes."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *map(str, arguments)],
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in ran.stderr or "--debug" in arguments, ran.stderr
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def files_of(destination: Path) -> list[str]:
    """Every file that a reader would see."""
    return sorted(
        path.relative_to(destination).as_posix()
        for path in destination.rglob("*")
        if path.is_file()
        and not any(part[0] in "_." for part in path.relative_to(destination).parts)
    )


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    return tmp_path / "my table"


LEAVE = """
import os, sys
import fsspec_commit as fc
from fsspec.callbacks import Callback

class Dies(Callback):
    def relative_update(self, inc=1):
        os._exit(0)

job = fc.Job(sys.argv[1], mode="append", callback=Dies()).start()
print(job.job_id, flush=True)
with job.task() as task, task.open("part.txt", "w") as file:
    file.write("hello")
if sys.argv[2] == "decided":
    job.commit()
os._exit(0)
"""


def left_behind(destination: Path, state: str) -> str:
    """The id of a job whose driver died: ``"open"``, or ``"decided"`` and not finished."""
    ran = subprocess.run(
        [sys.executable, "-c", LEAVE, str(destination), state],
        check=True,
        capture_output=True,
        text=True,
    )
    return ran.stdout.strip()


def test_explain_says_what_would_be_done_and_why(destination: Path) -> None:
    ran = command("explain", destination)
    assert ran.status == 0
    assert ran.rows[0] == ["committer", "v1", ""]
    assert ran.rows[1][0] == "reason"
    assert ["atomic_rename", "directory", "declared"] in ran.rows
    assert not destination.exists()


def test_explain_for_programs(destination: Path) -> None:
    document = command("explain", destination, "--json").document
    assert (document["destination"], document["committer"]) == (str(destination), "v1")
    assert document["reasons"]
    facts = {fact["name"]: fact for fact in document["capabilities"]}
    assert facts["exclusive_create"] == {
        "name": "exclusive_create",
        "value": True,
        "evidence": "declared",
    }


def test_explain_of_an_unsafe_choice_is_a_refusal(destination: Path) -> None:
    ran = command("explain", destination, "--committer", "magic", "--json")
    assert ran.status == 1
    assert ran.document["committer"] is None


def test_probe_tries_the_store_and_leaves_nothing(destination: Path) -> None:
    ran = command("probe", destination, "--json")
    assert ran.status == 0
    assert (ran.document["ok"], ran.document["differences"]) == (True, [])
    assert files_of(destination) == []


def test_nothing_is_said_of_no_jobs(destination: Path) -> None:
    assert command("jobs", destination) == Ran(0, "", "")
    assert command("jobs", destination, "--json").document == {
        "destination": str(destination),
        "jobs": [],
    }


def test_jobs_lists_what_drivers_left(destination: Path) -> None:
    opened, decided = left_behind(destination, "open"), left_behind(destination, "decided")
    ran = command("jobs", destination)
    assert sorted(row[:3] for row in ran.rows) == sorted(
        [[opened, "open", "append"], [decided, "decided", "append"]]
    )
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", row[3]) for row in ran.rows)
    document = command("jobs", destination, "--json").document
    assert {job["job_id"]: job["state"] for job in document["jobs"]} == {
        opened: "open",
        decided: "decided",
    }


@pytest.mark.parametrize(
    "shorten",
    [lambda job: job, lambda job: job[:-1], lambda job: job[16:20], lambda job: job[-4:]],
    ids=["whole", "beginning", "random part", "end"],
)
def test_show_finds_a_job_by_a_part_of_its_id(
    shorten: Callable[[str], str], destination: Path
) -> None:
    job = left_behind(destination, "decided")
    ran = command("show", destination, shorten(job))
    assert ran.status == 0
    shown = dict(ran.rows)
    assert (shown["job id"], shown["state"], shown["committer"]) == (job, "decided", "v1")
    assert shown["settle with"] == f"fsspec-commit resume '{destination}' {job}"


def test_a_part_that_two_jobs_share_is_refused(destination: Path) -> None:
    jobs = [left_behind(destination, "open"), left_behind(destination, "open")]
    ran = command("abort", destination, "2")
    assert ran.status == 2
    assert all(job in ran.err for job in jobs)
    assert len(command("jobs", destination).rows) == 2


def test_a_job_that_is_not_there_is_refused(destination: Path) -> None:
    ran = command("show", destination, "9c1e", "--json")
    assert ran.status == 2
    error = ran.document["error"]
    assert (error["class"], error["kind"]) == ("RequestError", "unknown_job")
    assert f"fsspec-commit jobs '{destination}'" in error["message"]


def test_resume_finishes_what_was_decided(destination: Path) -> None:
    job = left_behind(destination, "decided")
    assert command("resume", destination, job) == Ran(0, "", "")
    [name] = files_of(destination)
    assert (destination / name).read_text() == "hello"
    assert (destination / "_SUCCESS").exists()
    assert command("jobs", destination).rows == []
    again = command("resume", destination, job)
    assert (again.status, again.out) == (1, "")


def test_resume_for_programs(destination: Path) -> None:
    job = left_behind(destination, "decided")
    document = command("resume", destination, job[-6:], "--json").document
    assert (document["job_id"], document["state"]) == (job, "committed")
    assert document["file_count"] == 1
    assert "files" not in document


def test_resume_refuses_what_is_not_decided(destination: Path) -> None:
    job = left_behind(destination, "open")
    ran = command("resume", destination, job)
    assert ran.status == 2
    assert f"fsspec-commit abort '{destination}' {job}" in ran.err


def test_abort_ends_what_is_not_decided(destination: Path) -> None:
    job = left_behind(destination, "open")
    assert command("abort", destination, job) == Ran(0, "", "")
    assert command("jobs", destination).rows == []
    assert files_of(destination) == []


def test_abort_for_programs(destination: Path) -> None:
    job = left_behind(destination, "open")
    assert command("abort", destination, job[:18], "--json").document == {
        "destination": str(destination),
        "job_id": job,
        "state": "aborted",
    }


def test_abort_refuses_what_is_decided(destination: Path) -> None:
    job = left_behind(destination, "decided")
    ran = command("abort", destination, job, "--json")
    assert ran.status == 1
    assert ran.document["error"]["class"] == "JobNotActiveError"
    assert command("resume", destination, job).status == 0
    assert len(files_of(destination)) == 1


def test_clean_names_first_and_deletes_when_told(destination: Path) -> None:
    opened, decided = left_behind(destination, "open"), left_behind(destination, "decided")
    assert command("clean", destination, "--older-than", "1h") == Ran(0, "", "")
    named = command("clean", destination, "--older-than", "0s")
    assert named.status == 0
    assert ["would be aborted", opened] in named.rows
    assert len(command("jobs", destination).rows) == 2
    ran = command("clean", destination, "--older-than", "0s", "--delete", "--json")
    assert (ran.status, ran.document["dry_run"]) == (0, False)
    assert ran.document["aborted"] == [opened]
    assert any(decided in shown for shown in ran.document["shown"])
    assert [row[0] for row in command("jobs", destination).rows] == [decided]


# --- write ---------------------------------------------------------------------------------------

TABLE = pa.table({"day": [1, 1, 2], "n": [1, 2, 3], "s": ["a", "b", None]})


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    pq.write_table(TABLE, path)
    return path


def rows_of(destination: Path, format_: str = "parquet") -> list[dict[str, Any]]:
    table = ds.dataset(destination, format=format_, partitioning="hive").to_table()
    rows = table.select(["day", "n", "s"]).to_pylist()
    return sorted(rows, key=lambda row: int(row["n"]))


def test_write_says_nothing_on_a_pipe(source: Path, destination: Path) -> None:
    assert command("write", source, destination) == Ran(0, "", "")
    assert rows_of(destination) == TABLE.to_pylist()
    assert (destination / "_SUCCESS").read_bytes() == b""


def test_write_for_programs(source: Path, destination: Path) -> None:
    document = command(
        "write", source, destination, "--partition-by", "day", "--mode", "append", "--json"
    ).document
    assert document["destination"] == str(destination)
    assert (document["state"], document["mode"], document["committer"]) == (
        "committed",
        "append",
        "v1",
    )
    assert (document["file_count"], document["rows"]) == (2, 3)
    assert document["partitions"] == ["day=1", "day=2"]
    assert rows_of(destination) == TABLE.to_pylist()


@pytest.mark.parametrize("format_", ["parquet", "csv", "arrow", "feather"])
def test_write_writes_what_pyarrow_writes(format_: str, source: Path, destination: Path) -> None:
    assert command("write", source, destination, "--format", format_).status == 0
    assert all(name.endswith(f".{format_}") for name in files_of(destination))
    rows = rows_of(destination, format_)
    assert [row["n"] for row in rows] == [1, 2, 3]


def test_write_reads_everything_into_one_dataset(tmp_path: Path, destination: Path) -> None:
    (tmp_path / "a.csv").write_text("day,n\n1,1\n")
    (tmp_path / "b.jsonl").write_text('{"day": 1, "n": 2, "s": "x"}\n')
    pq.write_table(pa.table({"day": [2], "n": [3]}), tmp_path / "c.parquet")
    ran = command("write", tmp_path / "[ab].*", tmp_path / "c.parquet", destination)
    assert ran == Ran(0, "", "")
    assert rows_of(destination) == [
        {"day": 1, "n": 1, "s": None},
        {"day": 1, "n": 2, "s": "x"},
        {"day": 2, "n": 3, "s": None},
    ]


def test_write_limits_the_rows_of_a_file(source: Path, destination: Path) -> None:
    ran = command("write", source, destination, "--max-rows-per-file", 1, "--json")
    assert ran.document["file_count"] == 3


def test_write_refuses_to_write_over_data(source: Path, destination: Path) -> None:
    assert command("write", source, destination).status == 0
    ran = command("write", source, destination)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("error: ")
    assert rows_of(destination) == TABLE.to_pylist()


def test_write_ignores_where_data_stands(source: Path, destination: Path) -> None:
    assert command("write", source, destination).status == 0
    ran = command("write", source, destination, "--mode", "ignore", "--json")
    assert (ran.status, ran.document["state"]) == (0, "skipped")


def test_write_overwrites_partitions(source: Path, tmp_path: Path, destination: Path) -> None:
    assert command("write", source, destination, "--partition-by", "day").status == 0
    pq.write_table(pa.table({"day": [2], "n": [9], "s": ["z"]}), tmp_path / "new.parquet")
    ran = command(
        "write",
        tmp_path / "new.parquet",
        destination,
        *("--partition-by", "day", "--mode", "overwrite_partitions", "--partitions", "day=1"),
        "--json",
    )
    assert (ran.status, ran.document["replaced_count"]) == (0, 2)
    assert rows_of(destination) == [{"day": 2, "n": 9, "s": "z"}]


def test_write_commits_once_for_a_key(source: Path, destination: Path) -> None:
    arguments = (
        "write",
        source,
        destination,
        "--mode",
        "append",
        "--idempotency-key",
        "k",
        "--json",
    )
    assert [command(*arguments).document["state"] for _ in range(2)] == ["committed", "skipped"]
    assert rows_of(destination) == TABLE.to_pylist()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--partition-by", "dya"], "'dya' is no column of the sources; they have 'day', 'n', 's'"),
        (["--partition-by", "day,day"], "names a column twice"),
        (["--partition-by", "day,n", "--partition-by", "s"], "leaves none for the files"),
        (["--committer", "magic"], "not safe here"),
        (["--partitions", "day=1"], "partitions"),
    ],
)
def test_write_refuses_what_makes_no_sense(
    arguments: list[str], says: str, source: Path, destination: Path
) -> None:
    ran = command("write", source, destination, *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert files_of(destination) == []


def test_a_source_that_breaks_off_commits_nothing(tmp_path: Path, destination: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("n\n" + "1\n" * 2_000_000 + "two\n")
    ran = command("write", path, destination)
    assert (ran.status, ran.out) == (1, "")
    assert "CSV conversion error to int64: invalid value 'two'" in ran.err
    assert "nothing was committed" in ran.err
    assert files_of(destination) == []
    assert command("jobs", destination).rows == []


def test_a_dataset_is_read_without_the_jobs_in_flight(
    source: Path, tmp_path: Path, destination: Path
) -> None:
    assert command("write", source, destination).status == 0
    left_behind(destination, "open")
    copy = tmp_path / "copy"
    assert command("write", destination, copy) == Ran(0, "", "")
    assert rows_of(copy) == TABLE.to_pylist()


def test_a_source_with_half_a_job_is_refused(
    source: Path, tmp_path: Path, destination: Path
) -> None:
    assert command("write", source, destination).status == 0
    left_behind(destination, "decided")
    ran = command("write", destination, tmp_path / "copy")
    assert ran.status == 2
    assert "is committed but not finished there" in ran.err
    assert "fsspec-commit resume" in ran.err
    assert not (tmp_path / "copy").exists()


# --- secrets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [[], ["--json"], ["--debug"]])
@pytest.mark.parametrize("mode", ["append", "error"])
def test_no_run_shows_a_secret(mode: str, how: list[str], source: Path, destination: Path) -> None:
    for _ in range(2):
        ran = command(
            "write",
            source,
            destination,
            *("--mode", mode, "--storage-option", "secret=hunter2"),
            *("--source-storage-option", "token=hunter2", *how),
        )
        assert "hunter2" not in ran.out + ran.err
    for path in destination.rglob("*"):
        if path.is_file():
            assert b"hunter2" not in path.read_bytes()


# --- Ctrl-C --------------------------------------------------------------------------------------

# The first reading of a file tells its schema, the second its rows: that one takes for ever.
SLOW_SOURCE = """
import io, sys, time
import fsspec
from fsspec.implementations.memory import MemoryFileSystem

class Slow(MemoryFileSystem):
    protocol = "slow"
    store, pseudo_dirs, opened = {}, [""], 0

    @classmethod
    def _strip_protocol(cls, path):
        return "/" + path.removeprefix("slow://").strip("/")

    def _open(self, path, mode="rb", **options):
        Slow.opened += 1
        return super()._open(path, mode, **options) if Slow.opened < 3 else Endless()

class Endless(io.RawIOBase):
    begun = False

    def readable(self):
        return True

    def read(self, size=-1):
        if not self.begun:
            print("reading", file=sys.stderr, flush=True)
            self.begun = True
        time.sleep(0.05)
        return b'{"n": 1}\\n' * 1000

fsspec.register_implementation("slow", Slow)
fsspec.filesystem("slow").pipe("/in.jsonl", b'{"n": 1}\\n')
from fsspec_commit.cli import main
main()
"""


def interrupted(program: str, *arguments: object, after: str, times: int = 1) -> Ran:
    """Run a command and press Ctrl-C once it has said *after*."""
    with subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if after in line:
                break
        else:
            pytest.fail(f"{after!r} was never said: {said}")
        for number in range(times):
            # Two that are meant to be two, then as fast as fingers are.
            time.sleep(0.3 if number < 2 else 0.001)
            process.send_signal(signal.SIGINT)
        began = time.monotonic()
        out, err = process.communicate(timeout=60)
        assert time.monotonic() - began < 10
    return Ran(process.returncode, out, said + err)


def test_ctrl_c_before_the_decision_writes_nothing(destination: Path) -> None:
    ran = interrupted(SLOW_SOURCE, "write", "slow://in.jsonl", destination, after="reading")
    assert ran.status == 1
    assert ran.err == "reading\nerror: interrupted; nothing was committed\n"
    assert files_of(destination) == []
    assert command("jobs", destination).rows == []


# Each file takes so long to be published.
SLOW_STORE = """
import asyncio, sys
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore

seconds = float(sys.argv.pop(1))

async def carry(verb, path, call):
    if verb == "rename":
        print("publishing", file=sys.stderr, flush=True)
        await asyncio.sleep(seconds)
    return await call()

from fsspec_commit.cli import main
with wrapping(lambda store: WrappedStore(store, carry)):
    main()
"""


def test_ctrl_c_after_the_decision_finishes_the_job(source: Path, destination: Path) -> None:
    ran = interrupted(SLOW_STORE, 2, "write", source, destination, after="publishing")
    assert ran.status == 0
    assert "warning: interrupted; committed" in ran.err
    assert rows_of(destination) == TABLE.to_pylist()
    assert command("jobs", destination).rows == []


def test_the_second_ctrl_c_stops_and_says_how_to_go_on(source: Path, destination: Path) -> None:
    ran = interrupted(SLOW_STORE, 60, "write", source, destination, after="publishing", times=9)
    assert ran.status == 3
    assert files_of(destination) == []
    [[job, state, *_]] = command("jobs", destination).rows
    assert state == "decided"
    assert f"fsspec-commit resume '{destination}' {job}" in ran.err
    assert command("resume", destination, job) == Ran(0, "", "")
    assert rows_of(destination) == TABLE.to_pylist()


def test_ctrl_c_while_resuming_says_how_to_go_on(destination: Path) -> None:
    job = left_behind(destination, "decided")
    again = SLOW_STORE.replace('verb == "rename"', 'verb == "stat"')
    ran = interrupted(again, 60, "resume", destination, job, after="publishing", times=9)
    assert ran.status == 3
    assert f"fsspec-commit resume '{destination}' {job}" in ran.err
    assert command("resume", destination, job) == Ran(0, "", "")


# --- a terminal ----------------------------------------------------------------------------------


def test_people_see_a_summary(source: Path, destination: Path) -> None:
    shown = on_a_terminal(COMMAND, "write", source, destination, "--partition-by", "day")
    assert "committed 2 files, 3 rows, " in shown
    assert "  2 partitions\n" in shown
    assert re.search(
        r"  mode error, committer v1, \d+\.\d s, job \d{8}T\d{6}-[0-9a-f]{16}\n", shown
    )


def test_people_who_want_quiet_get_it(source: Path, destination: Path) -> None:
    assert on_a_terminal(COMMAND, "write", source, destination, "--quiet") == ""


def test_people_see_tables(destination: Path) -> None:
    assert f"no job is unfinished at {destination}" in on_a_terminal(COMMAND, "jobs", destination)
    job = left_behind(destination, "open")
    assert re.search(rf"{job} +open +append", on_a_terminal(COMMAND, "jobs", destination))
    assert f"aborted job {job}" in on_a_terminal(COMMAND, "abort", destination, job[-5:])
