"""The local adapter's renames: exclusive, by remembered handles, never where they should not go."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import multiprocessing
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Expect, OpenOptions, Token
from fsspec_commit_stores.local import LocalStore, handles, renaming, system_calls

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from fsspec_commit.store import Durability

T = TypeVar("T")
JOB = "_commit/20261120T140355-9c1e5f00a1b2c3d4"


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


@contextmanager
def refused(*names: object, code: int | None = None) -> Iterator[None]:
    with pytest.raises(StoreError) as caught:
        yield
    assert caught.value.reply is Reply.REFUSED, caught.value
    for name in names:
        assert str(name) in str(caught.value)
    if code is not None:
        assert caught.value.errno == code


def names(place: Path) -> list[str]:
    return sorted(child.name for child in place.iterdir())


def write(path: Path, data: bytes = b"1") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def rename(
    store: LocalStore,
    source: str,
    target: str,
    expecting: Expect | Token = Expect.ABSENT,
    within: str = "",
) -> None:
    run(
        store.files.rename(
            StorePath(f"{store.root}/{source}"),
            StorePath(f"{store.root}/{target}"),
            token=None,
            expecting=expecting,
            within=StorePath(f"{store.root}/{within}") if within else store.root,
        )
    )


def rename_directory(store: LocalStore, source: str, target: str, within: str = "") -> None:
    run(
        store.directories.rename_directory(
            StorePath(f"{store.root}/{source}"),
            StorePath(f"{store.root}/{target}"),
            within=StorePath(f"{store.root}/{within}") if within else store.root,
        )
    )


def opened(root: Path, durability: Durability = "none") -> LocalStore:
    return run(LocalStore.open(str(root), OpenOptions(durability=durability)))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "out"
    root.mkdir()
    return root


@pytest.fixture
def store(root: Path) -> Iterator[LocalStore]:
    store = opened(root)
    before = len(names(Path("/proc/self/fd")))
    yield store
    run(store.close())
    assert len(names(Path("/proc/self/fd"))) <= before


@pytest.fixture(params=["renameat2", "without it"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the system call and without."""
    if request.param == "without it":
        monkeypatch.setattr(system_calls, "_rename_at_2", None)


def test_this_machine_has_the_system_call() -> None:
    assert system_calls._rename_at_2 is not None


@pytest.mark.usefixtures("way")
def test_an_exclusive_rename(store: LocalStore, root: Path) -> None:
    write(root / "work/a", b"new")
    write(root / "work/b", b"late")
    before = run(store.stat(StorePath(f"{root}/work/a")))
    rename(store, "work/a", "day=1/x/a")
    after = run(store.stat(StorePath(f"{root}/day=1/x/a")))
    assert isinstance(before, Entry)
    assert isinstance(after, Entry)
    assert after.token == before.token
    with refused(f"{root}/day=1/x/a", "exists", code=errno.EEXIST):
        rename(store, "work/b", "day=1/x/a")
    with refused(f"{root}/work/a", "source does not exist", code=errno.ENOENT):
        rename(store, "work/a", "day=1/x/c")
    assert (root / "day=1/x/a").read_bytes() == b"new"
    assert names(root / "work") == ["b"]


def test_replacing(store: LocalStore, root: Path) -> None:
    for number in range(3):
        write(root / f"work/{number}", b"%d" % number)
    rename(store, "work/0", "d/a", Expect.ANYTHING)
    rename(store, "work/1", "d/a", Expect.ANYTHING)
    standing = run(store.stat(StorePath(f"{root}/d/a")))
    assert isinstance(standing, Entry)
    with refused("not the content"):
        rename(store, "work/2", "d/a", Token("1-1-1"))
    with refused("gone"):
        rename(store, "work/2", "d/b", standing.token)
    assert (root / "d/a").read_bytes() == b"1"
    rename(store, "work/2", "d/a", standing.token)
    assert (root / "d/a").read_bytes() == b"2"
    (root / "d/dir").mkdir()
    write(root / "work/3")
    with refused(f"{root}/d/dir", code=errno.EISDIR):
        rename(store, "work/3", "d/dir", Expect.ANYTHING)


