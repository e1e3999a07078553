"""What a client remembers of a bucket from one store to the next, and what is made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.client_pool import ClientPool
from fsspec_commit.errors import StoreError, UnsafeStoreError
from fsspec_commit.store import OpenOptions
from tests.unit.stores.responder import Answer

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from fsspec_commit.store import Confirm
    from tests.unit.stores.scripted import Scripted

PLAIN: dict[str, dict[str, Any]] = {"ScriptedGcs": {"token": "anon"}}
"""What leads to a server instead of credentials that are an object."""


@pytest.fixture
def pool(runner: asyncio.Runner) -> Iterator[ClientPool]:
    """Of the loop on which the stores are."""
    pool = ClientPool(runner.get_loop())
    yield pool
    runner.run(pool.end())


def told(cloud: Scripted[Any], *, changed: bool = False) -> Answer:
    """What a bucket says of itself when it is asked before a committer is chosen."""
    if type(cloud).__name__ == "ScriptedS3":
        status = b"<Status>Enabled</Status>" if changed else b""
        body = b"<VersioningConfiguration>" + status + b"</VersioningConfiguration>"
        return Answer(200, body, {"x-amz-request-id": "1"})
    if type(cloud).__name__ == "ScriptedGcs":
        kept = b', "retentionPolicy": {"retentionPeriod": "1"}' if changed else b""
        return Answer(200, b'{"kind": "storage#bucket"' + kept + b"}")
    return Answer(
        200,
        headers={
            "x-ms-request-id": "1",
            "x-ms-is-hns-enabled": str(cloud.is_hierarchical).lower(),  # type: ignore[attr-defined]  # of Azure
            "x-ms-has-legal-hold": str(changed).lower(),
        },
    )


def opened(
    cloud: Scripted[Any], pool: ClientPool, later: list[Confirm] | None, **options: Any
) -> Any:
    """A store that is opened to choose a committer."""
    given = {**cloud.account(cloud.url), **PLAIN.get(type(cloud).__name__, {})}
    more = None if later is None else later.append
    how = OpenOptions(storage_options=given, choosing=True, clients=pool, later=more, **options)
    return cloud.run(cloud.adapter.open(cloud.url_of_store, how))


def first(cloud: Scripted[Any], pool: ClientPool) -> None:
    """A store that asks what the bucket is, and leaves its client."""
    later: list[Confirm] = []
    cloud.script(told(cloud))
    cloud.run(opened(cloud, pool, later).close())
    assert not later
    assert len(pool) == 1
    cloud.received.clear()


def test_facts_are_asked_by_each_job_but_not_before_it_begins(
    cloud: Scripted[Any], pool: ClientPool
) -> None:
    first(cloud, pool)
    later: list[Confirm] = []
    store = opened(cloud, pool, later)
    assert not cloud.received
    (confirm,) = later
    cloud.script(told(cloud))
    assert cloud.run(confirm()) is True
    assert len(cloud.received) == 1
    cloud.run(store.close())


def test_who_may_remember_nothing_asks_at_once(cloud: Scripted[Any], pool: ClientPool) -> None:
    first(cloud, pool)
    cloud.script(told(cloud))
    cloud.run(opened(cloud, pool, None).close())
    assert len(cloud.received) == 1


def test_a_fact_that_has_changed_does_not_hold(cloud: Scripted[Any], pool: ClientPool) -> None:
    """It is forgotten; and that nothing may be deleted any more is raised, each time."""
    first(cloud, pool)
    later: list[Confirm] = []
    store = opened(cloud, pool, later)
    (confirm,) = later
    cloud.script(told(cloud, changed=True))
    if type(cloud).__name__ == "ScriptedS3":
        for _ in range(2):  # It is about what this store was opened with.
            assert cloud.run(confirm()) is False
        assert store.capabilities.unique_tokens is False
        cloud.run(store.close())
        changed = opened(cloud, pool, later)
        assert changed.capabilities.unique_tokens is True
        cloud.run(changed.close())
    else:
        with pytest.raises(UnsafeStoreError):
            cloud.run(confirm())
        cloud.run(store.close())
        with pytest.raises(UnsafeStoreError):
            opened(cloud, pool, later)


def test_what_was_not_answered_is_not_remembered(cloud: Scripted[Any], pool: ClientPool) -> None:
    """The next job waits for an answer, as the first one did."""
    first(cloud, pool)
    later: list[Confirm] = []
    store = opened(cloud, pool, later)
    cloud.script(cloud.error(*cloud.busy))
    with pytest.raises(StoreError):
        cloud.run(later.pop()())
    cloud.run(store.close())
    cloud.received.clear()
    cloud.script(told(cloud))
    cloud.run(opened(cloud, pool, later).close())
    assert cloud.received
    assert not later


def test_what_a_caller_promises_is_not_remembered_of_another(
    cloud: Scripted[Any], pool: ClientPool
) -> None:
    first(cloud, pool)
    found = []
    memory: list[Confirm] = []
    for later in (memory, None):
        store = opened(cloud, pool, later, single_writer=True)
        found.append(store.capabilities)
        cloud.run(store.close())
    remembered, asked = found
    assert remembered == asked
