"""What Dask does not publish, the driver does: how long it waits, and for whom."""

from __future__ import annotations

import os
import threading
from concurrent.futures import BrokenExecutor
from importlib import import_module
from multiprocessing import get_context
from typing import TYPE_CHECKING

import pytest
from distributed import Client, LocalCluster

import fsspec_commit as fc
from tests.dask.conftest import QUIET
from tests.dask.on_workers import (
    FILES_PER_TASK,
    TASKS,
    Held,
    Slow,
    comes_late,
    commit_inside,
    expected,
    upper,
    write,
)
from tests.dask.seen import contents, until, warned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.dask.on_workers import Function

MODULE = import_module("fsspec_commit.engines.dask.publisher")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that does nothing is not waited for long."""
    monkeypatch.setattr(MODULE, "_LOOK_S", 0.05)
    monkeypatch.setattr(MODULE, "_DESERTED_S", 0.2)


def test_p8_a_client_that_is_closed_leaves_its_slices_to_the_driver(
    cluster: LocalCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = tmp_path / "table"
    client = Client(cluster, set_as_default=False)
    client.wait_for_workers(2, timeout=60)
    publisher = fc.dask.publisher(client)

    class Closing:
        def map(self, function: Function, texts: Sequence[str], /) -> Iterator[str]:
            held = Held(function, tmp_path / "first", tmp_path / "closed")
            answers = publisher.map(held, texts)
            yield next(answers)
            client.close()
            held.let_go.touch()
            yield from answers

    write(table, mode="append", publisher=Closing())
    write(table, mode="overwrite", publisher=publisher)
    assert contents(table) == expected("overwrite")
    assert publisher.width == 2, "as far as is known"
    while_running, *after = warned(caplog)
    assert "done here: BrokenExecutor: the Client of Dask was closed" in while_running
    assert all("Dask takes no slices: ClosedClientError: Client is" in one for one in after)
    assert len(after) == 2


@pytest.mark.usefixtures("impatient")
def test_p8_a_cluster_without_workers_is_not_waited_for_for_ever(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        LocalCluster(n_workers=0, processes=False, protocol="tcp", **QUIET) as empty,
        Client(empty, set_as_default=False) as client,
    ):
        publisher = fc.dask.publisher(client)
        assert publisher.width == 1
        write(tmp_path, mode="append", publisher=publisher)
        until(lambda: client.futures == {})  # Nobody is to come back to them.
    assert contents(tmp_path) == expected("append")
    (said,) = warned(caplog)
    assert "done here: BrokenExecutor: no worker of Dask was at work on a slice for" in said


@pytest.mark.usefixtures("impatient")
def test_p8_a_task_that_keeps_all_threads_from_its_slices_publishes_alone(tmp_path: Path) -> None:
    with (
        LocalCluster(
            n_workers=1, processes=False, protocol="tcp", threads_per_worker=1, **QUIET
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        assert client.submit(commit_inside, tmp_path).result(timeout=30) == TASKS * FILES_PER_TASK
    assert contents(tmp_path) == expected("append")


@pytest.mark.usefixtures("impatient")
def test_answers_that_are_lost_are_waited_for_together(
    client: Client, publisher: fc.Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_gather", comes_late)
    with pytest.raises(BrokenExecutor, match="no worker of Dask was at work on a slice"):
        list(publisher.map(upper, ["a"] * 5))


def test_p8_a_client_that_is_closed_gives_no_more_answers(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MODULE, "_LOOK_S", 0.05)
    monkeypatch.setattr(MODULE, "is_at_work", lambda *_: True)
    with Client(cluster, set_as_default=False) as client:
        monkeypatch.setattr(client, "_gather", comes_late)
        publisher = fc.dask.publisher(client)
        threading.Timer(0.5, client.close).start()
        with pytest.raises(BrokenExecutor, match="the Client of Dask was closed"):
            list(publisher.map(upper, ["a"]))


def test_each_answer_begins_the_time_anew(
    publisher: fc.Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MODULE, "_LOOK_S", 0.05)
    monkeypatch.setattr(MODULE, "_DESERTED_S", 1.5)
    monkeypatch.setattr(MODULE, "is_at_work", lambda *_: False)
    slow = Slow(upper, tmp_path / "mark", 0.3)
    assert list(publisher.map(slow, ["a"] * 14)) == ["A"] * 14


def test_slices_that_take_long_are_waited_for(
    publisher: fc.Publisher, tmp_path: Path, impatient: None
) -> None:
    assert list(publisher.map(Slow(upper, tmp_path / "mark", 1.0), ["a"])) == ["A"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process can be forked here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_p8_a_forked_process_publishes_alone(publisher: fc.Publisher, tmp_path: Path) -> None:
    """It has no thread that serves the client."""

    def commit() -> None:
        write(tmp_path, mode="append", publisher=publisher)

    child = get_context("fork").Process(target=commit)
    child.start()
    child.join(30)
    try:
        assert child.exitcode == 0
    finally:
        child.kill()
        child.join()
    assert contents(tmp_path) == expected("append")
