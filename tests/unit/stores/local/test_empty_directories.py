"""Directories that are removed if nothing is in them, beside those who are about to write there."""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit_stores.local import LocalStore, contents, system_calls
from tests.unit.stores.local.disk import JOB, names, write
from tests.unit.stores.local.refusals import refused
from tests.unit.stores.local.verbs import collected, put, run

if TYPE_CHECKING:
    from pathlib import Path

HIDDEN = f".{'0' * 32}.tmp"


def remove(store: LocalStore, path: str) -> None:
    """Also while another verb is under way: none of them ever suspends."""
    removing = store.empty_directories.remove_empty_directory(StorePath(f"{store.root}/{path}"))
    with suppress(StopIteration):
        removing.send(None)


def listed(store: LocalStore, path: str) -> list[str]:
    listing = store.list_children(StorePath(f"{store.root}/{path}"))
    return [child.path.rpartition("/")[2] for child in collected(listing)]


def test_only_an_empty_directory_goes(store: LocalStore, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    write(root / "full/a")
    write(root / "parent/child/a")
    (root / "link").symlink_to(tmp_path / "outside")
    for name, code in (
        ("full", errno.ENOTEMPTY),
        ("parent", errno.ENOTEMPTY),
        ("full/a", errno.ENOTDIR),
        ("link", errno.ENOTDIR),
    ):
        with refused(f"{root}/{name}", code=code):
            remove(store, name)
    (root / "empty").mkdir()
    for name in ("empty", "empty", "full/a/b", "no/such"):
        remove(store, name)
    assert names(root) == ["full", "link", "parent"]


def test_what_no_listing_shows_does_not_keep_it(store: LocalStore, root: Path) -> None:
    """A writer that was killed before its record had a name: the area would stay for ever."""
    write(root / JOB / HIDDEN)
    assert listed(store, JOB) == []
    remove(store, JOB)
    assert names(root / "_commit") == []


def test_beside_a_record_nothing_goes(store: LocalStore, root: Path) -> None:
    """What is hidden may be another record, of a job that is alive by now."""
    write(root / JOB / HIDDEN)
    write(root / JOB / "job.json")
    assert listed(store, JOB) == ["job.json"]
    with refused(f"{root}/{JOB}", code=errno.ENOTEMPTY):
        remove(store, JOB)
    assert names(root / JOB) == [HIDDEN, "job.json"]


def test_among_data_such_a_name_is_shown(store: LocalStore, root: Path) -> None:
    write(root / HIDDEN)
    (child,) = collected(store.list_children(store.root))
    assert child.path == f"{root}/{HIDDEN}"


@pytest.mark.parametrize("kind", ["directory", "link", "of another form"])
def test_what_only_looks_hidden_keeps_it(store: LocalStore, root: Path, kind: str) -> None:
    """It is somebody else's, and nothing beside it goes."""
    write(root / JOB / HIDDEN)
    odd = root / JOB / (f".{'1' * 32}.tmp" if kind != "of another form" else ".1.tmp")
    if kind == "link":
        odd.symlink_to(root)
    elif kind == "directory":
        odd.mkdir()
    else:
        write(odd)
    with refused(f"{root}/{JOB}", code=errno.ENOTEMPTY):
        remove(store, JOB)
    assert names(root / JOB) == sorted([HIDDEN, odd.name])
    assert listed(store, JOB) == [odd.name]


def test_elsewhere_in_the_work_area_it_is_shown(store: LocalStore, root: Path) -> None:
    """Among a task's files it may be a directory of its own, and its bytes count everywhere."""
    tasks = f"{JOB}/tasks/0/1"
    write(root / tasks / HIDDEN)
    write(root / JOB / HIDDEN)
    assert listed(store, tasks) == [HIDDEN]
    entries = collected(store.list_tree(StorePath(f"{root}/_commit")))
    assert len(entries) == 2


def test_a_listing_of_one_moment_counts_what_it_does_not_show(
    store: LocalStore, root: Path
) -> None:
    """So many names take several calls to read, shown or not."""
    write(root / JOB / HIDDEN)
    area = StorePath(f"{root}/{JOB}")
    assert run(store.at_once.list_at_once(area)) == []
    for number in range(100):
        write(root / JOB / f".{number:032x}.tmp")
    assert run(store.at_once.list_at_once(area)) is None


@pytest.mark.parametrize("way", ["unnamed", "named"])
def test_a_record_whose_directory_goes_is_refused(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """It is not written again, under any name: what was refused may be the echo of a success."""
    real, put_times = contents.put_whole, list[str]()

    def put_whole(*args: Any) -> Any:
        put_times.append(JOB)
        remove(store, JOB)
        return real(*args)

    if way == "named":
        monkeypatch.setattr(contents, "_UNNAMED", 0)
    monkeypatch.setattr("fsspec_commit_stores.local.store.put_whole", put_whole)
    for within in (None, StorePath(f"{root}/{JOB}")):
        (root / JOB).mkdir(parents=True, exist_ok=True)
        with refused(f"{root}/{JOB}/job.json", code=errno.ENOENT):
            put(store, StorePath(f"{root}/{JOB}/job.json"), within=within)
        assert names(root / "_commit") == []
    assert len(put_times) == 2


def test_a_record_whose_hidden_file_goes_is_refused(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, removed = system_calls.rename_file_exclusively, list[str]()

    def rename(*args: Any) -> None:
        removed.extend(names(root / JOB))
        remove(store, JOB)
        real(*args)

    monkeypatch.setattr(contents, "_UNNAMED", 0)
    monkeypatch.setattr(contents, "rename_file_exclusively", rename)
    with refused(f"{root}/{JOB}/job.json", code=errno.ENOENT):
        put(store, StorePath(f"{root}/{JOB}/job.json"))
    assert len(removed) == 1
    assert names(root / "_commit") == []
