"""The worlds, made once for all tests of a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.effects import pacing
from tests.flat.bucket import remove_bucket
from tests.protocol.hostile.worlds import worlds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.protocol.hostile.worlds import World


@pytest.fixture(scope="package")
def spoiled() -> Iterator[list[World]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pacing, "BACKOFF_S", 0.0001)
        found = worlds(patch)
        yield found
        for world in found:
            remove_bucket(world.bucket)
