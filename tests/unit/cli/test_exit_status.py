"""Every case of the table in ``docs/command.md``: what settling a job ends with."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from errno import EACCES
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.cli.output import Output
from fsspec_commit.errors import Reply
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import refused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.store import Store
    from tests.unit.cli.conftest import Ran

T = TypeVar("T")
pytestmark = pytest.mark.checkout
DOCUMENT = Path(__file__).parents[3] / "docs/command.md"
ROW = re.compile(
    r"^\| (?P<state>[^|]+?) +\| (?P<resume>\d)[^|]*\| (?P<abort>\d)[^|]*\| (?P<clean>\d)[^|]*\|$"
)
OUTCOMES = {0: None, 1: "not_committed", 2: "not_committed"}
UNSETTLED = {"committed", "partial", "unknown"}


def documented() -> list[tuple[str, str, int]]:
    """Each state, each command, and the exit status that stands there."""
    found = map(ROW.match, DOCUMENT.read_text().splitlines())
    return [
        (row["state"], command, int(row[command]))
        for row in found
        if row
        for command in ("resume", "abort", "clean")
    ]


def begun(destination: Path, **options: object) -> fc.Job:
    job = fc.Job(destination, mode="append", **options).start()  # type: ignore[arg-type]
    job._begun_here = False  # It is left behind, and warns nobody.
    with job.task() as task, task.open("part.txt", "w") as file:
        file.write("hello")
    return job


def died(destination: Path, fault: Fault) -> str:
    with inject(fault):
        job = begun(destination)
        with pytest.raises(Crash):
            job.commit()
    return job.job_id


def finished(destination: Path, **options: object) -> str:
    job = begun(destination, **options)
    job.commit()
    return job.job_id


def aborted(destination: Path) -> str:
    with inject(Fault("rename_directory", 2, "crash_before")):
        job = begun(destination)
        with pytest.raises(Crash):
            job.abort()
    return job.job_id


def aborted_and_gone(destination: Path) -> str:
    job = begun(destination)
    job.abort()
    return job.job_id


def damaged(destination: Path) -> str:
    job = begun(destination)
    [record] = destination.glob("_commit/*/job.json")
    record.write_text("{")
    return job.job_id


def newer(destination: Path) -> str:
    job = begun(destination)
    [record] = destination.glob("_commit/*/job.json")
    record.write_text(record.read_text().replace('"version":1', '"version":2'))
    return job.job_id


REFUSING = "`open`, and the store refuses its abort"
STATES: dict[str, Callable[[Path], str]] = {
    "`open`": lambda destination: begun(destination).job_id,
    REFUSING: lambda destination: begun(destination).job_id,
    "`committing`": lambda destination: died(destination, Fault("create", 5, "crash_before")),
    "`decided`": lambda destination: died(destination, Fault("rename", 1, "crash_before")),
    "`published`": lambda destination: died(
        destination, Fault("rename_directory", 2, "crash_before")
    ),
    "`aborted`": aborted,
    "`damaged`": damaged,
    "`newer`": newer,
    "`unknown`": lambda destination: begun(destination).job_id,
    "finished, and files of it stand": finished,
    "finished, under exact names": lambda destination: finished(destination, names="exact"),
    "aborted, and gone": aborted_and_gone,
    "never was": lambda _: "20261120T140355-9c1e5d0a7b2f4e68",
}


def refusing(store: Store) -> WrappedStore:
    """A store that takes no decision of a job, so that nobody can end it."""

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "create" and path.endswith("/decision"):
            raise fc.StoreError("not yours", path=path, reply=Reply.REFUSED)
        return await call()

    return WrappedStore(store, carry)


def hiding(store: Store) -> WrappedStore:
    """A store that lets nobody read a record."""

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "read":
            raise refused(path, "403", EACCES)
        return await call()

    return WrappedStore(store, carry)


def asked_about(state: str) -> AbstractContextManager[None]:
    """The store that a job of this state is found at."""
    how = {REFUSING: refusing, "`unknown`": hiding}.get(state)
    return nullcontext() if how is None else wrapping(how)


def test_every_state_is_documented() -> None:
    assert {state for state, _, _ in documented()} == STATES.keys()


@pytest.mark.parametrize(
    ("state", "verb", "status"), [row for row in documented() if row[1] != "clean"]
)
def test_a_command_ends_as_documented(
    command: Callable[..., Ran], tmp_path: Path, state: str, verb: str, status: int
) -> None:
    """The status, and the outcome for programs; asked again, it is no worse."""
    job_id = STATES[state](tmp_path)
    with asked_about(state):
        shown = {info.job_id: info.state for info in fc.jobs(tmp_path)}
        assert f"`{shown[job_id]}`" in state if job_id in shown else "`" not in state
        ran = command(verb, tmp_path, job_id, "--json")
    assert ran.status == status, ran.err
    if status:
        outcome = ran.document["error"]["outcome"]
        assert outcome in UNSETTLED if status == 3 else outcome == OUTCOMES[status]
    else:
        assert ran.document["state"] == ("committed" if verb == "resume" else "aborted")
    with asked_about(state):
        again = command(verb, tmp_path, job_id, "--json")
    if verb == "resume":
        assert again.status == status, again.err
    assert again.status != 1 or status == 1


@pytest.mark.parametrize(
    ("state", "status"),
    [(state, status) for state, verb, status in documented() if verb == "clean"],
)
def test_a_clean_ends_as_documented(
    command: Callable[..., Ran], tmp_path: Path, state: str, status: int
) -> None:
    """It removes what nobody will commit, and nothing else: the rest is named."""
    job_id = STATES[state](tmp_path)
    with asked_about(state):
        found = {info.job_id: info.state for info in fc.jobs(tmp_path)}.get(job_id)
        ran = command("clean", tmp_path, "--older-than", "0s", "--delete", "--json")
    assert ran.status == status, ran.err
    ended = not status and found in {"open", "committing", "aborted"}
    assert ran.document["aborted"] == [job_id] * ended
    assert any(job_id in line for line in ran.document["not_removed"]) == (status == 3)
    stays = status == 3 or found in {"decided", "published", "damaged", "newer", "unknown"}
    with asked_about(state):
        assert [info.state for info in fc.jobs(tmp_path)] == [found] * stays


@pytest.mark.parametrize("verb", ["resume", "abort"])
def test_a_part_of_two_ids_calls_neither_job_off(
    command: Callable[..., Ran], tmp_path: Path, verb: str
) -> None:
    """It was "refused", after which a job may be run again: both are committed."""
    for _ in range(2):
        died(tmp_path, Fault("rename", 1, "crash_before"))
    assert [info.state for info in fc.jobs(tmp_path)] == ["decided"] * 2
    ran = command(verb, tmp_path, "2", "--json")
    error = ran.document["error"]
    assert (ran.status, error["kind"], error["outcome"]) == (3, "ambiguous_job", "unknown")


def test_ctrl_c_at_the_end_of_an_abort_speaks_of_no_commit(
    command: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was "the job had committed", and so it was for programs."""

    def interrupted(_output: object, _told: str) -> None:
        raise KeyboardInterrupt

    job_id = begun(tmp_path).job_id
    monkeypatch.setattr(Output, "say", interrupted)
    ran = command("abort", tmp_path, job_id)
    assert (ran.status, ran.err) == (0, "warning: interrupted; the job was aborted\n")
