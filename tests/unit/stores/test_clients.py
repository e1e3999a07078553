"""The client that one store leaves to the next: when it does, and when it must not."""

from __future__ import annotations

import asyncio
import gc
import os
from typing import TYPE_CHECKING, Any

import fsspec.config
import pytest

from fsspec_commit.client_pool import ClientPool
from fsspec_commit.errors import Reply, RequestError
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.http import connections
from fsspec_commit_stores.s3 import S3Store
from tests.unit.stores.responder import CLOSED, Answer
from tests.unit.stores.scripted import failure_of
from tests.unit.stores.verbs import put

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.unit.stores.s3.scripted import ScriptedS3
    from tests.unit.stores.scripted import Scripted

PLAIN: dict[str, dict[str, Any]] = {"ScriptedGcs": {"token": "anon"}}
"""What leads to a server instead of credentials that are an object."""
OTHERWISE: dict[str, Any] = {"use_listings_cache": True}
"""An option that means nothing here; but who knows that?"""
DISBELIEF = {
    "ScriptedS3": (403, "InvalidAccessKeyId"),
    "ScriptedGcs": (401, "authError"),
    "ScriptedGen2": (403, "AuthenticationFailed"),
    "ScriptedFlat": (401, "InvalidAuthenticationInfo"),
}


@pytest.fixture
def pool(runner: asyncio.Runner, cloud: Scripted[Any]) -> Iterator[ClientPool]:
    """Of the loop on which the stores are; the server answers, and nothing is done."""
    cloud.always(cloud.error(*cloud.busy))
    pool = ClientPool(runner.get_loop())
    yield pool
    runner.run(pool.end())


def opened(cloud: Scripted[Any], pool: ClientPool | None, url: str = "", **options: Any) -> Any:
    """A store that may begin with what another has left; *url* is that of another server."""
    plain = PLAIN.get(type(cloud).__name__, {})
    if url and not plain:
        return cloud.open_at(url, clients=pool)
    given = cloud.account(url) if url else {}
    return cloud.open(clients=pool, **{**given, **plain, **options})


def used(cloud: Scripted[Any], pool: ClientPool | None, **options: Any) -> None:
    """Open a store, ask it something, and close it."""
    store = opened(cloud, pool, **options)
    cloud.failure_of(put(store))
    cloud.run(store.close())


def test_the_next_store_goes_on_with_the_connections(
    cloud: Scripted[Any], pool: ClientPool
) -> None:
    before = cloud.connections
    for _ in range(3):
        used(cloud, pool)
        assert len(pool) == 1
    assert cloud.connections == before + 1


def test_a_connection_that_was_closed_while_the_loop_was_busy_is_not_used(
    cloud: Scripted[Any], pool: ClientPool
) -> None:
    """As by a computation between two jobs, after which both are there to be looked at."""
    used(cloud, pool)
    before = len(cloud.received)
    plain = PLAIN.get(type(cloud).__name__, {})
    given = {**cloud.account(cloud.url), **plain}
    options = OpenOptions(storage_options=given, clients=pool)

    async def put_at_once() -> Reply:
        store = await cloud.adapter.open(cloud.url_of_store, options)
        assert len(pool) == 0
        error = await failure_of(put(store))
        await store.close()
        return error.reply

    async def next_job() -> Reply:
        cloud.hang_up()
        # Begun by another thread before the loop looks at what has come.
        return await asyncio.create_task(put_at_once())

    assert cloud.run(next_job()) is Reply.NOT_DONE
    assert len(cloud.received) == before + 1


def test_without_a_pool_each_closes_its_own(cloud: Scripted[Any], pool: ClientPool) -> None:
    del pool  # It has said what is answered.
    before = cloud.connections
    for _ in range(2):
        used(cloud, None)
    assert cloud.connections == before + 2


def test_it_may_be_forbidden(cloud: Scripted[Any], pool: ClientPool) -> None:
    used(cloud, pool, kept_clients=False)
    assert len(pool) == 0
    with pytest.raises(RequestError, match="kept_clients= takes True or False") as caught:
        opened(cloud, pool, kept_clients="no")
    assert caught.value.kind == "invalid_option"


def test_two_at_once_have_one_each(cloud: Scripted[Any], pool: ClientPool) -> None:
    used(cloud, pool)
    first, second = opened(cloud, pool), opened(cloud, pool)
    assert first._client is not second._client
    assert len(pool) == 0
    cloud.run(first.close())
    cloud.failure_of(put(second))
    cloud.run(second.close())
    assert len(pool) == 2


