"""The local adapter: where it opens, what it shows, reads, puts and deletes."""

from __future__ import annotations

import asyncio
import errno
import multiprocessing
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from fsspec_commit.errors import Reply, RequestError, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Directory, Entry, Expect, OpenOptions, Token
from fsspec_commit_stores.local import LocalStore, contents, failures, opening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


def collected(listing: AsyncIterator[T]) -> list[T]:
    async def collect() -> list[T]:
        return [found async for found in listing]

    return run(collect())


def put(
    store: LocalStore,
    path: StorePath,
    data: bytes = b"1",
    expecting: Expect | Token = Expect.ABSENT,
    within: StorePath | None = None,
) -> Token:
    return run(store.put(path, data, expecting=expecting, within=within))


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


def handles() -> int:
    return len(names(Path("/proc/self/fd")))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def store(root: Path) -> Iterator[LocalStore]:
    store = run(LocalStore.open(str(root), OpenOptions()))
    before = handles()
    yield store
    run(store.close())
    assert handles() <= before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root mounts a small disk")
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("this sandbox forbids mounts")
    yield place
    subprocess.run(["umount", str(place)], check=True)


# Opening


@pytest.mark.parametrize("form", ["{}", "file://{}", "local://{}", "file:{}", "{}/", "{}/x/.."])
def test_a_url_and_a_path_name_the_same(root: Path, form: str) -> None:
    (root / "x").mkdir(parents=True)
    assert run(LocalStore.open(form.format(root), OpenOptions())).root == str(root)


def test_localhost_is_this_machine(root: Path) -> None:
    assert run(LocalStore.open(f"file://localhost{root}", OpenOptions())).root == str(root)


def test_relative_paths_are_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for url in ("a b%20c", "./a b%20c", "file://a b%20c", "~/a b%20c"):
        assert run(LocalStore.open(url, OpenOptions())).root == f"{tmp_path}/a b%20c"


def test_links_above_the_destination_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    store = run(LocalStore.open(f"{tmp_path}/link/not/yet", OpenOptions()))
    assert store.root == f"{tmp_path}/real/not/yet"
    put(store, StorePath(f"{store.root}/a"))
    assert (tmp_path / "real/not/yet/a").read_bytes() == b"1"


def test_opening_makes_nothing(root: Path, store: LocalStore) -> None:
    assert not root.exists()
    assert run(store.stat(store.root)) is None


def test_a_file_is_no_destination(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    with refused(tmp_path / "f", code=errno.ENOTDIR):
        run(LocalStore.open(f"{tmp_path}/f", OpenOptions()))


@pytest.mark.parametrize("url", ["", "file://", "/a\0b", "/\udcff"])
def test_a_url_that_names_nothing_is_refused(url: str) -> None:
    with pytest.raises(RequestError):
        run(LocalStore.open(url, OpenOptions()))


def test_windows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "name", "nt")
        with pytest.raises(RequestError, match="Linux and macOS") as caught:
            run(LocalStore.open("file:///tmp/x", OpenOptions()))
    assert caught.value.kind == "unsupported_platform"


@pytest.mark.parametrize(
    ("kind", "is_local"),
    [("ext4", True), ("overlay", True), ("tmpfs", True), ("fuseblk", True), ("btrfs", True)]
    + [(kind, False) for kind in ("nfs4", "cifs", "smb3", "9p", "ceph", "lustre", "virtiofs")]
    + [(kind, False) for kind in ("fuse.sshfs", "fuse.s3fs", "vboxsf", "drvfs", "new-netfs")],
)
def test_listings_of_network_mounts_are_unknown(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, *, is_local: bool
) -> None:
    mounts = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    altered = [
        f"{line.partition(' - ')[0]} - {kind} {line.partition(' - ')[2].partition(' ')[2]}"
        for line in mounts
    ]
    table = tmp_path / "mountinfo"
    table.write_text("\n".join(altered), "utf-8", "surrogateescape")
    monkeypatch.setattr(opening, "_MOUNTS", table)
    found = run(LocalStore.open(str(root), OpenOptions())).capabilities
    assert found.consistent_listing is (True if is_local else None)
    assert found.evidence.get("consistent_listing", "declared") == "declared"
    alone = run(LocalStore.open(str(root), OpenOptions(single_writer=True))).capabilities
    assert alone.consistent_listing is True
    assert alone.evidence.get("consistent_listing") == (None if is_local else "assumed")


