"""What the tests with real processes share."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.processes import Processes

if TYPE_CHECKING:
    from collections.abc import Iterator

_BY_NIGHT = 11


@pytest.fixture(autouse=True)
def jobs_given_up_are_collected(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where a test says that it gives jobs up: their warning would come in a later test."""
    marks = request.node.iter_markers("filterwarnings")
    yield
    if any("neither committed" in str(one) for mark in marks for one in mark.args):
        gc.collect()


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    """What starts processes; it takes a second of CPU to start itself."""
    with Processes() as processes:
        yield processes


@pytest.fixture
def every(request: pytest.FixtureRequest) -> int:
    """At which calls something happens: by day all; by night, with all the scenes, some."""
    return _BY_NIGHT if request.node.get_closest_marker("slow") else 1


@pytest.fixture
def fast(tmp_path: Path) -> Iterator[Path]:
    """A directory of one's own, in memory where the system has such: hundreds of jobs flush."""
    memory = "/dev/shm"
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    directory = Path(tempfile.mkdtemp(prefix="fsspec-commit-", dir=memory))
    yield directory
    shutil.rmtree(directory)
