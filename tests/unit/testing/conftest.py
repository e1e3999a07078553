"""A destination in memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import uuid4

import fsspec
import pytest

from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def url() -> Iterator[str]:
    top = f"faults-{uuid4().hex}"
    yield f"memory://{top}/out"
    plain = fsspec.filesystem("memory")
    if plain.exists(f"/{top}"):
        plain.rm(f"/{top}", recursive=True)


@pytest.fixture
def memory(url: str) -> MemoryStore:
    with asyncio.Runner() as runner:
        return runner.run(MemoryStore.open(url, OpenOptions()))
