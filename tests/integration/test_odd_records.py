"""Something odd in the place of each thing that a decided job has on a disk, whatever is called.

Errors are typed, nothing outside of the destination is touched, and nobody is told of the job that
it is not committed. What is then to be done is in `test_odd_areas.py` and the committer contract.
"""

from __future__ import annotations

import os
import shutil
import socket
from contextlib import suppress
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import fsspec_commit as fc
from fsspec_commit.testing import Crash, Fault, inject
from tests.sweeps import some_by_day

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsspec_commit.testing.sweeps import Sweep

OLD = {f"p={part}": "old" for part in range(3)}
PLACES = [
    *("job.json", "decision", "claim-*", "replaced-*", "manifests/0/*", "_SUCCESS-*"),
    *("published", "trash", "committed/0/*", ".", "../../_commit", "../../_SUCCESS"),
    *(f"../{name}" for name in ("epoch-*", "gone-" + "a" * 32, "20990101T000000-" + "a" * 16)),
]
"""Where it stands, as the job's area sees it; of some that match, the first."""


def _socket(path: Path) -> None:
    directory = os.open(path.parent, os.O_PATH)  # Its whole path may be too long for a socket's.
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"/proc/self/fd/{directory}/{path.name}")
    os.close(directory)


def _sparse(path: Path, size_bytes: int) -> None:
    with path.open("wb") as file:
        file.truncate(size_bytes)


KINDS: dict[str, Callable[[Path, Path, bytes], object]] = {
    "link to a file": lambda path, outside, _: path.symlink_to(outside / "kept.txt"),
    "link to a directory": lambda path, outside, _: path.symlink_to(outside / "kept"),
    "link to nothing": lambda path, outside, _: path.symlink_to(outside / "nothing"),
    "hard link": lambda path, outside, _: os.link(outside / "kept.txt", path),
    "directory": lambda path, _, __: (path / "x").mkdir(parents=True),
    "pipe": lambda path, _, __: os.mkfifo(path),
    "socket": lambda path, _, __: _socket(path),
    "too long": lambda path, _, __: _sparse(path, (64 << 20) + 1),
    "a tebibyte": lambda path, _, __: _sparse(path, 1 << 40),
    "nothing": lambda path, _, __: path.touch(),
    "no text": lambda path, _, __: path.write_bytes(b"\xff\xfe\0"),
    "later version": lambda path, _, data: path.write_bytes(
        data.replace(b'"version":1', b'"version":2')
    ),
}


def _write(to: Path, text: str, mode: fc.Mode) -> None:
    with fc.Job(to, mode=mode, wait_s=0) as job, job.task() as task:
        for name in OLD:
            with task.open(f"{name}/{text}.txt", "w") as file:
                file.write(text)


CALLS: dict[str, Callable[[Path, str], object]] = {
    "jobs": lambda to, _: fc.jobs(to),
    "clean": lambda to, _: fc.clean(to, older_than=timedelta(0), dry_run=False),
    "append": lambda to, _: _write(to, "appended", "append"),
    "overwrite": lambda to, _: _write(to, "later", "overwrite"),
    "abort": fc.abort,
    "resume": fc.resume,
}

NEVER_SAID = {("abort", None), ("abort", "not_committed"), ("resume", "not_committed")}
"""Of a job that has decided; an abort that returns says that nothing of it is visible."""


def _decided(to: Path) -> Path:
    """The area of an overwrite whose driver has died half-way."""
    _write(to, "old", "append")
    with inject(Fault("rename", nth=4, kind="crash_before")), suppress(Crash):
        _write(to, "new", "overwrite")
    (job,) = fc.jobs(to)
    return to / "_commit" / job.job_id


def _standing(area: Path, where: str) -> Path:
    directory = Path(os.path.normpath(area / where)).parent
    name = Path(where).name or area.name
    return min(directory.glob(name), default=directory / name)


def _replaced(path: Path) -> bytes:
    """What stood there, which is away now."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
        return b""
    data = path.read_bytes() if path.exists() else b""
    path.unlink(missing_ok=True)
    return data


def _texts(below: Path) -> dict[str, str]:
    return {str(path.relative_to(below)): path.read_text() for path in below.rglob("*.txt")}


def _outcome(call: Callable[[], object]) -> str | None:
    """What a typed error says; any other is not caught."""
    try:
        call()
    except fc.CommitError as error:
        return error.outcome
    return None


@some_by_day(47)
def test_it_is_told_and_left_alone(fast: Path, sweep: Sweep) -> None:
    for nth, (where, kind, call) in enumerate(sweep(product(PLACES, KINDS, CALLS))):
        outside, to = fast / f"{nth}-outside", fast / f"{nth}"
        (outside / "kept").mkdir(parents=True)
        (outside / "kept.txt").write_text("kept")
        (outside / "kept/kept.txt").write_text("kept")
        before = _texts(outside)
        area = _decided(to)
        path = _standing(area, where)
        KINDS[kind](path, outside, _replaced(path))
        what = f"{call}, where {where} is: {kind}"
        said = _outcome(lambda: CALLS[call](to, area.name))  # noqa: B023  # it is called at once
        assert (call, said) not in NEVER_SAID, what
        assert _texts(outside) == before, what
        shown = {name.partition("/")[0] for name in _texts(to) if not name.startswith("_")}
        assert shown == OLD.keys(), what