@pytest.mark.parametrize(
    "name", ["a b", "100%", "%41", "day=1", "[x]", "n\nl", "\u00e9", "e\u0301", "x" * 255, "..."]
)
@pytest.mark.usefixtures("way")
def test_odd_names(store: LocalStore, root: Path, name: str) -> None:
    write(root / "work" / name / name)
    rename(store, f"work/{name}/{name}", f"{name}/{name}")
    assert names(root / name) == [name]
    assert names(root / "work" / name) == []


def test_a_name_that_is_too_long_is_refused(store: LocalStore, root: Path) -> None:
    write(root / "work/a")
    with refused(code=errno.ENAMETOOLONG):
        rename(store, "work/a", "x" * 256)
    with refused(code=errno.ENAMETOOLONG):
        rename(store, "work/a", "x" * 256 + "/a")
    with refused():
        rename(store, "work/a", "b\0c")
    assert names(root) == ["work"]


def test_a_file_in_the_way_is_named(store: LocalStore, root: Path) -> None:
    write(root / "work/a")
    write(root / "d/file")
    with refused(f"{root}/d/file", "in the way", code=errno.ENOTDIR):
        rename(store, "work/a", "d/file/x/a")
    assert names(root / "work") == ["a"]


def test_a_missing_within_stays_missing(store: LocalStore, root: Path) -> None:
    write(root / "work/a")
    with refused(f"{root}/_commit", "missing"):
        rename(store, "work/a", f"{JOB}/trash/a", within=JOB)
    assert names(root) == ["work"]


def test_only_files_are_renamed(store: LocalStore, root: Path, tmp_path: Path) -> None:
    write(tmp_path / "secret")
    write(root / "work/d/a")
    (root / "work/link").symlink_to(tmp_path / "secret")
    os.mkfifo(root / "work/pipe")
    for target in ("x", "new/x", f"{JOB}/trash/x"):
        with refused(f"{root}/work/d", "directory"):
            rename(store, "work/d", target)
        with refused(f"{root}/work/link", "symbolic link"):
            rename(store, "work/link", target)
        with refused(f"{root}/work/pipe"):
            rename(store, "work/pipe", target)
    assert names(root / "work") == ["d", "link", "pipe"]


def test_links_are_not_followed(store: LocalStore, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside / "s")
    write(root / "work/a")
    (root / "link").symlink_to(outside)
    with refused(f"{root}/link", "symbolic link", code=errno.ELOOP):
        rename(store, "work/a", "link/a")
    with refused(f"{root}/link", "symbolic link"):
        rename(store, "work/a", "link/new/a")
    with refused(f"{root}/link", "symbolic link"):
        rename(store, "link/s", "s")
    with refused(f"{root}/link", "symbolic link"):
        rename_directory(store, "work", "link/work")
    with refused(f"{root}/link", "symbolic link"):
        rename_directory(store, "link", "taken")
    with refused(f"{root}/link"):
        rename(store, "work/a", "link", Expect.ANYTHING)
    assert names(outside) == ["s"]
    assert names(root / "work") == ["a"]


def test_a_mount_inside_the_destination_is_refused(store: LocalStore, root: Path) -> None:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root mounts a disk")
    place = root / "mounted"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "tmpfs", str(place)]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("this sandbox forbids mounts")
    try:
        write(root / "work/a")
        with refused(f"{root}/mounted/a", "copy", code=errno.EXDEV):
            rename(store, "work/a", "mounted/a")
        assert names(place) == []
        run(store.close())
    finally:
        subprocess.run(["umount", str(place)], check=True)


# Handles that are remembered


def test_a_directory_made_again_is_found(store: LocalStore, root: Path) -> None:
    for turn in range(3):
        for name in "abc":
            write(root / f"work/{name}")
            rename(store, f"work/{name}", f"d/{name}")
        assert names(root / "d") == ["a", "b", "c"], turn
        shutil.rmtree(root / "d")
        shutil.rmtree(root / "work")


