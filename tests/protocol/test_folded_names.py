"""Where a store takes two names for one: nothing is written under a name that it does not have."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal, TypeVar
from uuid import uuid4

import fsspec
import pytest

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.committer_contract import Place
from fsspec_commit.testing.committer_contract.given import Files, request_refused
from fsspec_commit.testing.committer_contract.partitions import ALIKE, PartitionsContract
from fsspec_commit.testing.wrapped import WrappedStore
from tests.protocol.folding import FoldingStore, folded
from tests.protocol.test_flat_races import write_files
from tests.scenes.scene import SCENES, Scene

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from tests.scenes.flat_place import FlatPlace

T = TypeVar("T")


@pytest.fixture
def place() -> Iterator[Place]:
    top = f"/folding-{uuid4().hex}"
    with wrapping(FoldingStore):  # type: ignore[arg-type]  # the rest of a store is passed on
        yield Place(f"memory:/{top}/out")
    plain = fsspec.filesystem("memory")
    if plain.exists(top):
        plain.rm(top, recursive=True)


@pytest.mark.parametrize(
    ("stands", "written"),
    [
        ("code=A", "code=a"),
        ("k=1/code=A", "k=1/code=a"),
        ("K=1/code=a", "k=1/code=a"),
        ("name=\N{LATIN SMALL LETTER E WITH ACUTE}", "name=e\u0301"),
    ],
)
@pytest.mark.parametrize("beside", [(), ("a%20b", "a b"), ("z%20b", "z b")])
def test_a_partition_of_a_folded_name_is_refused(
    place: Place, stands: str, written: str, beside: tuple[str, ...]
) -> None:
    """Also where others, which are two directories, have one value."""
    old = {f"{name}/old.txt": b"old" for name in (*beside, stands)}
    place.put(old)
    with request_refused("partition_spelled_otherwise") as caught:
        place.commit(
            [{f"{name}/new.txt": b"new" for name in (written, *beside)}],
            mode="overwrite_partitions",
        )
    other = str(caught.value.path)
    assert stands.startswith(other)
    refused = "/".join(written.split("/")[: len(other.split("/"))])
    assert f"write {refused!r} to" in str(caught.value)
    place.assert_untouched(old)


class PlaceThatFolds(Place):
    """Where somebody else's files, too, get the name that was there first."""

    def put(self, files: Files) -> None:
        kept = {folded(name): name for name in self.everything()}
        for name, data in files.items():
            super().put({kept.setdefault(folded(name), name): data})


@pytest.mark.parametrize(("written", "other"), ALIKE)
def test_the_contract_wants_it_refused(place: Place, written: str, other: str) -> None:
    folding = PlaceThatFolds(place.url)
    contract = PartitionsContract()
    contract.test_a_partition_of_another_name_is_left_alone(folding, written, other)
    is_refused = "_SUCCESS" not in folding.everything()
    assert is_refused == (folded(written) == folded(other))


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_file_of_a_folded_name_is_refused(place: Place, mode: fc.Mode) -> None:
    place.put({"a.txt": b"old"})
    with pytest.raises(fc.CommitError) as caught:
        place.commit([{"A.txt": b"new"}], names="exact", mode=mode)
    assert caught.value.outcome == "not_committed"
    place.assert_untouched({"a.txt": b"old"})


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_one_of_many_files_of_a_folded_name_is_refused(place: Place, mode: fc.Mode) -> None:
    place.put({"a.txt": b"old", "d/b.txt": b"old"})
    new = {f"d/{number}.txt": b"new" for number in range(20)}
    with request_refused("names_alike") as caught:
        place.commit([{**new, "d/B.txt": b"new"}], names="exact", mode=mode)
    assert "'d/b.txt'" in str(caught.value)
    assert "'d/B.txt'" in str(caught.value)
    place.assert_untouched({"a.txt": b"old", "d/b.txt": b"old"})


