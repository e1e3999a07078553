"""An append of exact names to many partitions: what is there is seen, at little cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

import fsspec_commit as fc
from fsspec_commit.layout import StorePath
from fsspec_commit.protocol import in_the_way
from fsspec_commit.store import Expect
from tests.protocol.test_flat_races import write_files
from tests.scenes.hooks import before
from tests.scenes.scene import SCENES, Scene

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.scenes.flat_place import FlatPlace

NEW = {f"day={number}/part.txt": "new" for number in range(12)}
OLD = [f"day={number}/old {file}.txt" for number in range(12) for file in range(10)]


def put(place: FlatPlace, *names: str) -> None:
    for name in names:
        path = StorePath(f"{place.url.removeprefix('flat://')}/{name}")
        place.bucket.put(path, b"old", None, Expect.ANYTHING)


def append(place: FlatPlace) -> list[str]:
    """Append, and say by which calls."""
    job = fc.Job(place.url, mode="append", names="exact")
    with before(lambda *_: False, lambda: None) as verbs, job, job.task() as task:
        write_files(task, NEW)
    return verbs


@pytest.fixture(params=[1000, 1], ids=["by one listing", "by many"])
def page(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(in_the_way, "_FILES_A_PAGE", request.param, raising=False)
    return int(request.param)


@pytest.fixture
def place(make_place: Callable[[str, Scene], FlatPlace]) -> FlatPlace:
    place = make_place("versioned", SCENES["append"])
    put(place, *OLD)
    return place


@pytest.mark.usefixtures("page")
def test_a_name_that_is_taken_is_refused(place: FlatPlace) -> None:
    put(place, "day=7/part.txt")
    with pytest.raises(fc.DestinationExistsError, match=r"day=7/part\.txt"):
        append(place)


@pytest.mark.usefixtures("page")
def test_another_destination_inside_is_in_nobodys_way(place: FlatPlace) -> None:
    """An append deletes nothing of it."""
    put(place, f"inner/_commit/epoch-{0:032x}")
    append(place)
    assert NEW.keys() <= place.snapshot().keys()


def test_a_listing_of_all_is_given_up_where_it_is_long(page: int, place: FlatPlace) -> None:
    """A listing is a request a page, one after the other: a large dataset has thousands."""
    looks = append(place).count("list_children")
    assert (looks > len(NEW)) == (page == 1)


@pytest.mark.parametrize(
    ("mode", "stands", "written", "kind"),
    [
        ("overwrite", "a.txt/", "a.txt", "directory_in_the_way"),
        ("overwrite_partitions", "k=1", "k=1/a.txt", "file_in_the_way"),
    ],
)
def test_what_no_file_can_be_published_beside_is_refused_before_the_decision(
    tmp_path: Path, mode: fc.Mode, stands: str, written: str, kind: str
) -> None:
    there = tmp_path / "out" / stands
    there.parent.mkdir()
    if stands.endswith("/"):
        there.mkdir()
    else:
        there.write_text("old")
    names: Literal["exact", "unique"] = "exact" if mode == "overwrite" else "unique"
    job = fc.Job(tmp_path / "out", mode=mode, names=names).start()
    with job.task() as task:
        write_files(task, {written: "new"})
    with pytest.raises(fc.RequestError) as caught:
        job.commit()
    assert (caught.value.kind, caught.value.outcome) == (kind, "not_committed")
    job.abort()
    assert there.exists()