@pytest.mark.parametrize("moved", ["d", "d/e"])
def test_a_directory_moved_away_gets_nothing_more(
    store: LocalStore,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    moved: str,
) -> None:
    monkeypatch.setattr(handles, "TRUSTED_NS", -1)
    for name in "abcxy":
        write(root / "work" / name)
    for name in "axy":  # the first makes the directory, the others open and use a handle
        rename(store, f"work/{name}", f"d/e/{name}")
    assert f"{store.root}/d/e" in store.files._handles._held
    (root / moved).rename(tmp_path / "backup")
    rename(store, "work/b", "d/e/b")
    assert names(root / "d/e") == ["b"]
    # And not through a link to where it has gone, either.
    (root / moved).rename(tmp_path / "again")
    (root / moved).symlink_to(tmp_path / "again")
    with refused(root / moved, "symbolic link"):
        rename(store, "work/c", "d/e/c")
    assert names(root / "work") == ["c"]


def test_nothing_reaches_an_area_that_was_renamed_away(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handles, "TRUSTED_NS", 1 << 60)
    write(root / JOB / "committed/0/a/x.pending")
    write(root / JOB / "committed/0/a/y.pending")
    write(root / "older")
    rename(store, f"{JOB}/committed/0/a/x.pending", "x")
    for name in ("old0", "old1", "old2"):
        write(root / name)
        rename(store, name, f"{JOB}/trash/{name}", within=JOB)
    (root / JOB).rename(root / "_commit/gone-1")
    with refused(JOB, "missing"):
        rename(store, "older", f"{JOB}/trash/older", within=JOB)
    assert names(root / "_commit/gone-1/trash") == ["old0", "old1", "old2"]
    # The other driver had published all of it before, so a source is not there any more.
    (root / "_commit/gone-1/committed/0/a/y.pending").rename(root / "y")
    with refused("source does not exist"):
        rename(store, f"{JOB}/committed/0/a/y.pending", "y2")
    assert names(root) == ["_commit", "older", "x", "y"]


