"""Connections that fail: what was never sent, what may have been done, and nothing sent twice."""

from __future__ import annotations

import errno
import os
import resource
import socket
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply
from fsspec_commit.store import Expect, PendingUpload
from tests.unit.stores.clouds import every_verb
from tests.unit.stores.deaf import LARGE
from tests.unit.stores.responder import CLOSED
from tests.unit.stores.scripted import failure_of
from tests.unit.stores.verbs import NONCE, PATH, put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.unit.stores.scripted import Scripted
    from tests.unit.stores.verbs import Verb

NOT_DONE, REFUSED, UNKNOWN = Reply.NOT_DONE, Reply.REFUSED, Reply.UNKNOWN


def unused_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def test_an_endpoint_that_never_answers_is_given_up(cloud: Scripted[Any]) -> None:
    """Three tries are all that it is worth."""
    url = f"http://127.0.0.1:{unused_port()}"
    store = cloud.open_at(url)
    for reply in (NOT_DONE, NOT_DONE, REFUSED, REFUSED):
        caught = cloud.failure_of(put(store))
        assert caught.reply is reply
        assert url in str(caught)
        assert f"cannot be reached; check {cloud.address_option}" in str(caught)
        assert not caught.is_overload


def test_a_process_that_may_open_no_more_is_not_told_to_check_the_network(
    cloud: Scripted[Any], no_more_files: Callable[[], None]
) -> None:
    store = cloud.open_at(f"http://127.0.0.1:{unused_port()}")
    no_more_files()
    caught = cloud.failure_of(put(store))
    assert "this process may hold no more files open; raise its limit (ulimit -n)" in str(caught)
    assert (caught.reply, caught.errno, caught.is_overload) == (NOT_DONE, errno.EMFILE, True)


@pytest.fixture
def no_more_files() -> Iterator[Callable[[], None]]:
    """Lets the process open nothing more from now on."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)

    def limit() -> None:
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, most[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_NOFILE, most)


def test_an_endpoint_that_has_answered_before_is_waited_for(cloud: Scripted[Any]) -> None:
    store = cloud.store
    cloud.script(cloud.error(*cloud.busy))

    async def restarted() -> list[Reply]:
        answered = await failure_of(put(store))
        await cloud.__aexit__()
        return [answered.reply] + [(await failure_of(put(store))).reply for _ in range(5)]

    first, closed, *rest = cloud.run(restarted())
    assert first is NOT_DONE
    assert closed in {NOT_DONE, UNKNOWN}  # the kept connection was closed under it
    assert set(rest) == {NOT_DONE}


@every_verb
def test_a_connection_that_breaks_leaves_in_doubt_and_is_not_used_again(
    cloud: Scripted[Any], verb: Verb
) -> None:
    """Neither an SDK, nor fsspec's own, nor aiohttp sends it again: also not on a kept one."""
    cloud.always(cloud.error(*cloud.busy))
    cloud.failure_of(put(cloud.store))
    cloud.always(CLOSED)
    caught = cloud.failure_of(verb.call(cloud.store))
    assert caught.reply is UNKNOWN
    assert "failed before the answer" in str(caught)
    assert len(cloud.asked) == 2


def test_a_store_that_is_silent_is_not_waited_for_for_ever(
    cloud: Scripted[Any], silent: str
) -> None:
    store = cloud.open_at(silent, **cloud.patience(0.1))
    caught = cloud.failure_of(put(store))
    assert caught.reply is UNKNOWN
    assert "did not answer in time" in str(caught)
    # Nothing is sent any more, so nothing is waited for.
    assert cloud.failure_of(put(store)).reply is REFUSED


def test_who_takes_nothing_of_a_body_is_not_waited_for_for_ever(
    cloud: Scripted[Any], deaf: str
) -> None:
    store = cloud.open_at(deaf, **cloud.patience(0.1))
    caught = cloud.failure_of(store.put(PATH, LARGE, expecting=Expect.ABSENT, within=None))
    assert caught.reply is UNKNOWN
    assert "did not answer in time" in str(caught)


@pytest.mark.parametrize("cloud", ["s3", "flat"], indirect=True)
def test_nor_who_takes_nothing_of_a_part(cloud: Scripted[Any], deaf: str) -> None:
    store = cloud.open_at(deaf, **cloud.patience(0.1))
    upload = PendingUpload(path=PATH, upload_id=NONCE, nonce=NONCE, parts=())
    caught = cloud.failure_of(store.uploads.put_part(upload, 1, LARGE))
    assert caught.reply is UNKNOWN
    assert "did not answer in time" in str(caught)


def test_a_closed_store_can_be_closed_again(cloud: Scripted[Any]) -> None:
    cloud.run(cloud.store.close())
    cloud.run(cloud.store.close())