def test_old_files_are_not_listed_before_it_is_known_which_names_are_one() -> None:
    """Nobody else is there; and to list the areas takes a while, beside which they could be."""

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        for _ in range(100 if path.endswith("/out/_commit") else 1):
            await asyncio.sleep(0)
        return await call()

    place = Place(f"memory://folding-{uuid4().hex}/out")
    with wrapping(FoldingStore), wrapping(lambda store: WrappedStore(store, carry)):  # type: ignore[arg-type]  # the rest of a store is passed on
        test_one_of_many_files_of_a_folded_name_is_refused(place, "overwrite")


@pytest.mark.parametrize("mode", ["append", "overwrite"])
@pytest.mark.parametrize("stands", ["D", "k/D", "K", "D/0.txt", "K/d/0.txt"])
def test_what_stands_under_another_name_is_in_the_way_of_many_files(
    place: Place, stands: str, mode: fc.Mode
) -> None:
    """A file where a directory must go, or one that a new file would meet in such a directory."""
    above = "k/d" if "k" in stands.lower() else "d"
    place.put({stands: b"old"})
    with pytest.raises(fc.RequestError, match=stands) as caught:
        place.commit([{f"{above}/{n}.txt": b"new" for n in range(5)}], names="exact", mode=mode)
    assert caught.value.outcome == "not_committed"
    place.assert_untouched({stands: b"old"})


@pytest.mark.parametrize(
    ("names", "files", "alike"),
    [
        ("exact", ["a.txt", "A.txt"], "'A.txt' and 'a.txt'"),
        ("unique", ["code=a/part.txt", "code=A/part.txt"], "'code=A' and 'code=a'"),
        ("unique", ["code=a/x=1/part.txt", "code=A/x=2/part.txt"], "'code=A' and 'code=a'"),
        ("unique", ["_notes", "_Notes"], "'_Notes' and '_notes'"),
        ("unique", ["_Notes", "_notes/part.txt"], "'_Notes' and '_notes'"),
        (
            "unique",
            ["_Notes", "_Other", "A/part.txt", "_notes/part.txt", "z/part.txt"],
            "'_Notes' and '_notes'",
        ),
        ("exact", ["k/a/x/part.txt", "k/A"], "'k/A' and 'k/a'"),
    ],
)
def test_two_spellings_in_one_job_are_refused(
    place: Place, names: Literal["unique", "exact"], files: list[str], alike: str
) -> None:
    with request_refused("names_alike") as caught:
        place.commit([{name: b"new"} for name in files], names=names)
    assert f"takes {alike} for one name" in str(caught.value)
    place.assert_untouched()


def test_two_spellings_are_two_names_elsewhere() -> None:
    """Asked of the store, and not assumed of any."""
    place = Place(f"memory://{uuid4().hex}/out")
    new = [{name: b"new"} for name in ("a.txt", "A.txt", "d/x.txt", "D/x.txt")]
    for _ in range(2):
        place.commit(new, names="exact", mode="overwrite")
        place.assert_committed(*new)


@pytest.mark.parametrize(
    ("where", "names", "times"),
    [("memory", "exact", 1), ("memory", "unique", 0), ("versioned", "exact", 0)],
)
def test_a_store_is_asked_once_and_only_where_it_matters(
    where: str,
    names: Literal["unique", "exact"],
    times: int,
    make_place: Callable[[str, Scene], FlatPlace],
) -> None:
    asked: list[str] = []

    async def record(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "stat" and path.endswith("/_COMMIT"):
            asked.append(path)
        return await call()

    place = make_place(where, SCENES["append"])
    with wrapping(lambda store: WrappedStore(store, record)):
        job = fc.Job(place.url, mode="append", names=names)
        with job, job.task() as task:
            write_files(task, {"d=1/new.txt": "new"})
    assert len(asked) == times


def test_the_name_that_stands_is_replaced(place: Place) -> None:
    place.put({"code=A/old.txt": b"old", "code=b/old.txt": b"old"})
    new = {"code=A/new.txt": b"new", "code=c/new.txt": b"new"}
    place.commit([new], mode="overwrite_partitions")
    place.assert_committed(new, {"code=b/old.txt": b"old"})
    assert fc.jobs(place.url) == []
