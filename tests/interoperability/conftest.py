"""Hadoop, where it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.interoperability.peer import Peer
from tests.servers.plugin import available_or_skip

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def hadoop() -> Iterator[Peer]:
    """Hadoop to ask: one JVM for each worker of a parallel run."""
    with available_or_skip(Peer) as peer:
        yield peer


@pytest.fixture
def mortal() -> Iterator[Peer]:
    """Hadoop to be killed, a JVM of the test's own."""
    with available_or_skip(Peer) as peer:
        yield peer
