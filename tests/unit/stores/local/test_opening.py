"""Where a local destination is opened."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fsspec_commit.errors import RequestError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.local import LocalStore
from tests.unit.stores.local.refusals import refused
from tests.unit.stores.local.verbs import put, run


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


@pytest.mark.parametrize("typed", ["d\u00e4", "plain"])
def test_a_name_that_the_locale_misreads_is_refused(tmp_path: Path, typed: str) -> None:
    """It was made, under another name than was typed."""
    program = "import sys, fsspec_commit as fc; fc.Job(sys.argv[1], mode='append').start().abort()"
    other = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", program, str(tmp_path / typed)]
    ran = subprocess.run(command, env=other, capture_output=True, check=False)
    told = ran.stderr.decode("ascii")
    assert (ran.returncode == 0) == (typed == "plain"), told
    if typed != "plain":
        assert "the locale of this process has names in ascii" in told
        assert "run it with PYTHONUTF8=1" in told
        assert list(tmp_path.iterdir()) == []


def test_windows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "name", "nt")
        with pytest.raises(RequestError, match="Linux and macOS") as caught:
            run(LocalStore.open("file:///tmp/x", OpenOptions()))
    assert caught.value.kind == "unsupported_platform"


def test_a_directory_that_may_not_be_read_is_on_its_mount_all_the_same() -> None:
    """It was taken for a network mount, and a promise to be alone asked for."""
    place = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        (place / "drop").mkdir(mode=0o311)
        place.chmod(0o755)
        if os.geteuid() == 0:
            os.seteuid(65534)
        found = run(LocalStore.open(f"{place}/drop", OpenOptions())).capabilities
        assert found.consistent_listing is True
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        (place / "drop").chmod(0o755)
        shutil.rmtree(place)


def test_a_link_that_may_not_be_followed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `/proc/1/root` of a container: `realpath` raises, and that was raised as it was."""

    def realpath(path: bytes) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os.path, "realpath", realpath)
    with refused(code=errno.EACCES):
        run(LocalStore.open("/proc/1/root/out", OpenOptions()))


def test_where_no_directory_can_be_made_is_said() -> None:
    """The kernel says of each that what is above it is missing, and that stands."""
    store = run(LocalStore.open("/proc/none", OpenOptions()))
    with refused("takes no new directory", "/proc/none", code=errno.EPERM):
        put(store, StorePath("/proc/none/a"))


def test_a_deep_destination_is_made(tmp_path: Path) -> None:
    deep = "/".join([str(tmp_path), *["d"] * 1200])
    store = run(LocalStore.open(deep, OpenOptions()))
    try:
        put(store, StorePath(f"{deep}/a"))
        assert run(store.stat(StorePath(f"{deep}/a")))
    finally:
        # Deeper than Python calls: pytest, which removes old folders, would end with an error.
        subprocess.run(["rm", "-r", tmp_path / "d"], check=True)
