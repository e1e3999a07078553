"""Containers whose sandbox refuses one of the system calls, by any of the numbers they use."""

from __future__ import annotations

import errno
import multiprocessing
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from tests.unit.stores.local import sandbox
from tests.unit.stores.local.disk import names, write
from tests.unit.stores.local.verbs import opened, put, rename, rename_directory

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not sandbox.exists(), reason="no number of a system call is known")
CODES = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EACCES)


def verbs(place: str, forbidden: list[str], code: int, told: Any) -> None:
    from pathlib import Path

    root = Path(place)
    try:
        sandbox.forbid(forbidden, code)
    except OSError as error:
        told.put(("skipped", str(error)))
        return
    try:
        store = opened(root)
        put(store, StorePath(f"{root}/record"), b"1", within=store.root)
        write(root / "work/a")
        rename(store, "work/a", "a")
        rename_directory(store, "work", "done")
        for again in (
            lambda: put(store, StorePath(f"{root}/record"), b"2", within=store.root),
            lambda: rename(store, "record", "a"),
        ):
            with pytest.raises(StoreError) as caught:
                again()
            assert caught.value.errno == errno.EEXIST
            assert caught.value.reply is Reply.REFUSED
    except StoreError as error:
        told.put((error.reply.name, str(error)))
    else:
        told.put(("done", ""))


def sandboxed(root: Path, forbidden: list[str], code: int) -> tuple[str, str]:
    fork = multiprocessing.get_context("fork")
    told = fork.SimpleQueue()
    root.mkdir()
    process = fork.Process(target=verbs, args=(str(root), forbidden, code, told))
    process.start()
    process.join()
    assert process.exitcode == 0
    what, why = told.get()
    if what == "skipped":
        pytest.skip(why)
    return what, why


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("forbidden", ["linkat", "renameat2"])
def test_one_of_the_two_calls_is_enough(root: Path, forbidden: str, code: int) -> None:
    assert sandboxed(root, [forbidden], code) == ("done", "")
    assert names(root) == ["a", "done", "record"]
    assert (root / "record").read_bytes() == b"1"


@pytest.mark.parametrize("code", CODES)
def test_without_both_nothing_is_written_and_the_sandbox_is_named(root: Path, code: int) -> None:
    """A look and a rename in their place would not be exclusive."""
    what, why = sandboxed(root, ["linkat", "renameat2"], code)
    assert what == "REFUSED"
    assert "a sandbox may have to allow one of them" in why
    assert names(root) == []
