"""A store on a server that answers what the test tells it to."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.azure import AzureStore, namespaces
from tests.unit.stores.asking import ask_twice
from tests.unit.stores.azure.verbs import told

if TYPE_CHECKING:
    import asyncio

    from tests.unit.stores.s3.responder import Responder

KEY = b64encode(b"planted-account-key-of-32-bytes!").decode()

Opening: TypeAlias = Callable[..., AzureStore]
"""Opens a store at the responder: ``(url="abfs://bucket/out", is_hierarchical=…, **options)``."""


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the person who runs the tests, and nothing of the tests before."""
    for name in [name for name in os.environ if name.startswith("AZURE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(namespaces, "_known", {})


def account_at(url: str, credential: str = f"AccountKey={KEY}") -> str:
    """A connection string; both endpoints are *url*."""
    account = f"{url}/account"
    return (
        f"DefaultEndpointsProtocol=http;AccountName=account;{credential};"
        f"BlobEndpoint={account};DfsEndpoint={account}"
    )


@pytest.fixture
def opening(runner: asyncio.Runner, responder: Responder) -> Iterator[Opening]:
    opened: list[AzureStore] = []

    def open_store(
        url: str = "abfs://bucket/out",
        *,
        is_hierarchical: bool = True,
        choosing: bool = False,
        **options: Any,
    ) -> AzureStore:
        answer = told(200, headers={"x-ms-is-hns-enabled": str(is_hierarchical).lower()})
        responder.answering = lambda _: answer
        storage_options = {"connection_string": account_at(responder.url), **options}
        asked = OpenOptions(storage_options=storage_options, choosing=choosing, ask=ask_twice)
        store = runner.run(AzureStore.open(url, asked))
        opened.append(store)
        responder.received.clear()
        return store

    yield open_store
    for store in opened:
        runner.run(store.close())


@pytest.fixture(params=[True, False], ids=["gen2", "flat"])
def store(request: pytest.FixtureRequest, opening: Opening) -> AzureStore:
    return opening(is_hierarchical=request.param)


@pytest.fixture
def gen2(opening: Opening) -> AzureStore:
    return opening()


@pytest.fixture
def flat(opening: Opening) -> AzureStore:
    return opening(is_hierarchical=False)
