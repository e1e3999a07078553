"""Where jobs of these tests write: directories are renamed, or uploads are completed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.flat.bucket import ALL_HABITS, HABITS, make_bucket, remove_bucket
from tests.flat.store import FLAT
from tests.scenes.flat_place import FlatPlace
from tests.scenes.memory_place import MemoryPlace
from tests.scenes.scene import HIDDEN, Scene

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.flat.bucket import Bucket


@pytest.fixture(params=["disk", "versioned"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "disk":
        yield str(tmp_path / "out")
        return
    bucket = make_bucket(HABITS[request.param])
    yield f"{FLAT}://{bucket.name}/out"
    remove_bucket(bucket)


@pytest.fixture(params=HABITS)
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    """A flat bucket, by default of each kind where uploads are completed."""
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.fixture
def make_place() -> Iterator[Callable[[str, Scene], FlatPlace | MemoryPlace]]:
    """One place at a time, in memory or in a bucket of these habits, with a scene's old data."""
    places: list[FlatPlace | MemoryPlace] = []

    def make(where: str, scene: Scene) -> FlatPlace | MemoryPlace:
        remove()
        in_memory = where == "memory"
        places.append(MemoryPlace() if in_memory else FlatPlace(make_bucket(ALL_HABITS[where])))
        places[0].put({**scene.old, **HIDDEN, "_SUCCESS": b""})
        return places[0]

    def remove() -> None:
        while places:
            place = places.pop()
            if isinstance(place, FlatPlace):
                remove_bucket(place.bucket)
            else:
                place.remove()

    yield make
    remove()