def test_as_many_at_once_as_there_were_before_begin_with_theirs(
    cloud: Scripted[Any], pool: ClientPool
) -> None:
    stores = [opened(cloud, pool) for _ in range(11)]
    clients = {store._client for store in stores}
    for store in stores:
        cloud.run(store.close())
    later = [opened(cloud, pool) for _ in stores]
    assert {store._client for store in later} == clients
    for store in later:
        cloud.run(store.close())


def test_a_closed_store_sends_nothing_on_what_is_another_s(
    cloud: Scripted[Any], pool: ClientPool
) -> None:
    closed = opened(cloud, pool)
    cloud.run(closed.close())
    other = opened(cloud, pool)
    assert other._client is closed._client
    with pytest.raises(RuntimeError, match="the store is closed"):
        cloud.run(put(closed))
    assert not cloud.asked
    cloud.run(closed.close())
    assert len(pool) == 0
    cloud.failure_of(put(other))


@pytest.mark.parametrize("answer", ["disbelief", "broken", "stranger"])
def test_who_was_not_believed_or_not_answered_leaves_nothing(
    cloud: Scripted[Any], pool: ClientPool, answer: str
) -> None:
    answers: dict[str, Answer] = {
        "disbelief": cloud.error(*DISBELIEF[type(cloud).__name__]),
        "broken": CLOSED,
        "stranger": Answer(404),
    }
    store = opened(cloud, pool)
    cloud.always(answers[answer])
    cloud.failure_of(put(store))
    cloud.always(cloud.error(*cloud.busy))
    cloud.failure_of(put(store))
    cloud.run(store.close())
    assert len(pool) == 0


def test_a_refusal_of_one_request_says_nothing_of_the_client(
    cloud: Scripted[Any], pool: ClientPool
) -> None:
    for refusal in (cloud.denied, cloud.missing, cloud.not_as_expected):
        store = opened(cloud, pool)
        cloud.always(cloud.error(*refusal))
        cloud.failure_of(put(store))
        cloud.run(store.close())
        assert len(pool) == 1


def test_what_is_under_way_when_its_store_is_closed_is_cut_off(
    cloud: Scripted[Any], pool: ClientPool, silent: str
) -> None:
    """It must not arrive by the connections of another job."""
    store = opened(cloud, pool, silent)

    async def close() -> None:
        asked = asyncio.ensure_future(failure_of(put(store)))
        await asyncio.sleep(0.1)
        await store.close()
        await asyncio.wait_for(asked, 5)

    cloud.run(close())
    assert len(pool) == 0


def test_a_request_that_is_given_up_leaves_a_client_that_works(
    cloud: Scripted[Any], pool: ClientPool, silent: str
) -> None:
    store = opened(cloud, pool, silent)

    async def close() -> None:
        asked = asyncio.ensure_future(put(store))
        await asyncio.sleep(0.1)
        asked.cancel()
        await asyncio.wait([asked])
        await store.close()

    cloud.run(close())
    assert len(pool) == 1


def test_a_store_that_nobody_closed_leaves_nothing(cloud: Scripted[Any], pool: ClientPool) -> None:
    opened(cloud, pool)
    cloud._opened.clear()
    gc.collect()
    cloud.run(asyncio.sleep(0.05))
    assert len(pool) == 0


def test_who_fails_to_open_leaves_nothing(cloud: Scripted[Any], pool: ClientPool) -> None:
    used(cloud, pool)
    option = "request_templates" if type(cloud).__name__ == "ScriptedS3" else "short_requests"
    with pytest.raises(RequestError, match=option):
        opened(cloud, pool, **{option: "no"})
    assert len(pool) == 1


