"""What stands in ``_commit/`` and is none of ours stops nobody; what is damaged is shown."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.cli import main
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.wrapped import WrappedStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Capabilities

T = TypeVar("T")

NONCE = "a" * 32
CLAIM = f"claim-{NONCE}"
TAKEN = f"void-20261120T140355-9c1e5f00a1b2c3d4-{NONCE}"
pytestmark = pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")


def _long(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate((64 << 20) + 1)


def _link(path: Path) -> None:
    elsewhere = path.parents[2] / "elsewhere" if path.is_dir() else path.with_name("elsewhere")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def _directory(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()
    (path / "x").touch()


FOREIGN: dict[str, Callable[[Path], object]] = {
    "link": lambda areas: (areas / "x").symlink_to("/nowhere"),
    "pipe": lambda areas: os.mkfifo(areas / "x"),
    "file": lambda areas: (areas / "x").write_text("of nobody"),
    "directory": lambda areas: (areas / "x").mkdir(),
    "no text": lambda areas: open(os.fsencode(areas) + b"/\xff", "wb").close(),  # noqa: PTH123
    "link like an epoch": lambda areas: (areas / f"epoch-{NONCE}").symlink_to("/nowhere"),
    "link like a void area": lambda areas: (areas / TAKEN).symlink_to(areas.parent),
    "pipe like a void area": lambda areas: os.mkfifo(areas / TAKEN),
    "file like a void area": lambda areas: (areas / TAKEN).write_text("of nobody"),
    "file like late deletes": lambda areas: (areas / f"deleted-20200101T000000-{NONCE}").touch(),
}
DAMAGED: dict[str, Callable[[Path], object]] = {
    "claim is a pipe": lambda area: os.mkfifo(area / CLAIM),
    "claim is a link": lambda area: (area / CLAIM).symlink_to("/nowhere"),
    "claim is too long": lambda area: _long(area / CLAIM),
    "job.json is too long": lambda area: _long(area / "job.json"),
    "job.json is a link": lambda area: _link(area / "job.json"),
    "job.json is a directory": lambda area: _directory(area / "job.json"),
    "the area is a link": _link,
}


def _append(to: Path) -> None:
    with (
        fc.Job(to, mode="append", wait_s=0.1) as job,
        job.task() as task,
        task.open("a.txt", "w") as file,
    ):
        file.write("a")


@pytest.mark.parametrize("what", FOREIGN)
def test_what_is_nobodys_is_in_nobodys_way(tmp_path: Path, what: str) -> None:
    to = tmp_path / "out"
    dead = fc.Job(to, mode="append").start()
    FOREIGN[what](to / "_commit")
    assert [job.state for job in fc.jobs(to)] == ["open"]
    _append(to)
    report = fc.clean(to, older_than=timedelta(0), dry_run=False)
    assert report.aborted == (dead.job_id,)
    shown = [line for line in report.shown if "damaged" in line]
    assert len(shown) == (0 if what.startswith(("file", "directory")) else 1)
    assert fc.jobs(to) == []
    assert len(list(to.glob("a*.txt"))) == 1


@pytest.mark.parametrize("what", DAMAGED)
def test_what_is_damaged_is_shown_and_removed_when_told(
    tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    to = tmp_path / "out"
    bad, dead = (fc.Job(to, mode="append").start() for _ in range(2))
    DAMAGED[what](to / "_commit" / bad.job_id)
    states = {job.job_id: job.state for job in fc.jobs(to)}
    assert states == {bad.job_id: "damaged", dead.job_id: "open"}
    report = fc.clean(to, older_than=timedelta(0), dry_run=False)
    assert report.aborted == (dead.job_id,)
    assert any(bad.job_id in line and "damaged" in line for line in report.shown)
    _assert_the_way_out_is_named(to, bad.job_id, capsys)
    if what.startswith("job.json"):
        _append(to)  # It is open: in nobody's way.
    else:
        with pytest.raises(fc.ConcurrentJobError, match=f"--damaged {bad.job_id} --delete"):
            _append(to)
        fc.clean(to, older_than=timedelta(0), dry_run=False)
    with pytest.raises(SystemExit, match="0"):
        main(["clean", str(to), "--damaged", bad.job_id, "--delete"])
    assert fc.jobs(to) == []
    _append(to)
    elsewhere = tmp_path / "elsewhere"
    assert not elsewhere.exists() or (elsewhere / "job.json").exists(), "it followed a link"


@pytest.mark.parametrize(("record", "nth"), [("decision", 1), ("published", 2)])
def test_a_directory_in_place_of_a_decided_jobs_record_is_damage(
    tmp_path: Path, record: str, nth: int
) -> None:
    """It stopped `jobs`, `clean` and every commit; no command got out of it."""
    to = tmp_path / "out"
    with inject(Fault("rename", nth, "crash_before")), suppress(Crash):
        _append(to)
    (bad,) = fc.jobs(to)
    dead = fc.Job(to, mode="append").start()
    _directory(to / "_commit" / bad.job_id / record)
    states = {job.job_id: job.state for job in fc.jobs(to)}
    assert states == {bad.job_id: "damaged", dead.job_id: "open"}
    assert fc.clean(to, older_than=timedelta(0), dry_run=False).aborted == (dead.job_id,)
    with pytest.raises(fc.RequestError) as refused:
        fc.clean(to, damaged=[bad.job_id], dry_run=False)
    assert refused.value.kind == ("committed" if record == "published" else "perhaps_committed")
    if record == "published":
        shutil.rmtree(to / "_commit" / bad.job_id / record)
        assert fc.resume(to, bad.job_id).file_count == 1
    else:
        fc.clean(to, damaged=[bad.job_id], dry_run=False, accept_loss=True)
    assert fc.jobs(to) == []


@pytest.mark.parametrize("is_decided", [True, False], ids=["decided", "open"])
def test_a_committer_that_the_store_cannot_have_is_damage(tmp_path: Path, is_decided: bool) -> None:
    """Of a decided job it was said that it is not committed."""
    to = tmp_path / "out"
    if is_decided:
        with inject(Fault("rename", 1, "crash_before")), suppress(Crash):
            _append(to)
    else:
        fc.Job(to, mode="append").start()
    (bad,) = fc.jobs(to)
    dead = fc.Job(to, mode="append").start()
    record = to / "_commit" / bad.job_id / "job.json"
    right = record.read_text("utf-8")
    record.write_text(right.replace('"committer":"v1"', '"committer":"magic"'), "utf-8")
    [shown] = [job for job in fc.jobs(to) if job.state == "damaged"]
    assert shown.job_id == bad.job_id
    assert "'magic'" in str(shown.damage)
    for settle in (fc.resume, fc.abort):
        with pytest.raises(fc.RecordError, match="'magic'") as caught:
            settle(to, bad.job_id)
        assert caught.value.outcome == "unknown"
    report = fc.clean(to, older_than=timedelta(0), dry_run=False)
    assert report.aborted == (dead.job_id,)
    (line,) = report.shown
    assert bad.job_id in line
    record.write_text(right, "utf-8")
    (fc.resume if is_decided else fc.abort)(to, bad.job_id)
    assert fc.jobs(to) == []


def test_a_job_of_another_stores_committer_can_be_removed(tmp_path: Path) -> None:
    """As of a bucket copied to a disk: each command named the other, and every commit waited."""
    to = tmp_path / "out"
    with inject(Fault("create", 5, "crash_before")), suppress(Crash):
        _append(to)
    (bad,) = fc.jobs(to)
    assert bad.state == "committing"
    record = to / "_commit" / bad.job_id / "job.json"
    right = record.read_text("utf-8")
    record.write_text(right.replace('"committer":"v1"', '"committer":"magic"'), "utf-8")
    with pytest.raises(fc.RecordError, match="remove it with clean --damaged"):
        fc.abort(to, bad.job_id)
    report = fc.clean(to, damaged=[bad.job_id], dry_run=False)
    assert report.deleted == (bad.job_id,)
    assert fc.jobs(to) == []


def test_a_job_that_is_only_shown_changes_no_tokens(tmp_path: Path) -> None:
    """Clean bound it: from then on it listed versions, say, which not everybody may."""
    to = tmp_path / "out"
    with inject(Fault("rename", 1, "crash_before")), suppress(Crash):
        _append(to)
    gone_by: list[Capabilities] = []

    class Seeing(WrappedStore):
        def go_by(self, facts: Capabilities) -> None:
            gone_by.append(facts)
            super().go_by(facts)

    with wrapping(lambda store: Seeing(store, carried)):
        report = fc.clean(to, older_than=timedelta(0), dry_run=False)
    assert len(report.shown) == 1
    assert gone_by == []


async def carried(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
    return await call()


def test_what_any_job_is_refused_spends_one_id(tmp_path: Path) -> None:
    """It was taken for a request that was not answered, eight times: twenty seconds."""
    (tmp_path / "_commit").symlink_to("/nowhere")
    created: list[str] = []

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        created.extend([path] if verb == "create" and path.endswith("/job.json") else [])
        return await call()

    with (
        wrapping(lambda store: WrappedStore(store, carry)),
        pytest.raises(fc.CommitFailedError, match="symbolic link") as caught,
    ):
        fc.Job(tmp_path, mode="append").start()
    assert caught.value.outcome == "not_committed"
    assert len(set(created)) == 1


def _assert_the_way_out_is_named(to: Path, job_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By `show`; and `resume` does not name itself, which does not help."""
    with pytest.raises(SystemExit, match="0"):
        main(["show", str(to), job_id])
    way_out = f"fsspec-commit clean {to} --damaged {job_id} --delete"
    assert f"settle with\t{way_out}" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["resume", str(to), job_id])
    assert "resume" not in capsys.readouterr().err


