"""The worlds, made once for the tests of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.effects import pacing
from tests.flat.bucket import remove_bucket
from tests.protocol.hostile.worlds import worlds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.protocol.hostile.worlds import World


# Not of the package: without an ``__init__.py`` that is the session, and what is patched here would
# be patched for every test that this process runs later.
@pytest.fixture(scope="module")
def spoiled() -> Iterator[list[World]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pacing, "BACKOFF_S", 0.0001)
        found = worlds(patch)
        yield found
        for world in found:
            remove_bucket(world.bucket)