def test_a_new_directory_in_one_that_was_moved_away_is_not_opened_there(
    store: LocalStore, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory is opened in the one above it, which is remembered: that is looked at again."""
    for name in "abc":
        write(root / "work" / name)
    rename(store, "work/a", "d/e/a")
    rename(store, "work/b", "d/e/b")
    assert f"{store.root}/d" in store.files._handles._held
    (root / "d").rename(tmp_path / "backup")
    (tmp_path / "backup/f").mkdir()
    monkeypatch.setattr(handles, "TRUSTED_NS", -1)
    rename(store, "work/c", "d/f/c")
    assert names(root / "d/f") == ["c"]
    assert names(tmp_path / "backup/f") == []


def test_what_is_opened_in_a_directory_is_trusted_no_longer_than_that(
    store: LocalStore, root: Path, tmp_path: Path
) -> None:
    for name in "abc":
        write(root / "work" / name)
    rename(store, "work/a", "d/e/a")
    rename(store, "work/b", "d/e/b")
    above = store.files._handles._held[f"{store.root}/d"]
    below = store.files._handles._held[f"{store.root}/d/e"]
    assert below.looked_at_ns == above.looked_at_ns
    assert above.is_in_place()
    (root / "d").rename(tmp_path / "backup")
    above.looked_at_ns -= handles.TRUSTED_NS + 1
    assert not above.is_in_place()


def test_the_root_of_the_disk_is_remembered_under_its_own_name() -> None:
    store = run(LocalStore.open("/", OpenOptions()))
    handle, name = store.files._handles.parent_of(StorePath("/tmp"))
    assert (handle.path, name, handle.is_in_area) == (b"/", b"tmp", False)
    again, _ = store.files._handles.parent_of(StorePath("/usr"))
    assert again is handle
    run(store.close())


def test_our_own_directory_renames_are_known_at_once(store: LocalStore, root: Path) -> None:
    write(root / "tasks/0/a")
    write(root / "tasks/0/b")
    rename(store, "tasks/0/a", "a")
    rename_directory(store, "tasks", "committed")
    with refused("source does not exist"):
        rename(store, "tasks/0/b", "b")
    rename(store, "committed/0/b", "b")
    run(store.delete_tree(StorePath(f"{root}/committed")))
    write(root / "committed/0/c")
    rename(store, "committed/0/c", "c")
    assert names(root) == ["a", "b", "c", "committed"]


def test_handles_are_bounded(store: LocalStore, root: Path) -> None:
    before = len(names(Path("/proc/self/fd")))
    for number in range(3 * handles.CAPACITY):
        write(root / f"work/{number}/a")
        rename(store, f"work/{number}/a", f"d{number % 200}/{number}")
        assert len(names(Path("/proc/self/fd"))) <= before + handles.CAPACITY
    run(store.close())
    assert len(names(Path("/proc/self/fd"))) == before


def test_without_proc_no_handle_is_trusted(
    store: LocalStore, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_proc(path: bytes) -> bytes:
        raise FileNotFoundError(errno.ENOENT, "no /proc here", path)

    monkeypatch.setattr(handles, "TRUSTED_NS", -1)
    monkeypatch.setattr(os, "readlink", no_proc)
    for name in "abxy":
        write(root / "work" / name)
    for name in "axy":
        rename(store, f"work/{name}", f"d/{name}")
    (root / "d").rename(tmp_path / "backup")
    rename(store, "work/b", "d/b")
    assert names(root / "d") == ["b"]


# Where the system call is missing


def test_a_file_system_without_the_flag(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []

    def unsupported(source: int, name: bytes, target: int, new: bytes, flags: int) -> int:
        asked.append(name)
        ctypes.set_errno(errno.EINVAL)
        return -1

    monkeypatch.setattr(system_calls, "_rename_at_2", unsupported)
    write(root / "work/a")
    write(root / "work/b", b"2")
    rename(store, "work/a", "a")
    with refused("exists"):
        rename(store, "work/b", "a")
    rename_directory(store, "work", "done")
    assert asked == [b"a", b"b", b"work"]
    assert names(root) == ["a", "done"]
    assert (root / "a").read_bytes() == b"1"


def test_a_rename_that_was_cut_in_two_goes_on(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_calls, "_rename_at_2", None)
    write(root / "work/a")
    (root / "a").hardlink_to(root / "work/a")
    rename(store, "work/a", "a")
    assert names(root / "work") == []
    assert (root / "a").read_bytes() == b"1"


def test_half_a_rename_is_unknown(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(name: bytes, **_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), name)

    write(root / "work/a")
    with monkeypatch.context() as patched:
        patched.setattr(system_calls, "_rename_at_2", None)
        patched.setattr(os, "unlink", read_only)
        with pytest.raises(StoreError) as caught:
            rename(store, "work/a", "a")
    assert caught.value.reply is Reply.UNKNOWN


# Directories


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("standing", ["empty", "full", "file"])
def test_a_directory_rename_is_exclusive(store: LocalStore, root: Path, standing: str) -> None:
    write(root / "tasks/0/a")
    if standing == "file":
        write(root / "committed/0")
    else:
        (root / "committed/0").mkdir(parents=True)
        if standing == "full":
            write(root / "committed/0/b")
    with refused(f"{root}/committed/0", "exists", code=errno.EEXIST):
        rename_directory(store, "tasks/0", "committed/0")
    assert names(root / "tasks/0") == ["a"]
    rename_directory(store, "tasks/0", "committed/1")
    assert names(root / "committed/1") == ["a"]


@pytest.mark.usefixtures("way")
def test_what_is_no_directory_is_not_renamed_as_one(store: LocalStore, root: Path) -> None:
    write(root / "file")
    write(root / "d/a")
    with refused(f"{root}/file", code=errno.ENOTDIR):
        rename_directory(store, "file", "x")
    with refused("source does not exist", code=errno.ENOENT):
        rename_directory(store, "none", "x")
    with refused("source does not exist"):
        rename_directory(store, "file/none", "x")
    with refused(code=errno.EINVAL):
        rename_directory(store, "d", "d/e/f")
    with refused("missing"):
        rename_directory(store, "d", f"{JOB}/committed/d", within=JOB)
    with refused():
        rename_directory(store, "", "x")
    assert (root / "d/a").exists()


# What is flushed


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that were flushed, in order; the file system shows as ``*``."""
    seen: list[str] = []
    fsync, syncfs = os.fsync, system_calls.flush_file_system

    def flush(descriptor: int) -> None:
        seen.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    def flush_all(descriptor: int) -> None:
        seen.append("*")
        syncfs(descriptor)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(renaming, "flush_file_system", flush_all)
    return seen


def test_none_flushes_no_data(root: Path, flushed: list[str]) -> None:
    store = opened(root)
    write(root / "work/a")
    write(root / f"{JOB}/_SUCCESS.pending")
    rename(store, "work/a", "d/a")
    rename_directory(store, "work", "w")
    rename(store, f"{JOB}/_SUCCESS.pending", "_SUCCESS")
    run(store.close())
    assert flushed == []


def test_marker_flushes_all_before_it_appears(root: Path, flushed: list[str]) -> None:
    store = opened(root, "marker")
    write(root / "work/a")
    write(root / f"{JOB}/_SUCCESS.pending")
    rename(store, "work/a", "d/a")
    rename_directory(store, "work", "w")
    assert flushed == []
    rename(store, f"{JOB}/_SUCCESS.pending", "_SUCCESS")
    assert flushed == ["*", "out"]
    run(store.close())


def test_full_flushes_names_before_the_next_record(root: Path, flushed: list[str]) -> None:
    store = opened(root, "full")
    write(root / "tasks/0/d/a")
    write(root / "tasks/0/b")
    write(root / "committed/0/y/x")
    rename_directory(store, "tasks/0", "committed/1")
    assert set(flushed) == {"0", "d", "a", "b", "committed", "tasks"}
    flushed.clear()
    rename(store, "committed/1/d/a", "p1/a")
    rename(store, "committed/1/b", "p1/b")
    rename(store, "committed/0/y/x", "p2/x")
    shutil.rmtree(root / "p2")
    assert flushed == []
    record = StorePath(f"{root}/published")
    run(store.put(record, b"", expecting=Expect.ANYTHING, within=store.root))
    assert flushed[0] == "p1"
    assert flushed[2:] == ["out"]
    flushed.clear()
    run(store.close())
    assert flushed == []


# Races


def racer(root: str, number: int, rounds: int, start: Any, won: Any) -> None:
    store = opened(Path(root))
    wins = []
    for turn in range(rounds):
        start.wait()
        try:
            rename(store, f"work/{number}/{turn}", f"d{turn % 3}/{turn}")
        except StoreError as error:
            if (error.reply, error.errno) != (Reply.REFUSED, errno.EEXIST):
                raise
        else:
            wins.append(turn)
    won.put((number, wins))


@pytest.mark.usefixtures("way")
def test_of_two_processes_one_renames(root: Path) -> None:
    rounds = 200
    for number in range(2):
        for turn in range(rounds):
            write(root / f"work/{number}/{turn}", b"%d" % number)
    fork = multiprocessing.get_context("fork")
    start, won = fork.Barrier(2), fork.SimpleQueue()
    racers = [
        fork.Process(target=racer, args=(str(root), number, rounds, start, won))
        for number in range(2)
    ]
    for process in racers:
        process.start()
    wins = dict(won.get() for _ in racers)
    for process in racers:
        process.join()
        assert process.exitcode == 0
    assert sorted(wins[0] + wins[1]) == list(range(rounds))
    for number, turns in wins.items():
        for turn in turns:
            assert (root / f"d{turn % 3}/{turn}").read_bytes() == b"%d" % number
        left = {str(turn) for turn in range(rounds)} - {str(turn) for turn in turns}
        assert set(names(root / f"work/{number}")) == left