def test_an_age_or_a_job_is_to_be_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _append(tmp_path / "out")
    with pytest.raises(SystemExit, match="2"):
        main(["clean", str(tmp_path / "out")])
    assert "missing option '--older-than'" in capsys.readouterr().err
    with pytest.raises(fc.RequestError, match=r"older_than=.*damaged="):
        fc.clean(tmp_path / "out")
    with pytest.raises(fc.RequestError, match="a list of job ids"):
        fc.clean(tmp_path / "out", damaged="20261120T140355-9c1e5f00a1b2c3d4")


def test_a_damaged_job_needs_no_age(tmp_path: Path) -> None:
    to = tmp_path / "out"
    *bad, young = (fc.Job(to, mode="append").start() for _ in range(3))
    for one in bad:
        DAMAGED["claim is too long"](to / "_commit" / one.job_id)
    report = fc.clean(to, damaged=[one.job_id for one in bad], dry_run=False)
    assert (report.aborted, report.deleted) == ((), tuple(one.job_id for one in bad))
    assert [job.job_id for job in fc.jobs(to)] == [young.job_id]
    young.abort()


def test_it_is_said_how_much_was_removed(tmp_path: Path) -> None:
    to = tmp_path / "out"
    _append(to)
    for number in range(2):
        left = to / f"_commit/gone-{NONCE[:-1]}{number}"
        left.mkdir()
        (left / "part").write_bytes(bytes(1_000))
    for dry_run in (True, False):
        report = fc.clean(to, older_than=timedelta(0), dry_run=dry_run)
        assert (len(report.deleted), report.bytes) == (2, 2_000)


