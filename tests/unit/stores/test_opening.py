"""What a URL means, whatever store it is of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import pytest

from fsspec_commit.errors import RequestError
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.http import connections

if TYPE_CHECKING:
    from fsspec_commit.store import Store
    from tests.unit.stores.scripted import Scripted


def scheme_of(cloud: Scripted[Any]) -> str:
    return cloud.url_of_store.partition(":")[0]


@pytest.mark.parametrize(
    ("rest", "root"),
    [
        ("://bucket", "bucket"),
        ("://bucket/", "bucket"),
        ("://bucket/a/b/", "bucket/a/b"),
        ("://bucket/with space/100%/a%2Fb/", "bucket/with space/100%/a%2Fb"),
    ],
)
def test_a_url_names_a_bucket_and_a_directory(cloud: Scripted[Any], rest: str, root: str) -> None:
    assert cloud.open(scheme_of(cloud) + rest).root == root
    assert cloud.open(scheme_of(cloud).upper() + rest).root == root


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ("://", "names no (bucket|container)"),
        (":///out", "names no (bucket|container)"),
        ("://my bucket/out", "names no (bucket|container)"),
        ("://bucket//out", "components name nothing"),
        ("://bucket/a//b", "components name nothing"),
        ("://bucket/../b", "components name nothing"),
    ],
)
def test_a_url_that_names_nothing_is_refused(cloud: Scripted[Any], rest: str, says: str) -> None:
    with pytest.raises(RequestError, match=says) as caught:
        cloud.open(scheme_of(cloud) + rest)
    assert caught.value.kind == "invalid_url"


@pytest.mark.parametrize("cloud", ["s3", "gcs"], indirect=True)
def test_opening_sends_nothing(cloud: Scripted[Any]) -> None:
    cloud.open()
    assert cloud.received == []


def test_as_many_calls_are_made_as_there_may_be_connections(cloud: Scripted[Any]) -> None:
    assert cloud.open().in_flight_max == cloud.open().in_flight_max <= 512
    assert cloud.run(opened(cloud, 200)) == 200


def test_what_could_not_be_opened_leaves_its_connections_to_others(
    cloud: Scripted[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while its error is kept, and with it all that was known by then."""
    monkeypatch.setattr(connections, "_held", held := WeakSet[connections.Connections]())

    async def refused(question: object, /) -> Any:
        raise RequestError("not that one")

    options = OpenOptions(storage_options=cloud.account(cloud.url), choosing=True, ask=refused)
    with pytest.raises(RequestError) as caught:
        cloud.run(cloud.adapter.open(cloud.url_of_store, options))
    assert "not that one" in str(caught.value)
    assert not held


async def opened(cloud: Scripted[Any], concurrency: int) -> int | None:
    options = OpenOptions(storage_options=cloud.account(cloud.url), concurrency=concurrency)
    store: Store = await cloud.adapter.open(cloud.url_of_store, options)
    await store.close()
    return store.in_flight_max
