"""Where a store takes two names for one: nothing is written under a name that it does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import fsspec
import pytest

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.committer_contract import Place
from fsspec_commit.testing.committer_contract.given import request_refused
from tests.protocol.folding import FoldingStore

if TYPE_CHECKING:
    from collections.abc import Iterator


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
def test_a_partition_of_a_folded_name_is_refused(place: Place, stands: str, written: str) -> None:
    old = {f"{stands}/old.txt": b"old"}
    place.put(old)
    with request_refused("partition_spelled_otherwise") as caught:
        place.commit([{f"{written}/new.txt": b"new"}], mode="overwrite_partitions")
    for name in (stands.rsplit("=", maxsplit=1)[-1], written.rsplit("=", maxsplit=1)[-1]):
        assert name in str(caught.value)
    place.assert_untouched(old)


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_file_of_a_folded_name_is_refused(place: Place, mode: fc.Mode) -> None:
    place.put({"a.txt": b"old"})
    with pytest.raises(fc.CommitError) as caught:
        place.commit([{"A.txt": b"new"}], names="exact", mode=mode)
    assert caught.value.outcome == "not_committed"
    place.assert_untouched({"a.txt": b"old"})


def test_the_name_that_stands_is_replaced(place: Place) -> None:
    place.put({"code=A/old.txt": b"old", "code=b/old.txt": b"old"})
    new = {"code=A/new.txt": b"new", "code=c/new.txt": b"new"}
    place.commit([new], mode="overwrite_partitions")
    place.assert_committed(new, {"code=b/old.txt": b"old"})
    assert fc.jobs(place.url) == []
