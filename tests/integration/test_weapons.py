"""Ids, names and keys as weapons: refused, or harmless, wherever a user may give one (P10)."""

from __future__ import annotations

import traceback
from contextlib import suppress
from datetime import timedelta
from itertools import cycle, product
from typing import TYPE_CHECKING

import msgspec
import pytest

import fsspec_commit as fc
from fsspec_commit.cli import main
from fsspec_commit.names import hive_path, target
from tests.protocol.hostile.mutations import NAMES
from tests.protocol.invariants import directories_of, snapshot_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

JOB = "20260101T120000-9c1e5f00a1b2c3d4"
IDS = (
    *NAMES,
    f"{JOB}/..",
    f"../{JOB}",
    f"{JOB}/",
    f"/{JOB}",
    f" {JOB}",
    f"{JOB}\n",
    f"{JOB}\0",
    JOB.upper(),
    JOB[:-1],
    f"{JOB}0",
    JOB.replace("-", "\u2010"),
    JOB.replace("2", "\u0662"),
    f"{JOB}%2f..",
    "x" * 100_000,
    "\ud800",
    f"{JOB}\u202e",
)
"""None of them is a job's id."""
WORST = ("", "..", "*", f"{JOB}/..", "x" * 100_000)


@pytest.fixture
def to(tmp_path: Path) -> Iterator[Path]:
    """A destination with a job that is open, beside what nobody may touch."""
    for name in ("kept.txt", "out2/kept.txt", "out2/_commit/x/job.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("kept")
    job = fc.Job(tmp_path / "out", mode="append").start()
    yield tmp_path / "out"
    job.abort()


def check_that_it_steers_nothing(error: BaseException) -> None:
    text = "".join(traceback.format_exception(error))
    assert text.replace("\n", "").isprintable(), ascii(text[-300:])
    assert len(str(error)) < 2_000


def test_p10_what_is_no_job_id_names_no_job(to: Path) -> None:
    before = snapshot_of(to.parent), directories_of(to.parent)
    calls: list[Callable[[str], object]] = [
        lambda job_id: fc.resume(to, job_id),
        lambda job_id: fc.abort(to, job_id),
        lambda job_id: fc.clean(to, damaged=[job_id], dry_run=False, accept_loss=True),
        lambda job_id: fc.clean(to, damaged=[job_id], older_than=timedelta(days=1), dry_run=False),
    ]
    for job_id, call in [*zip(IDS, cycle(calls), strict=False), *product(WORST, calls)]:
        with pytest.raises(fc.RequestError) as caught:
            call(job_id)
        assert caught.value.kind == "invalid_job_id"
        check_that_it_steers_nothing(caught.value)
    assert (snapshot_of(to.parent), directories_of(to.parent)) == before


def test_p10_no_command_takes_one_either(to: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot_of(to.parent), directories_of(to.parent)
    possible = [one for one in IDS if one and "\0" not in one and one.isascii()]
    commands = (
        ["resume", str(to), "--", "{}"],
        ["abort", str(to), "--", "{}"],
        ["show", str(to), "--", "{}"],
        ["clean", str(to), "--damaged={}", "--delete", "--accept-loss"],
    )
    for job_id, command in zip(possible, cycle(commands), strict=False):
        with pytest.raises(SystemExit) as ended:
            main([one.replace("{}", job_id) for one in command])
        assert ended.value.code in {2, 3}
        told = "".join(capsys.readouterr())
        assert told.replace("\n", "").isprintable(), ascii(told[-300:])
    assert (snapshot_of(to.parent), directories_of(to.parent)) == before


@pytest.mark.parametrize("how", ["open", "filesystem"])
def test_p10_a_name_is_refused_or_is_that_of_a_file_inside(to: Path, how: str) -> None:
    """Exactly that: neither decoded nor folded nor cut."""
    outside = snapshot_of(to.parent)
    taken: dict[str, bytes] = {}
    with fc.Job(to, mode="append", names="exact") as job, job.task() as task:
        opens: dict[str, Callable[[str], object]] = {
            "open": lambda name: task.open(name, "wb"),
            "filesystem": lambda name: task.filesystem.open(name, "wb"),
        }
        for number, name in enumerate(NAMES):
            if not name.isascii() and name.casefold() != name:
                continue  # A disk that folds names takes it for another one.
            name = f"n{number}/{name}" if name in {"a.txt", "A.TXT"} else name  # noqa: PLW2901
            try:
                file = opens[how](name)
            except fc.RequestError as error:
                check_that_it_steers_nothing(error)
                continue
            with file:  # type: ignore[attr-defined]  # of whatever kind, it is a file
                file.write(f"{number}".encode())  # type: ignore[attr-defined]
            taken[name.rstrip("/")] = f"{number}".encode()
    after = snapshot_of(to.parent)
    assert {name: data for name, data in after.items() if name in outside} == outside
    new = {name for name in after if name not in outside and not name.startswith("out/_commit/")}
    assert new - {"out/_SUCCESS"} == {f"out/{name}" for name in taken}
    assert len(taken) > 15
    assert all(after[f"out/{name}"] == data for name, data in taken.items())
    assert not {"..", ".", "", "_commit"} & {part for name in taken for part in name.split("/")}


def test_p10_a_value_is_one_directory(to: Path) -> None:
    for value in NAMES:
        path = hive_path(day=value)
        assert "/" not in path
        with suppress(fc.RequestError):
            assert target(f"{path}/x").startswith("day=")


def test_p10_a_partition_is_inside_or_refused(to: Path) -> None:
    before = snapshot_of(to.parent)
    for name in NAMES[::3]:
        try:
            job = fc.Job(to, mode="overwrite_partitions", partitions=[name], wait_s=0).start()
        except fc.RequestError as error:
            check_that_it_steers_nothing(error)
            continue
        job.abort()
        assert not {"..", ".", "_commit"} & {*name.split("/")}
    assert snapshot_of(to.parent) == before


def test_p10_a_key_is_no_path(to: Path) -> None:
    keys = [one for one in NAMES[::6] if one]
    for key in keys:
        with fc.Job(to, mode="append", idempotency_key=key, allow_empty=True):
            pass
        with fc.Job(to, mode="append", idempotency_key=key, allow_empty=True) as again:
            pass
        assert again.skipped
    done = list((to / "_commit" / "done").iterdir())
    assert len(done) == len(set(keys))
    assert all(len(path.name) == 64 and path.name.isalnum() for path in done)
    assert {path.name for path in to.parent.iterdir()} == {"kept.txt", "out", "out2"}


def test_p10_no_message_names_anything_outside(to: Path) -> None:
    """As a worker may send it whose memory, or whose mind, is not as it should be."""
    with fc.Job(to, mode="append") as job:
        with job.task() as task, task.open("a.txt", "w") as file:
            file.write("a")
        right = task.message
        assert right is not None
        before = snapshot_of(to.parent)
        own = job.job_id
        for text in (*NAMES[::3], f"{own}/../../../kept.txt", f"{own}/job.json", f"{own}/"):
            for changed in ({"manifest": text}, {"attempt_id": text}, {"digest": text}):
                with pytest.raises((fc.RequestError, fc.RecordError)) as caught:
                    job.commit([msgspec.structs.replace(right, **changed)])
                check_that_it_steers_nothing(caught.value)
                if "manifest" not in changed:  # Of what is sent as text the ids are looked at.
                    sent = msgspec.json.encode({**msgspec.to_builtins(right), **changed})
                    with pytest.raises(fc.RecordError):
                        fc.TaskCommit.from_json(sent.decode())
        for task_id in (-1, 1 << 31, 1 << 64):
            with pytest.raises((fc.RequestError, fc.RecordError)):
                job.commit([msgspec.structs.replace(right, task_id=task_id)])
        assert snapshot_of(to.parent) == before
        job.commit([right])
    assert len(list(to.glob("a*.txt"))) == 1


def test_p10_no_spec_names_another_area(to: Path) -> None:
    job = fc.Job(to, mode="append").start()
    before = snapshot_of(to.parent)
    for job_id in IDS:
        with suppress(UnicodeEncodeError):
            quoted = msgspec.json.encode(job_id).decode()[1:-1]
            with pytest.raises(fc.RecordError) as caught:
                fc.JobSpec.from_json(job.spec.to_json().replace(job.job_id, quoted))
            check_that_it_steers_nothing(caught.value)
    for task_id in (-1, 1 << 31, 1 << 64, "0/../..", "..", True, None, 0.5):
        with pytest.raises(fc.RequestError):
            fc.Task.from_spec(job.spec, task_id)  # type: ignore[arg-type]  # on purpose
    assert snapshot_of(to.parent) == before
    job.abort()


def test_p10_no_engine_names_another_attempt(to: Path) -> None:
    """Whose files another program has written, in a directory that its id is the name of."""
    with fc.Job(to, mode="append", allow_empty=True) as job:
        before = snapshot_of(to.parent), directories_of(to.parent)
        attempt = "0123456789abcdef"
        ids = (*NAMES[::3], f"{attempt}\n", attempt[1:], attempt.upper(), "x" * 100_000)
        named = [(0, one, "a.txt") for one in ids] + [(0, attempt, one) for one in ids]
        for task_id, attempt_id, name in (*named, *((n, attempt, "a.txt") for n in (-1, 1 << 64))):
            with pytest.raises(fc.RequestError) as caught:
                job.adopt(task_id, attempt_id, [fc.AdoptedFile(name, 1)])
            check_that_it_steers_nothing(caught.value)
        assert (snapshot_of(to.parent), directories_of(to.parent)) == before