@pytest.fixture
def refusing() -> Iterator[dict[str, str]]:
    """The ends of paths and the calls that are refused for them: root may do all on a disk."""
    refused: dict[str, str] = {}

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if any(path.endswith(end) and verb == its for end, its in refused.items()):
            raise StoreError(f"may not {verb} {path!r}", path=path, reply=Reply.REFUSED)
        return await call()

    with wrapping(lambda store: WrappedStore(store, carry)):
        yield refused


def test_what_may_not_be_removed_is_named_and_the_rest_goes(
    tmp_path: Path, refusing: dict[str, str]
) -> None:
    kept, gone = sorted(fc.Job(tmp_path, mode="append").start().job_id for _ in range(2))
    (tmp_path / f"_commit/gone-{NONCE}").mkdir()
    refusing |= {f"gone-{NONCE}": "delete_tree", f"{kept}/decision": "create"}
    report = fc.clean(tmp_path, older_than=timedelta(0), dry_run=False)
    assert report.aborted == (gone,)
    assert report.deleted == ()
    assert report.shown == ()
    assert [line.partition(": may not ")[0] for line in report.not_removed] == [
        f"_commit/gone-{NONCE}",
        kept,
    ]
    refusing.clear()
    report = fc.clean(tmp_path, older_than=timedelta(0), dry_run=False)
    assert report.aborted == (kept,)
    assert (report.shown, report.not_removed) == ((), ())
    assert not (tmp_path / "_commit").exists() or not list((tmp_path / "_commit").iterdir())