def test_without_proc_listings_are_unknown(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_MOUNTS", tmp_path / "none")
    assert run(LocalStore.open(str(root), OpenOptions())).capabilities.consistent_listing is None


def test_the_mount_on_top_is_the_one_that_counts(small_disk: Path) -> None:
    assert opening.mounted_from(StorePath(f"{small_disk}/not/yet")) == "tmpfs"


# Failures


@pytest.mark.parametrize(
    ("code", "reply"),
    [
        (code, Reply.REFUSED)
        for code in (
            *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ELOOP),
            *(errno.ENAMETOOLONG, errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR),
            errno.EXDEV,
        )
    ]
    + [(code, Reply.NOT_DONE) for code in (errno.EMFILE, errno.EINTR, errno.EAGAIN)]
    + [(code, Reply.UNKNOWN) for code in (errno.EIO, errno.ETIMEDOUT, errno.ESTALE, errno.EPROTO)],
)
def test_an_os_error_is_classified_once(code: int, reply: Reply) -> None:
    cause = OSError(code, os.strerror(code), "/somewhere/else")
    with pytest.raises(StoreError) as caught, failures.reporting("read", "/d/a"):
        raise cause
    error = caught.value
    assert (error.reply, error.errno, error.path) == (reply, code, "/d/a")
    assert error.__cause__ is cause
    assert str(error).startswith("cannot read '/d/a': ")
    with pytest.raises(StoreError) as again, failures.reporting("write", "/e"):
        raise error
    assert again.value is error


def test_a_directory_one_may_not_enter_is_refused() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    place = tempfile.mkdtemp(dir="/tmp")
    try:
        Path(place).chmod(0o755)
        Path(place, "a").write_bytes(b"1")
        os.seteuid(65534)
        store = run(LocalStore.open(place, OpenOptions()))
        with refused(f"{place}/b", "Permission denied", code=errno.EACCES):
            put(store, StorePath(f"{place}/b"), within=store.root)
        with refused(f"{place}/a", code=errno.EACCES):
            run(store.delete(StorePath(f"{place}/a"), expecting=Expect.ANYTHING))
        assert names(Path(place)) == ["a"]
    finally:
        os.seteuid(0)
        shutil.rmtree(place)


# Reading


def test_a_link_is_refused_by_every_verb(store: LocalStore, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a").write_bytes(b"secret")
    root.mkdir()
    (root / "file").symlink_to(tmp_path / "outside/a")
    (root / "dir").symlink_to(tmp_path / "outside")
    (root / "dangling").symlink_to(tmp_path / "outside/new")
    for name in ("file", "dir/a", "dangling"):
        path = StorePath(f"{root}/{name}")
        link = f"{root}/{name.partition('/')[0]}"
        with refused(link, "symbolic link"):
            run(store.stat(path))
        with refused(link, "symbolic link"):
            run(store.read(path, limit_bytes=9))
        with refused(link, "symbolic link"):
            run(store.read_range(path, start=0, length=1))
        with refused(link, "symbolic link"):
            run(store.delete(path, expecting=Expect.ANYTHING))
        with refused(link, "symbolic link"):
            put(store, path, expecting=Expect.ANYTHING)
        with refused(link):
            put(store, path, expecting=Expect.ABSENT)
        with refused(link, "symbolic link"):
            store.direct.writer(path, within=store.root)
    for listing in (store.list_tree(store.root), store.list_children(store.root)):
        with refused(root, "symbolic link"):
            collected(listing)
    with refused(f"{root}/dir", "symbolic link"):
        collected(store.list_tree(StorePath(f"{root}/dir")))
    assert names(tmp_path / "outside") == ["a"]
    assert (tmp_path / "outside/a").read_bytes() == b"secret"


def test_special_files_are_refused_without_waiting(store: LocalStore, root: Path) -> None:
    root.mkdir()
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(root / "socket"))
    for name in ("pipe", "socket"):
        path = StorePath(f"{root}/{name}")
        for question in (
            store.stat(path),
            store.read(path, limit_bytes=1),
            store.read_range(path, start=0, length=1),
            store.delete(path, expecting=Expect.ANYTHING),
        ):
            with refused(path):
                run(question)
    with refused(root):
        collected(store.list_tree(store.root))


