"""A loop, and a server that answers what the test tells it to, for every store that sends HTTP."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.unit.stores.deaf import deaf_server
from tests.unit.stores.s3.responder import Responder

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def responder(runner: asyncio.Runner) -> Iterator[Responder]:
    responder = Responder()
    runner.run(responder.__aenter__())
    yield responder
    runner.run(responder.__aexit__())


@pytest.fixture
def deaf(runner: asyncio.Runner) -> Iterator[str]:
    """The URL of a server that takes nothing of what is sent."""
    server = deaf_server()
    yield runner.run(server.__aenter__())
    runner.run(server.__aexit__(None, None, None))
