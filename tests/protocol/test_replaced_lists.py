"""A list of old files that is read bit by bit: each of them goes, and once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore
from tests.protocol.test_late_deletes import SCENE, come_back, overwrite

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.layout import StorePath
    from tests.scenes.flat_place import FlatPlace
    from tests.scenes.scene import Scene

T = TypeVar("T")


@pytest.mark.parametrize("read_bytes", [1_000, 100_000])
def test_p9_each_file_goes_and_is_recorded_once(
    read_bytes: int,
    make_place: Callable[[str, Scene], FlatPlace],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fifteen names a request: what one bit of the list leaves over goes with the next."""
    monkeypatch.setattr("fsspec_commit.protocol.streamed_list._LINES_BYTES", read_bytes)
    place, recorded = make_place("unversioned", SCENE), list[str]()
    old = {f"day={number}/old.txt": f"{number}" for number in range(40)}
    place.put({name: text.encode() for name, text in old.items()})

    async def count(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "create" and "/deleted-" in path:
            recorded.append(path)
        return await call()

    with wrapping(lambda store: WrappedStore(store, count)):
        overwrite(place)
    assert not old.keys() & place.snapshot().keys()
    assert len(recorded) == 3
    for name, text in old.items():
        with pytest.raises(fc.UnsafeStoreError, match="may still arrive"):
            come_back(place, {"beside.txt": "new", name: text})
