"""How many connections stores have that are open at once."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from typing import TYPE_CHECKING

import pytest

from fsspec_commit_stores.http import connections
from fsspec_commit_stores.http.connections import Connections

if TYPE_CHECKING:
    from collections.abc import Callable

    Limit = Callable[[int], None]


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Limit:
    """Sets how many files the process may hold open, of which it holds no connection yet."""
    monkeypatch.setattr(connections, "_held", weakref.WeakSet())
    return lambda most: monkeypatch.setattr(os, "sysconf", {"SC_OPEN_MAX": most}.__getitem__)


@pytest.mark.parametrize(
    ("open_max", "asked", "most"),
    [
        (1_048_576, None, 512),
        (1_024, None, 512),
        (256, None, 128),
        (20, None, 64),
        (-1, None, 512),
        (256, 200, 200),
    ],
)
def test_half_of_what_may_be_held_open_is_left_to_others(
    limit: Limit, open_max: int, asked: int | None, most: int
) -> None:
    """There is no limit on some systems, and 256 by default on macOS."""
    limit(open_max)
    assert Connections(asked).most == most


def test_where_no_limit_is_known_there_is_none(
    limit: Limit, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(256)
    monkeypatch.delattr(os, "sysconf_names")
    assert Connections(None).most == 512


def test_the_stores_of_a_process_share_what_it_may_hold(limit: Limit) -> None:
    """Several jobs on threads, or slices of one: the usual limit is 1,024 files."""
    limit(1_024)
    opened = [Connections(None) for _ in range(8)]
    assert [one.most for one in opened] == [512, *[64] * 7]


def test_what_is_closed_or_forgotten_is_given_back_once(limit: Limit) -> None:
    limit(1_024)
    first, second = Connections(None), Connections(100)
    first.give_back()
    first.give_back()
    assert Connections(None).most == 412
    del second
    gc.collect()
    assert Connections(None).most == 512


def test_a_store_may_be_closed_on_a_thread_while_another_is_opened(limit: Limit) -> None:
    limit(1_024)
    closed = Connections(100)
    closing = threading.Thread(target=closed.give_back)

    class ClosedMeanwhile(Connections):
        """Counted while the other one is being closed."""

        @property
        def most(self) -> int:
            if closing.ident is None:
                closing.start()
                closing.join(0.1)
            return 12

        @most.setter
        def most(self, most: int) -> None:
            pass

    held = ClosedMeanwhile(12)
    assert Connections(None).most == 400
    closing.join()
    held.give_back()
    assert Connections(None).most == 512


def test_a_child_that_is_forked_while_a_thread_opens_a_store_can_open_its_own() -> None:
    """The thread that held the lock is not in the child, which would wait for it for ever."""
    locked, forked = threading.Event(), threading.Event()

    def hold() -> None:
        with connections._lock:
            locked.set()
            forked.wait(0.2)

    holder = threading.Thread(target=hold)
    holder.start()
    locked.wait()
    child = os.fork()
    if not child:
        os._exit(0 if connections._lock.acquire(timeout=5) else 1)
    forked.set()
    holder.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_could_not_be_opened_holds_none_even_while_its_error_is_kept(limit: Limit) -> None:
    limit(1_024)
    with pytest.raises(OSError, match="no"), connections.to_open(None) as taken:
        raise OSError("no")
    assert taken.most == Connections(None).most == 512


def test_what_was_opened_holds_its_own(limit: Limit) -> None:
    limit(1_024)
    with connections.to_open(None) as taken:
        pass
    assert (taken.most, Connections(None).most) == (512, 64)
