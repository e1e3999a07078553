"""Two processes that try the same at the same moment, of which one may come first."""

from __future__ import annotations

import errno
import multiprocessing
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, StoreError
from tests.unit.stores.local.verbs import opened

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsspec_commit_stores.local import LocalStore


def won_by_each(
    root: Path, change: Callable[[LocalStore, int, int], object], *, rounds: int
) -> dict[int, list[int]]:
    """The rounds that either process has won, each of which one of them did.

    Args:
        root: Where each opens a store of its own.
        change: What a process tries in a round, by the numbers of both.
        rounds: How often they compete.
    """
    fork = multiprocessing.get_context("fork")
    start, won = fork.Barrier(2), fork.SimpleQueue()

    def compete(number: int) -> None:
        store, wins = opened(root), []
        for turn in range(rounds):
            start.wait()
            if _has_won(store, change, number, turn):
                wins.append(turn)
        won.put((number, wins))

    racers = [fork.Process(target=compete, args=(number,)) for number in range(2)]
    for process in racers:
        process.start()
    wins = dict(won.get() for _ in racers)
    for process in racers:
        process.join()
        assert process.exitcode == 0
    assert sorted(wins[0] + wins[1]) == list(range(rounds))
    return wins


def _has_won(
    store: LocalStore, change: Callable[[LocalStore, int, int], object], number: int, turn: int
) -> bool:
    """Certain of it, one way or the other."""
    try:
        change(store, number, turn)
    except StoreError as error:
        if (error.reply, error.errno) != (Reply.REFUSED, errno.EEXIST):
            pytest.fail(str(error))
        return False
    return True
