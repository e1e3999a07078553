"""Hadoop, where it is installed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.interoperability.peer import Peer
from tests.servers.installation import ServerUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator


def peer_or_skip() -> Peer:
    """A JVM; without Java its test is skipped, and fails where `CI` is set."""
    try:
        return Peer()
    except ServerUnavailableError as error:
        if os.environ.get("CI"):
            pytest.fail(f"{error}", pytrace=False)
        pytest.skip(f"{error} (make servers)")


@pytest.fixture(scope="session")
def hadoop() -> Iterator[Peer]:
    """Hadoop to ask: one JVM for each worker of a parallel run."""
    with peer_or_skip() as peer:
        yield peer


@pytest.fixture
def mortal() -> Iterator[Peer]:
    """Hadoop to be killed, a JVM of the test's own."""
    with peer_or_skip() as peer:
        yield peer