@pytest.mark.parametrize("record", ["job.json", "decision"])
def test_a_job_whose_record_may_not_be_read_is_unknown(tmp_path: Path, record: str) -> None:
    """It stopped `jobs` and `clean`, and every commit where it was a decision."""
    to = tmp_path / "out"
    with inject(Fault("rename", 1, "crash_before")), suppress(Crash):
        _append(to)
    (bad,) = fc.jobs(to)
    dead = fc.Job(to, mode="append").start()

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "read" and path.endswith(f"{bad.job_id}/{record}"):
            refused = StoreError("not yours", path=path, reply=Reply.REFUSED)
            refused.errno = errno.EACCES
            raise refused
        return await call()

    with wrapping(lambda store: WrappedStore(store, carry)):
        states = {job.job_id: job.state for job in fc.jobs(to)}
        assert states == {bad.job_id: "unknown", dead.job_id: "open"}
        report = fc.clean(to, older_than=timedelta(0), dry_run=False)
        assert report.aborted == (dead.job_id,)
        assert any(bad.job_id in line and "not yours" in line for line in report.shown)
        for settle in (fc.resume, fc.abort):
            with pytest.raises(fc.CommitError, match="not yours") as caught:
                settle(to, bad.job_id)
            assert caught.value.outcome == "unknown"
    assert fc.resume(to, bad.job_id).file_count == 1


def test_a_decision_that_may_not_be_read_is_shown_where_the_job_is_over(tmp_path: Path) -> None:
    """It stopped `clean`, as no other record did."""
    to = tmp_path / "out"
    with inject(Fault("rename", 1, "crash_before")), suppress(Crash):
        _append(to)
    [record] = to.glob("_commit/*/job.json")
    record.unlink()
    dead = fc.Job(to, mode="append").start()

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "read" and path.endswith("/decision"):
            refused = StoreError("not yours", path=path, reply=Reply.REFUSED)
            refused.errno = errno.EACCES
            raise refused
        return await call()

    with wrapping(lambda store: WrappedStore(store, carry)):
        report = fc.clean(to, older_than=timedelta(0), dry_run=False)
    assert report.aborted == (dead.job_id,)
    why = "not yours; nothing says that it is damaged: ask as somebody who may read it"
    shown = (f"{record.parent.name}: cannot be looked at, {why}",)
    assert (report.shown, report.deleted) == (shown, ())


def test_an_area_that_may_not_be_listed_is_damaged(
    tmp_path: Path, refusing: dict[str, str]
) -> None:
    """What its job holds is not known, so nobody commits beside it; all else goes on."""
    hidden, other = sorted(fc.Job(tmp_path, mode="append").start().job_id for _ in range(2))
    refusing[hidden] = "list_children"
    assert {info.job_id: info.state for info in fc.jobs(tmp_path)} == {
        hidden: "damaged",
        other: "open",
    }
    with pytest.raises(fc.ConcurrentJobError) as caught:
        _append(tmp_path)
    assert caught.value.other_job_id == hidden
    report = fc.clean(tmp_path, older_than=timedelta(0), dry_run=False)
    assert other in report.aborted
    assert hidden not in report.aborted
    assert [line for line in report.shown if line.startswith(f"{hidden}: damaged, may not list")]


def test_manifests_that_may_not_be_listed_are_not_counted(
    tmp_path: Path, refusing: dict[str, str]
) -> None:
    with fc.Job(tmp_path, mode="append").start().task(0) as task, task.open("a") as file:
        file.write(b"a")
    refusing["/manifests"] = "list_children"
    (info,) = fc.jobs(tmp_path)
    assert (info.state, info.tasks_committed) == ("open", None)
