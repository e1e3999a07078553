"""The first release beside this version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.protocol.versions.first_release import FirstRelease

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FirstRelease]:
    """The first release."""
    release = FirstRelease(tmp_path_factory.mktemp("first"))
    yield release
    release.close()
