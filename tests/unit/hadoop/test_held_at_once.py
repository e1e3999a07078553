"""What is held at once of a job of Hadoop's, however many calls may be in flight."""

from __future__ import annotations

import asyncio
import json
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.pacing import IN_FLIGHT_MAX
from fsspec_commit.hadoop.tasks import manifest_tasks
from fsspec_commit.ids import IdSource
from fsspec_commit.layout import StorePath
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import Expect, OpenOptions
from fsspec_commit.testing.wrapped import WrappedStore
from fsspec_commit_stores.memory import MemoryStore
from tests.unit.effects.virtual_time import run
from tests.unit.hadoop.test_records import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")
IDS = IdSource(random.Random(3), lambda: datetime(2026, 11, 21, tzinfo=UTC))
AREA = "_temporary/manifest_job_1"
TASKS = 100
FILES = 70


def manifest_of(nth: int) -> bytes:
    attempt = f"attempt_20260101000000_0001_m_{nth:06}_0"
    directory = f"memory:/held/out/{AREA}/00/tasks/{attempt}"
    files = [
        {"s": f"{directory}/{nth}-{file}", "d": f"memory:/held/out/{nth}-{file}", "z": 3}
        for file in range(FILES)
    ]
    told = {"taskAttemptID": attempt, "taskAttemptDir": directory, "files": files}
    return json.dumps(MANIFEST | told).encode()


def test_neither_all_manifests_are_held_nor_all_their_files_looked_for_at_once() -> None:
    reading = holding = tasks = 0

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        nonlocal reading, holding, tasks
        reading += verb == "read"
        holding, tasks = max(holding, reading), max(tasks, len(asyncio.all_tasks()))
        await asyncio.sleep(0.05)
        reading -= verb == "read"
        return await call()

    async def main() -> int:
        store = await MemoryStore.open("memory://held/out", OpenOptions())
        area = StorePath(f"{store.root}/{AREA}")
        for nth in range(TASKS):
            path = StorePath(f"{area}/00/manifests/task_{nth}-manifest.json")
            await store.put(path, manifest_of(nth), expecting=Expect.ABSENT, within=None)
        confirmed = ConfirmedStore(
            WrappedStore(store, carry),
            ids=IDS,
            statistics=Statistics(),
            in_flight_max=512,
        )
        found = await manifest_tasks(confirmed, area)
        await store.delete_tree(area)
        return sum(task.damage is None and task.published == 0 for task in found)

    found, _ = run(main())
    assert found == TASKS
    assert holding <= IN_FLIGHT_MAX
    assert tasks < (IN_FLIGHT_MAX + 1) ** 2