def test_a_file_that_grows_while_it_is_read_is_asked_for_again(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = StorePath(f"{root}/a")
    put(store, path, b"123")
    fstat = os.fstat

    def and_then_grow(descriptor: int) -> os.stat_result:
        status = fstat(descriptor)
        with (root / "a").open("ab") as file:
            file.write(b"4")
        return status

    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", and_then_grow)
        with pytest.raises(StoreError) as caught:
            run(store.read(path, limit_bytes=100))
    assert caught.value.reply is Reply.NOT_DONE


@pytest.mark.parametrize("name", ["../a", "a/../../b", "a//b", "./a", "a/.", "", "a/", "x\0y"])
def test_no_verb_leaves_the_destination(store: LocalStore, root: Path, name: str) -> None:
    (root / "a").mkdir(parents=True)
    (root / "x").write_bytes(b"1")
    path = StorePath(f"{root}/{name}")
    with refused():
        put(store, path, expecting=Expect.ANYTHING)
    with refused():
        store.direct.writer(path, within=store.root)
    with refused():
        run(
            store.files.rename(path, path, token=None, expecting=Expect.ANYTHING, within=store.root)
        )
    with refused():
        run(store.delete_tree(path))
    assert names(root) == ["a", "x"]


def test_paths_elsewhere_are_refused(store: LocalStore, root: Path, tmp_path: Path) -> None:
    for path in (f"{root}2/a", f"{tmp_path}/a", "/etc/passwd", "a"):
        with refused():
            run(store.stat(StorePath(path)))
        with refused():
            put(store, StorePath(path))
    (root / "a").mkdir(parents=True)
    (root / "b").mkdir()
    with refused():
        put(store, StorePath(f"{root}/a/x"), within=StorePath(f"{root}/b"))
    with refused():
        run(store.delete_tree(store.root))


# Listings


def test_names_that_are_not_utf_8_are_refused_by_name(store: LocalStore, root: Path) -> None:
    root.mkdir()
    Path(os.fsdecode(bytes(root) + b"/caf\xe9")).write_bytes(b"1")
    for listing in (store.list_tree(store.root), store.list_children(store.root)):
        with refused("'caf\\udce9'", code=errno.EILSEQ):
            collected(listing)


def test_names_are_utf_8_in_every_locale(root: Path) -> None:
    script = """
import asyncio, sys
from fsspec_commit.store import Expect, OpenOptions
from fsspec_commit_stores.local import LocalStore
async def main():
    store = await LocalStore.open(sys.argv[1], OpenOptions())
    for name in ("caf\\u00e9/a", "caf\\u00e9/\\u65e5"):
        path = store.root + "/" + name
        await store.put(path, b"1", expecting=Expect.ABSENT, within=None)
        to = store.root + "/moved/" + name
        await store.files.rename(path, to, token=None, expecting=Expect.ABSENT, within=store.root)
        assert (await store.stat(to)).path == to
    print(sys.getfilesystemencoding(), ascii([e.path async for e in store.list_tree(store.root)]))
asyncio.run(main())
"""
    environment = {
        **os.environ,
        "LC_ALL": "POSIX",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    output = subprocess.run(
        [sys.executable, "-c", script, str(root)], env=environment, capture_output=True, check=True
    ).stdout.decode()
    assert not output.startswith("utf-8"), "this locale shows nothing"
    assert "caf\\xe9/\\u65e5" in output
    assert names(root / "moved/caf\u00e9") == ["a", "\u65e5"]


def test_both_normal_forms_of_a_name_are_kept_apart(store: LocalStore, root: Path) -> None:
    names = ["caf\u00e9", "cafe\u0301"]
    for name in names:
        put(store, StorePath(f"{root}/{name}/{name}"), name.encode())
    listed = sorted(entry.path for entry in collected(store.list_tree(store.root)))
    assert listed == sorted(f"{root}/{name}/{name}" for name in names)


def test_a_tree_without_one_directory(store: LocalStore, root: Path) -> None:
    for name in ("_commit/job/a", "_commit2/a", "d/_commit/a"):
        put(store, StorePath(f"{root}/{name}"))
    (root / "_commit/link").symlink_to("job")  # would be refused if it were walked
    area = StorePath(f"{root}/_commit")
    listed = collected(store.list_tree(store.root, without=area))
    assert sorted(e.path for e in listed) == [f"{root}/_commit2/a", f"{root}/d/_commit/a"]
    assert collected(store.list_tree(StorePath(f"{area}/job"), without=area)) == []
    assert collected(store.list_tree(area, without=area)) == []


def test_a_directory_swapped_for_a_link_during_a_walk(
    store: LocalStore, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_bytes(b"")
    put(store, StorePath(f"{root}/a"))
    put(store, StorePath(f"{root}/d/b"))

    async def walk() -> list[StorePath]:
        listed = []
        async for entry in store.list_tree(store.root):
            listed.append(entry.path)
            (root / "d").rename(tmp_path / "moved")
            (root / "d").symlink_to(tmp_path / "outside")
        return listed

    with refused(f"{root}/d", "symbolic link"):
        run(walk())


def test_an_abandoned_listing_closes_its_handles(store: LocalStore, root: Path) -> None:
    for number in range(20):
        put(store, StorePath(f"{root}/d/{number}"))

    async def first() -> int:
        before = handles()
        for _ in range(50):
            listing = store.list_tree(store.root)
            await anext(listing)
            del listing
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return handles() - before

    assert run(first()) <= 0


# Puts


def test_a_record_is_flushed_before_it_is_seen(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = StorePath(f"{root}/new/a")
    seen: list[tuple[str, bool]] = []
    fsync = os.fsync

    def flush(descriptor: int) -> None:
        kind = "directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        seen.append((kind, (root / "new/a").exists()))
        fsync(descriptor)

    root.mkdir()
    monkeypatch.setattr(os, "fsync", flush)
    put(store, path, within=store.root)
    made = ("directory", False)
    assert seen == [made, ("file", False), ("directory", True)]
    seen.clear()
    put(store, path, b"2", expecting=Expect.ANYTHING)
    assert seen == [("file", True), ("directory", True)]


@pytest.fixture(params=["unnamed", "named"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``O_TMPFILE`` and without."""
    if request.param == "named":
        monkeypatch.setattr(contents, "_UNNAMED", 0)


@pytest.mark.usefixtures("way")
def test_the_first_put_stands(store: LocalStore, root: Path) -> None:
    path = StorePath(f"{root}/a")
    token = put(store, path, b"first")
    with refused(path, code=errno.EEXIST):
        put(store, path, b"second")
    entry = run(store.stat(path))
    assert entry == Entry(path=path, size_bytes=5, token=token)
    assert names(root) == ["a"]
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o666 & ~current_umask()


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.usefixtures("way")
def test_a_full_disk_refuses_and_nothing_is_left(small_disk: Path) -> None:
    store = run(LocalStore.open(str(small_disk), OpenOptions()))
    path = StorePath(f"{small_disk}/a")
    for expecting in (Expect.ABSENT, Expect.ANYTHING):
        with refused(path, "No space left", code=errno.ENOSPC):
            put(store, path, b"x" * 1_000_000, expecting, store.root)
        assert names(small_disk) == []
    token = put(store, path, b"fits", within=store.root)
    with refused(code=errno.ENOSPC):
        put(store, path, b"x" * 1_000_000, token, store.root)
    assert Path(path).read_bytes() == b"fits"


def test_a_name_that_may_not_survive_is_unknown(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def failing(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    root.mkdir()
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(StoreError) as caught:
        put(store, StorePath(f"{root}/a"), within=store.root)
    assert caught.value.reply is Reply.UNKNOWN
    assert (root / "a").exists()


def test_a_token_is_looked_at_before_a_put(store: LocalStore, root: Path) -> None:
    path = StorePath(f"{root}/a")
    with refused("gone", code=errno.ENOENT):
        put(store, path, b"1", Token("1-1-1"))
    first = put(store, path, b"1")
    second = put(store, path, b"2", first)
    assert first != second
    with refused("not the content"):
        put(store, path, b"3", first)
    assert Path(path).read_bytes() == b"2"


def test_a_missing_within_is_named(store: LocalStore, root: Path) -> None:
    put(store, StorePath(f"{root}/a"))
    area = StorePath(f"{root}/_commit/job")
    with refused(f"{root}/_commit", "missing", code=errno.ENOENT):
        put(store, StorePath(f"{area}/claim"), within=area)
    with refused(f"{root}/a", "in the way", code=errno.ENOTDIR):
        put(store, StorePath(f"{root}/a/b/c"), within=store.root)
    assert names(root) == ["a"]


def has_lost(change: Callable[[], object]) -> bool:
    """Whether somebody else came first; certain of it, one way or the other."""
    try:
        change()
    except StoreError as error:
        return (error.reply, error.errno) == (Reply.REFUSED, errno.EEXIST) or pytest.fail(
            str(error)
        )
    return False


def racer(root: str, number: int, rounds: int, start: Any, won: Any) -> None:
    store = run(LocalStore.open(root, OpenOptions()))
    wins = []
    for turn in range(rounds):
        start.wait()
        path = StorePath(f"{root}/{turn}")
        if not has_lost(partial(put, store, path, b"%d" % number, within=store.root)):
            wins.append(turn)
    won.put((number, wins))


@pytest.mark.usefixtures("way")
def test_of_two_processes_one_puts(root: Path) -> None:
    root.mkdir()
    rounds = 200
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
        assert {(root / str(turn)).read_bytes() for turn in turns} <= {b"%d" % number}
    assert len(names(root)) == rounds


# Deletions


def test_no_disk_deletes_on_a_condition(store: LocalStore, root: Path) -> None:
    token = put(store, StorePath(f"{root}/a"))
    for expecting in (token, Expect.ABSENT):
        with refused("condition"):
            run(store.delete(StorePath(f"{root}/a"), expecting=expecting))
    assert (root / "a").exists()


def test_a_tree_goes_and_what_its_links_point_to_stays(
    store: LocalStore, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a").write_bytes(b"")
    put(store, StorePath(f"{root}/t/d/e/b"))
    (root / "t/d/link").symlink_to(tmp_path / "outside")
    (root / "t/dangling").symlink_to("nowhere")
    (root / "t/caf\udce9").write_bytes(b"")
    os.mkfifo(root / "t/pipe")
    (root / "l").symlink_to(tmp_path / "outside")
    run(store.delete_tree(StorePath(f"{root}/t")))
    run(store.delete_tree(StorePath(f"{root}/l")))
    assert names(root) == []
    assert names(tmp_path / "outside") == ["a"]


def test_a_file_is_no_tree(store: LocalStore, root: Path) -> None:
    put(store, StorePath(f"{root}/a"))
    with refused(f"{root}/a", code=errno.ENOTDIR):
        run(store.delete_tree(StorePath(f"{root}/a")))


def deleter(root: str, start: Any) -> None:
    store = run(LocalStore.open(root, OpenOptions()))
    start.wait()
    run(store.delete_tree(StorePath(f"{root}/t")))
    assert run(store.stat(StorePath(f"{root}/t"))) is None


def test_two_processes_delete_one_tree(root: Path) -> None:
    fork = multiprocessing.get_context("fork")
    for _ in range(5):
        for number in range(40):
            place = root / f"t/{number % 7}/{number}"
            place.mkdir(parents=True)
            for name in "abcdefgh":
                (place / name).write_bytes(b"")
        start = fork.Barrier(2)
        deleters = [fork.Process(target=deleter, args=(str(root), start)) for _ in range(2)]
        for process in deleters:
            process.start()
        for process in deleters:
            process.join()
            assert process.exitcode == 0


def test_verbs_never_suspend(store: LocalStore, root: Path) -> None:
    path = StorePath(f"{root}/d/a")
    for verb in (
        store.put(path, b"1", expecting=Expect.ABSENT, within=None),
        store.stat(path),
        store.read(path, limit_bytes=9),
        store.files.rename(
            path, StorePath(f"{root}/b"), token=None, expecting=Expect.ABSENT, within=store.root
        ),
        store.directories.rename_directory(
            StorePath(f"{root}/d"), StorePath(f"{root}/e"), within=store.root
        ),
        store.delete(StorePath(f"{root}/b"), expecting=Expect.ANYTHING),
        store.delete_tree(StorePath(f"{root}/e")),
    ):
        with pytest.raises(StopIteration):
            verb.send(None)
    assert names(root) == []


def test_the_root_is_a_directory(store: LocalStore, root: Path) -> None:
    root.mkdir()
    assert run(store.stat(store.root)) == Directory(store.root)
