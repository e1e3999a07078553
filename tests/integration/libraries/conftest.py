"""What the tests of the libraries share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# Its assertions say what they saw, as those of a test do.
pytest.register_assert_rewrite(
    "tests.integration.libraries.moments", "tests.integration.libraries.written"
)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"
