"""An account is opened through adlfs, which keeps each instance until the process ends."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import TYPE_CHECKING

import adlfs
import pytest

from fsspec_commit.errors import RequestError
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.azure.opening import account_of
from fsspec_commit_stores.azure.places import place_of

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "abfs://container/out"
OPTIONS = OpenOptions(storage_options={"account_name": "somebody", "account_key": "a2V5"})
# More than enough entries that going through them sets off the collector several times.
OTHERS = 5_000


class Circle:
    """An object that only the garbage collector ends."""

    def __init__(self, at_its_end: Callable[[], object]) -> None:
        self.itself = self
        weakref.finalize(self, at_its_end)


async def _opened_and_closed() -> None:
    account = account_of(URL, place_of(URL), OPTIONS)
    await account.connection.close()


@pytest.mark.parametrize(
    "given",
    [
        {"account_name": "somebody", "account_key": "planted"},
        {"connection_string": "AccountName=somebody;AccountKey=planted"},
    ],
    ids=["key", "connection string"],
)
def test_a_key_that_is_none_is_told_as_such(given: dict[str, str]) -> None:
    """It was "no access token could be fetched; log in with 'az login'"."""

    async def opened() -> None:
        account_of(URL, place_of(URL), OpenOptions(storage_options=given))

    with pytest.raises(
        RequestError, match=r"account_key=, or the AccountKey of .* is not"
    ) as caught:
        asyncio.run(opened())
    assert caught.value.kind == "invalid_option"
    assert "planted" not in str(caught.value)


def test_an_account_opens_while_other_objects_end() -> None:
    """In CI the collector ended other objects' finalizers while they were gone through."""
    others = [Circle(lambda: None) for _ in range(OTHERS)]

    def two_more() -> None:
        if others:
            Circle(two_more)
            Circle(two_more)

    Circle(two_more)
    try:
        asyncio.run(_opened_and_closed())
    finally:
        others.clear()


def test_nothing_is_kept_of_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[adlfs.AzureBlobFileSystem]] = []
    connect = adlfs.AzureBlobFileSystem.do_connect

    def connecting(filesystem: adlfs.AzureBlobFileSystem) -> None:
        made.append(weakref.ref(filesystem))
        connect(filesystem)

    monkeypatch.setattr(adlfs.AzureBlobFileSystem, "do_connect", connecting)
    asyncio.run(_opened_and_closed())
    gc.collect()

    assert [one() for one in made] == [None]
