"""A store on a server that answers what the test tells it to."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pytest

from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.s3 import S3Store

if TYPE_CHECKING:
    import asyncio

    from tests.unit.stores.s3.responder import Responder

T = TypeVar("T")

Opening: TypeAlias = Callable[..., S3Store]
"""Opens a store at the responder: ``(url="s3://bucket/out", **storage_options)``."""


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Any, one_certificate: str) -> None:
    """Nothing of the person who runs the tests."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CA_BUNDLE", one_certificate)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))


@pytest.fixture
def run(runner: asyncio.Runner) -> Callable[[Coroutine[Any, Any, T]], T]:
    return runner.run


@pytest.fixture
def opening(runner: asyncio.Runner, responder: Responder) -> Iterator[Opening]:
    opened: list[S3Store] = []

    def open_store(url: str = "s3://bucket/out", **options: Any) -> S3Store:
        storage_options = {
            "key": "AKIAPLANTED",
            "secret": "planted-secret",
            "endpoint_url": responder.url,
            **options,
        }
        store = runner.run(S3Store.open(url, OpenOptions(storage_options=storage_options)))
        opened.append(store)
        return store

    yield open_store
    for store in opened:
        runner.run(store.close())


@pytest.fixture
def store(opening: Opening) -> S3Store:
    return opening()
