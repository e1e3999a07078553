"""`fc.dask.publisher`: the workers of a real cluster of Dask publish a decided job."""

from __future__ import annotations

import asyncio
import pickle
import signal
import subprocess
import sys
import threading
from concurrent.futures import BrokenExecutor
from pickletools import genops
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pytest
from distributed import Client, LocalCluster
from fsspec.callbacks import Callback

import fsspec_commit as fc
from fsspec_commit.records.slices import DeleteSlice, PublishSlice, slice_of
from tests.dask.conftest import QUIET
from tests.dask.on_workers import (
    FILES_PER_TASK,
    TASKS,
    Dead,
    KilledWithin,
    Noted,
    Raising,
    Slow,
    Spoilt,
    Unreadable,
    expected,
    set_status,
    upper,
    write,
)
from tests.dask.seen import contents, until, warned, workers
from tests.protocol.invariants import job_ids, snapshot_of
from tests.scenes.remotes import on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.dask.on_workers import Function
    from tests.scenes.remotes import Remote


class Noting:
    """A publisher of Dask that notes its slices."""

    def __init__(self, client: Client) -> None:
        self.real = fc.dask.publisher(client)
        self.slices: list[PublishSlice | DeleteSlice] = []

    def map(self, function: Function, texts: Sequence[str], /) -> Iterator[str]:
        self.slices += map(slice_of, texts)
        return self.real.map(function, texts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


def logs(client: Client) -> str:
    """What the workers and the scheduler have logged lately."""
    return f"{client.get_worker_logs()} {client.get_scheduler_logs()}"


def test_p1_p9_workers_publish_and_delete(
    client: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    publisher, callback = Noting(client), Callback()
    assert publisher.width == 2
    assert repr(publisher.real) == "<DaskPublisher of 2 threads>"
    write(tmp_path, mode="append", publisher=publisher, callback=callback)
    assert len(publisher.slices) == TASKS
    # A slice may be run again whatever became of it: files are looked at.
    assert all(one.resuming for one in publisher.slices if isinstance(one, PublishSlice))
    assert callback.value == TASKS * FILES_PER_TASK
    assert contents(tmp_path) == expected("append")
    write(tmp_path, mode="overwrite", publisher=publisher)
    assert {type(one) for one in publisher.slices} == {PublishSlice, DeleteSlice}
    assert contents(tmp_path) == expected("overwrite")
    assert job_ids(snapshot_of(tmp_path)) == []
    assert warned(caplog) == []


@on("ministack", by_night=("versitygw", "strict-gcs", "gen2"))
def test_p1_p9_workers_publish_on_stores(
    client: Client, remote: Remote, caplog: pytest.LogCaptureFixture
) -> None:
    place, publisher = remote.place(), Noting(client)
    for mode in ("append", "overwrite"):
        write(place.url, mode=mode, publisher=publisher, share_secrets=True, **place.how)
        assert sorted(one.decode() for one in place.data().values() if one) == expected(mode)
    assert len(publisher.slices) > TASKS
    assert place.pending() == []
    assert warned(caplog) == []


def test_each_of_many_calls_is_run_however_often_it_was_before(
    publisher: fc.Publisher, tmp_path: Path
) -> None:
    """Dask answers equal calls from memory unless it is told not to."""
    notes = tmp_path / "notes"
    for times in (1, 2):
        assert list(publisher.map(Noted(upper, notes), ["a"] * 100)) == ["A"] * 100
        assert len(notes.read_text().splitlines()) == times * 100
    assert len(set(notes.read_text().splitlines())) == 2


def test_p8_a_worker_is_killed_within_a_slice(
    publisher: fc.Publisher, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Dask has another one run it, which finds a part of its files published."""
    mark, notes = tmp_path / "mark", tmp_path / "notes"

    def killed(function: Function) -> Function:
        return Noted(KilledWithin(function, mark), notes)

    write(tmp_path / "out", mode="append", publisher=Spoilt(publisher, killed))
    assert mark.exists()
    assert len(notes.read_text().splitlines()) > TASKS
    assert contents(tmp_path / "out") == expected("append")
    assert job_ids(snapshot_of(tmp_path / "out")) == []
    assert warned(caplog) == []


@pytest.mark.slow
def test_p8_slices_that_kill_their_workers_are_left_to_the_driver(
    publisher: fc.Publisher, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, mode="append", publisher=Spoilt(publisher, Dead))
    assert contents(tmp_path) == expected("append")
    (said,) = warned(caplog)
    assert "5 of 5 slices were lost elsewhere, and are done here: BrokenExecutor: Killed" in said


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda it: Raising(it, "hush", opened=False),
            (
                "5 of 5 slices were lost elsewhere, and are done here: BrokenExecutor: a worker "
                "of Dask has raised ValueError; its log says where"
            ),
        ),
        (
            lambda it: Raising(it, "hush", opened=True),
            "slice 4 was not done elsewhere, and is done here: ValueError at on_workers.py:",
        ),
        (
            Unreadable,
            (
                "ModuleNotFoundError: No module named 'not_installed_anywhere'; its log says "
                "where, and each worker needs fsspec-commit 0.1.0"
            ),
        ),
    ],
    ids=["raises", "raises once it has opened", "not installed"],
)
def test_p8_slices_that_fail_are_done_by_the_driver(
    client: Client, tmp_path: Path, spoil: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = workers(client)
    write(tmp_path, mode="append", publisher=Spoilt(fc.dask.publisher(client), spoil))
    assert contents(tmp_path) == expected("append")
    assert said in "\n".join(warned(caplog))
    assert "hush" not in "\n".join(warned(caplog))
    assert workers(client) == before, "workers have died of it"


def test_what_a_slice_raises_is_not_logged_by_its_worker(client: Client, tmp_path: Path) -> None:
    """Dask logs the text of what a task raises, and shows it; it may hold a secret."""
    publisher, secret = fc.dask.publisher(client), token_hex()
    write(
        tmp_path,
        mode="append",
        publisher=Spoilt(publisher, lambda it: Raising(it, secret, opened=True)),
    )
    assert secret not in logs(client)
    with pytest.raises(BrokenExecutor):
        list(publisher.map(Raising(upper, secret, opened=False), ["a"]))
    assert secret in logs(client), "that is where it would stand"


def test_secrets_are_in_no_key_and_no_log(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask shows the keys of tasks, and logs what they call if they fail."""
    secret = token_hex()
    options = {"storage_options": {"password": secret}, "share_secrets": True}
    keys: list[str] = []
    priorities: list[int] = []
    submit = client.submit

    def noted(*args: Any, **how: Any) -> Any:
        future = submit(*args, **how)
        keys.append(str(future.key))
        priorities.append(how["priority"])
        return future

    monkeypatch.setattr(client, "submit", noted)
    publisher = Spoilt(fc.dask.publisher(client), lambda it: Raising(it, "", opened=False))
    write(f"file://{tmp_path}", publisher=publisher, **options)
    assert priorities == [1] * TASKS, "before what else waits"
    assert len(keys) == TASKS
    assert all(key.startswith("publish_slice-") for key in keys)
    assert all(key in logs(client) for key in keys)
    assert secret not in logs(client) + "".join(keys)


def test_a_worker_that_is_paused_takes_no_slices(
    client: Client, publisher: fc.dask.DaskPublisher
) -> None:
    one = min(workers(client))
    client.run(set_status, "paused", workers=[one])
    try:
        until(lambda: publisher.width == 1)
    finally:
        client.run(set_status, "running", workers=[one])
    until(lambda: publisher.width == 2)


def test_a_task_is_read_by_any_python(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that goes by value is read by one minor version; a worker that cannot dies of it."""
    tasks: list[tuple[Any, ...]] = []
    submit = client.submit

    def noted(*task: Any, **how: Any) -> Any:
        tasks.append(task)
        return submit(*task, **how)

    monkeypatch.setattr(client, "submit", noted)
    assert list(fc.dask.publisher(client).map(upper, ["a"])) == ["A"]
    names = {name for _, name, _ in genops(pickle.dumps(tasks[0])) if isinstance(name, str)}
    assert {"_functools", "_operator", "_pickle"} < names
    assert not any("fsspec" in name for name in names)


def test_what_cannot_be_sent_is_named(
    publisher: fc.Publisher, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"storage_options": {"session": threading.Lock()}, "share_secrets": True}
    write(f"file://{tmp_path}", mode="append", publisher=publisher, **options)
    assert contents(tmp_path) == expected("append")
    (said,) = warned(caplog)
    assert said.endswith(
        "BrokenExecutor: storage_options cannot be sent: pickling them has raised TypeError"
    )


def test_workers_that_come_later_take_part() -> None:
    with (
        LocalCluster(
            n_workers=0,
            processes=False,
            protocol="tcp",
            threads_per_worker=3,
            **QUIET,
        ) as growing,
        Client(growing, set_as_default=False) as client,
    ):
        publisher = fc.dask.publisher(client)
        threading.Timer(0.2, growing.scale, args=[1]).start()
        assert sorted(publisher.map(upper, ["a", "b"])) == ["A", "B"]
        assert publisher.width == 3, "the threads that it has now"


def test_who_is_stopped_waits_for_nothing(
    client: Client, publisher: fc.dask.DaskPublisher, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"

    goes_on, was_told = threading.Event(), []

    def stop() -> None:
        until(mark.exists)
        # Its loop stands still, such as that of a cluster in this process may.
        assert client.loop is not None
        client.loop.add_callback(lambda: was_told.append(goes_on.wait(30)))
        publisher.stop()
        goes_on.set()

    threading.Thread(target=stop).start()
    with pytest.raises(BrokenExecutor, match="FutureCancelledError: publish_slice"):
        list(publisher.map(Slow(upper, mark, 1.0), ["a"] * 20))
    assert was_told == [True]


def test_what_has_ended_is_not_cancelled(
    client: Client, publisher: fc.dask.DaskPublisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask logs that it is asked to."""
    asked: list[object] = []
    with monkeypatch.context() as patch:
        patch.setattr(client.loop, "add_callback", lambda call, *_: asked.append(call))
        assert list(publisher.map(upper, [])) == []
        publisher.stop()
    assert asked == []


def test_p8_a_driver_is_killed_while_workers_publish(
    client: Client, cluster: LocalCluster, tmp_path: Path
) -> None:
    out, mark = tmp_path / "out", tmp_path / "mark"
    driver = [sys.executable, "-m", "tests.dask.killed_driver", cluster.scheduler_address]
    ran = subprocess.run(
        [*driver, str(out), str(mark)], check=False, timeout=60, stderr=subprocess.DEVNULL
    )
    assert ran.returncode == -signal.SIGKILL
    (job_id,) = job_ids(snapshot_of(out))
    publisher = Noting(client)
    result = fc.resume(out, job_id, publisher=publisher)
    assert result.file_count == TASKS * FILES_PER_TASK
    assert len(publisher.slices) == TASKS
    assert contents(out) == expected("append")
    assert job_ids(snapshot_of(out)) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda _: "tcp://127.0.0.1:8786", r"not a builtins.str: Client\(address\) connects"),
        (lambda _: Client, r"not the class distributed.client.Client: Client\(address\)"),
        (lambda _: None, "not a builtins.NoneType"),
        (lambda client: client.cluster, r"LocalCluster: Client\(cluster\) connects"),
        (lambda client: client.get_executor(), "not a distributed.cfexecutor.ClientExecutor"),
    ],
    ids=["address", "class", "nothing", "cluster", "executor"],
)
def test_what_is_no_client_is_refused(client: Client, wrong: Callable[..., Any], said: str) -> None:
    with pytest.raises(fc.RequestError, match=said) as raised:
        fc.dask.publisher(wrong(client))
    assert raised.value.kind == "invalid_request"


def test_a_client_that_is_closed_is_refused(cluster: LocalCluster) -> None:
    client = Client(cluster, set_as_default=False)
    client.close()
    with pytest.raises(fc.RequestError, match=r"a Client that is closed.*: make one with Client"):
        fc.dask.publisher(client)


def test_a_client_of_a_loop_is_refused(cluster: LocalCluster) -> None:
    """It would wait for the loop, which the commit holds up."""

    async def refused() -> None:
        address = cluster.scheduler_address
        async with Client(address, asynchronous=True, set_as_default=False) as client:
            with pytest.raises(fc.RequestError, match="is asynchronous: make another"):
                fc.dask.publisher(client)
            with pytest.raises(fc.RequestError, match=r"address, security=client\.security"):
                await asyncio.to_thread(fc.dask.publisher, client)

    asyncio.run(refused())


def test_a_client_in_the_place_of_its_publisher_is_refused(client: Client, tmp_path: Path) -> None:
    with pytest.raises(
        fc.RequestError, match=r"publisher=fc\.dask\.publisher\(client\)$"
    ) as raised:
        fc.Job(tmp_path, publisher=client)  # type: ignore[arg-type]
    assert raised.value.kind == "invalid_option"


def test_without_distributed_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(fc.RequestError, match=r"pip install 'fsspec-commit\[dask\]'") as raised:
        fc.dask.publisher("tcp://127.0.0.1:8786")  # type: ignore[arg-type]
    assert raised.value.kind == "missing_package"
