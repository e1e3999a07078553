"""What an error of the operating system says about a change."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, OpenOptions
from fsspec_commit_stores.local import LocalStore, failures
from fsspec_commit_stores.local.directories import Directories
from tests.unit.stores.local.disk import names
from tests.unit.stores.local.refusals import refused
from tests.unit.stores.local.verbs import put, run


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


def test_a_store_is_opened_by_who_cannot_read_the_standard_library_any_more(root: Path) -> None:
    """What is imported late is missing for ever: a codec that was not found is not looked for."""
    program = (
        "import asyncio, sys\n"
        "from fsspec_commit.store import OpenOptions\n"
        "from fsspec_commit_stores.local import LocalStore\n"
        "sys.path.clear()\n"
        "sys.path_importer_cache.clear()\n"
        "sys.meta_path.clear()\n"
        f"store = asyncio.run(LocalStore.open({str(root)!r}, OpenOptions()))\n"
        "assert store.capabilities.consistent_listing is not None\n"
    )
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


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


def test_an_interrupt_on_the_way_down_closes_no_directory_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number that is closed twice may be another thread's file by then."""
    (tmp_path / "a/b/c").mkdir(parents=True)
    closed: list[int] = []

    def close(descriptor: int) -> None:
        closed.append(descriptor)
        os.fstat(descriptor)  # It is open.
        real(descriptor)
        if len(closed) == 1:
            raise KeyboardInterrupt  # as after any call

    directories = Directories(StorePath(str(tmp_path)))
    real = os.close
    with monkeypatch.context() as patch:
        patch.setattr(os, "close", close)
        with pytest.raises(KeyboardInterrupt):
            directories.open("a/b/c")
    assert len(closed) == 2