@pytest.mark.parametrize("what", ["environment", "option", "fsspec"])
def test_who_asks_otherwise_begins_anew(
    cloud: Scripted[Any], pool: ClientPool, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    used(cloud, pool)
    kept = cloud.connections
    options: dict[str, Any] = {}
    if what == "environment":
        monkeypatch.setenv("AWS_PROFILE_OF_ANY_KIND", "another")
    elif what == "fsspec":
        monkeypatch.setitem(fsspec.config.conf, "of-any-kind", {"key": "another"})
    else:
        options = OTHERWISE
    used(cloud, pool, **options)
    assert cloud.connections == kept + 1
    assert len(pool) == 2


@pytest.mark.parametrize("cloud", ["gcs"], indirect=True)
def test_credentials_that_are_an_object_are_asked_anew_by_each(
    cloud: Scripted[Any], pool: ClientPool
) -> None:
    """It may stand for somebody else by now."""
    store = cloud.open(clients=pool)
    cloud.failure_of(put(store))
    cloud.run(store.close())
    assert len(pool) == 0


@pytest.mark.parametrize("where", ["file", "environment"])
def test_a_rotated_key_is_heard_by_the_next_job(
    s3: ScriptedS3,
    runner: asyncio.Runner,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    where: str,
) -> None:
    """Neither is an option, and both are what a long process is rotated by."""
    file = tmp_path / "credentials"
    s3.always(s3.error(*s3.busy))
    pool = ClientPool(runner.get_loop())
    said = []
    for key in ("ONE", "ONE", "TWO"):
        if where == "environment":
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
        else:
            monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
            text = f"[default]\naws_access_key_id={key}\naws_secret_access_key=planted-secret\n"
            if not file.exists() or file.read_text() != text:
                file.write_text(text)
        options = OpenOptions(storage_options={"endpoint_url": s3.url}, clients=pool)
        store = s3.run(S3Store.open("s3://bucket/out", options))
        s3.failure_of(put(store))
        s3.run(store.close())
        said.append(s3.asked[-1].headers["authorization"].partition("Credential=")[2][:3])
    assert said == ["ONE", "ONE", "TWO"]
    assert len(pool) == 2
    s3.run(pool.end())


def test_options_that_are_changed_after_the_opening_are_not_those_of_another(
    s3: ScriptedS3, runner: asyncio.Runner
) -> None:
    """A service may have one mapping, and put the key of each customer into it."""
    s3.always(s3.error(*s3.busy))
    pool = ClientPool(runner.get_loop())
    held = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "of-one"}
    said = []
    for given in (held, {**held}):
        options = {"s3_additional_kwargs": given, **s3.account(s3.url)}
        wanted = OpenOptions(storage_options=options, clients=pool)
        store = s3.run(S3Store.open("s3://bucket/out", wanted))
        s3.failure_of(put(store))
        s3.run(store.close())
        said.append(s3.asked[-1].headers["x-amz-server-side-encryption-aws-kms-key-id"])
        held["SSEKMSKeyId"] = "of-another"
    assert said == ["of-one", "of-one"]
    s3.run(pool.end())


def test_nothing_that_is_kept_shows_a_secret(cloud: Scripted[Any], pool: ClientPool) -> None:
    for options in cloud.secret_options():
        used(cloud, pool, **options)
    shown = repr(vars(pool)) + repr([vars(one) for kept in pool._kept.values() for one in kept])
    shown += repr([vars(one.client) for kept in pool._kept.values() for one in kept])
    assert not [secret for secret in cloud.secrets if secret in shown]


def test_what_rests_takes_no_connections_from_another_store(
    cloud: Scripted[Any], pool: ClientPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1,024 files may be open in most processes: half of that is for connections."""
    held = sum(one.most for one in connections._held)
    limit = 2 * (held + 512)
    monkeypatch.setattr(os, "sysconf", {"SC_OPEN_MAX": limit}.__getitem__)
    first = opened(cloud, pool)
    assert first.in_flight_max == 512
    cloud.run(first.close())
    other = opened(cloud, pool, **OTHERWISE)
    assert other.in_flight_max == 512
    assert len(pool) == 0  # The one that rested was closed for it.
    small = opened(cloud, pool)
    assert small.in_flight_max == 64
    cloud.run(small.close())
    cloud.run(other.close())
    assert len(pool) == 2
    assert opened(cloud, pool).in_flight_max == 512  # Not what would do with less.


def test_a_client_that_cannot_be_closed_keeps_nobody_from_opening(
    cloud: Scripted[Any], pool: ClientPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def allow(connections_max: int) -> None:
        held = sum(one.most for one in connections._held)
        limit = 2 * (held + connections_max)
        monkeypatch.setattr(os, "sysconf", {"SC_OPEN_MAX": limit}.__getitem__)

    async def fail() -> None:
        raise OSError("planted-secret")

    allow(64)
    small = opened(cloud, pool)
    client = small._client
    cloud.run(small.close())
    close = client._close
    monkeypatch.setattr(client, "_close", fail)
    allow(512)
    assert opened(cloud, pool)._client is not client
    assert client.connections not in connections._held
    cloud.run(close())
