"""A store on a server that answers what the test tells it to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from google.oauth2.credentials import Credentials

from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.gcs import GcsStore
from tests.unit.stores.asking import ask_twice
from tests.unit.stores.gcs.uploads import Uploads

if TYPE_CHECKING:
    import asyncio

    from tests.unit.stores.s3.responder import Responder

Opening: TypeAlias = Callable[..., GcsStore]
"""Opens a store at the responder: ``(url="gs://bucket/out", **storage_options)``."""


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Nothing of the person who runs the tests."""
    for name in [name for name in os.environ if name.startswith(("GOOGLE_", "GCSFS_", "STORAGE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("FETCH_RAW_TOKEN_EXPIRY", "false")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "none"))


@pytest.fixture
def opening(runner: asyncio.Runner, responder: Responder) -> Iterator[Opening]:
    opened: list[GcsStore] = []

    def open_store(url: str = "gs://bucket/out", **options: Any) -> GcsStore:
        choosing = options.pop("choosing", False)
        storage_options = {
            "token": Credentials("planted-token"),  # type: ignore[no-untyped-call]  # google-auth ships no types
            "endpoint_url": responder.url,
            **options,
        }
        asked = OpenOptions(storage_options=storage_options, choosing=choosing, ask=ask_twice)
        store = runner.run(GcsStore.open(url, asked))
        opened.append(store)
        return store

    yield open_store
    for store in opened:
        runner.run(store.close())


@pytest.fixture
def store(opening: Opening) -> GcsStore:
    return opening()


@pytest.fixture
def uploads(responder: Responder) -> Uploads:
    """What the responder answers: one object, and the uploads to it."""
    uploads = Uploads()
    responder.answering = uploads
    return uploads
