"""A job whose driver is a process of its own, and whose tasks are written in others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.benchmarks.slow_servers import Layers

GOAL_MB = 64
_ROOT = Path(__file__).parents[2]
_EMPTY = """
with open("/proc/self/status") as status:
    [line] = [line for line in status if line.startswith("VmHWM:")]
print(int(line.split()[1]) * 1024 / 1e6)
"""


def empty_interpreter() -> float:
    """Peak megabytes of a Python that does nothing."""
    return float(subprocess.check_output([sys.executable, "-c", _EMPTY]))


def writing_processes() -> ProcessPoolExecutor:
    """Processes for tasks to be written in; each has imported its store's SDK after the first."""
    return ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn"))


@dataclass(frozen=True)
class Files:
    """What each task writes: so many files, named by ``{task}``, ``{number}`` and ``{of_20}``."""

    count: int
    name: str
    data: bytes = b""

    def write(self, spec: str, storage_options: Mapping[str, Any] | None, task_id: int) -> str:
        """Write those of one task and return its message."""
        given = fc.JobSpec.from_json(spec)
        with fc.Task.from_spec(given, task_id, storage_options=storage_options) as task:
            for number in range(self.count):
                name = self.name.format(task=task_id, number=number, of_20=number % 20)
                with task.open(name) as file:
                    file.write(self.data)
        assert task.message is not None
        return task.message.to_json()


def commit(
    destination: str,
    task_count: int,
    files: Files,
    *,
    writers: ProcessPoolExecutor | None = None,
    when_written: Callable[[], object] = lambda: None,
    layers: Layers | None = None,
    streamed: bool = False,
    processes: int = 0,
    on_spark: bool = False,
    within: Sequence[str] = (),
    **options: Any,
) -> dict[str, Any]:
    """Run one job; the figures are those of `commit_driver.py`.

    Args:
        destination: Of the job.
        task_count: How many tasks write.
        files: Of each of them.
        writers: Where they do; without it in processes of this job alone.
        when_written: Called when all tasks have committed, and the job has not.
        layers: See `commit_driver.shares`; the job is watched, and so takes longer.
        streamed: Hand the messages over one by one, so that nobody holds them all.
        processes: How many others publish, beside the driver; none for the driver alone.
        on_spark: These are workers of Spark.
        within: What is put before the command of the driver, such as what holds it to a quota.
        options: Of the job.
    """
    request = {
        "layers": layers,
        "streamed": streamed,
        "processes": processes,
        "on_spark": on_spark,
        "options": options,
    }
    with (
        ExitStack() as stack,
        subprocess.Popen(
            [
                *(*within, sys.executable, "-m", "tests.benchmarks.commit_driver"),
                json.dumps({"destination": destination, **request}),
            ],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as driver,
    ):
        assert driver.stdout is not None
        spec = driver.stdout.readline()
        if not spec:
            raise RuntimeError(f"the driver ended with status {driver.wait()}")
        messages: list[str] = []
        if task_count:
            pool = stack.enter_context(writing_processes()) if writers is None else writers
            where = repeat(options.get("storage_options"))
            written = pool.map(files.write, repeat(spec), where, range(task_count), chunksize=10)
            messages = list(written)
        stack.close()
        when_written()
        answer, _ = driver.communicate("\n".join(messages))
    if driver.returncode:
        raise RuntimeError(f"the commit failed with status {driver.returncode}")
    figures: dict[str, Any] = json.loads(answer)
    assert figures["files"] == task_count * files.count, figures
    return figures
