"""Job commits on a server that is made slow: our side of them, the bound, and what is reported.

The server is a process on loopback that answers each call late; files have 100 bytes, 20 a task,
and are written while it is as fast as it can be. The bound is `T = k·L + max(N/R, N·L/C)`: N files,
L the time that each call takes, R the rate that the server takes, C calls in flight, and k the
number of steps that are taken one after the other, counted by the server in the commit of a job of
one file: how often a call came when no other was being answered.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import fsspec_commit as fc
from tests.benchmarks.bench_memory import empty_interpreter
from tests.benchmarks.interleaved import Report, Sample
from tests.servers.http_service.control import Statistics

if TYPE_CHECKING:
    from collections.abc import Callable
FILES_PER_TASK = 20
# What any commit does one after the other: read what tasks left, decide, publish, mark.
LEAST_STEPS = 4
Layers = tuple[tuple[str, str, str], ...]
_DATA = bytes(100)
_ROOT = Path(__file__).parents[2]


class SlowServer(Protocol):
    """A server of our own, for one benchmark alone."""

    @property
    def storage_options(self) -> dict[str, Any]:
        """For fsspec."""

    def set_load(self, *, latency_s: float = 0.0, rate_per_s: float | None = None) -> None:
        """From now on answer so late and so many a second; by itself as fast as it can."""

    def statistics(self) -> Statistics:
        """What it has counted."""

    def forget(self) -> None:
        """Drop all that it stores."""


@dataclass(frozen=True)
class Limits:
    """How late a server answers, and how many a second."""

    latency_s: float
    rate_per_s: float | None = None

    def put_on(self, server: SlowServer) -> Statistics:
        """Make it so; returns what the server has counted before."""
        server.set_load(latency_s=self.latency_s, rate_per_s=self.rate_per_s)
        return server.statistics()

    def bound_s(self, files: int, *, steps: int, in_flight: int) -> float:
        """Seconds that nobody can beat who takes so many steps."""
        at_rate_s = files / self.rate_per_s if self.rate_per_s else 0.0
        return steps * self.latency_s + max(at_rate_s, files * self.latency_s / in_flight)


@dataclass
class Runs:
    """What one side's job commits took, run by run: the driver's figures, the server's."""

    figures: list[dict[str, Any]] = field(default_factory=list)
    seen: list[Statistics] = field(default_factory=list)


def writing_processes() -> ProcessPoolExecutor:
    """Processes for tasks to be written in; each has imported its store's SDK after the first."""
    return ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn"))


def write_task(spec: str, storage_options: dict[str, Any], task_id: int, files: int) -> str:
    """Write one task's files and return its message."""
    given = fc.JobSpec.from_json(spec)
    with fc.Task.from_spec(given, task_id, storage_options=storage_options) as task:
        for i in range(files):
            with task.open(f"part-{i:05d}") as file:
                file.write(_DATA)
    assert task.message is not None
    return task.message.to_json()


class OurJobs:
    """Our jobs on one server: tasks in some processes, each job's driver in one of its own."""

    def __init__(self, server: SlowServer, writers: ProcessPoolExecutor) -> None:
        self._server = server
        self._writers = writers

    def commit(
        self,
        destination: str,
        files: int,
        runs: Runs,
        *,
        limits: Limits,
        layers: Layers | None = None,
        **options: Any,
    ) -> float:
        """Seconds of `job.commit()`; with *layers* it is watched, and so takes longer.

        Args:
            destination: Of its own, on the server, which is emptied afterwards.
            files: How many.
            runs: What it took is added to them.
            limits: Put on the server when all tasks have committed.
            layers: See `commit_driver.shares`.
            options: Of the job.
        """
        tasks = max(1, files // FILES_PER_TASK)
        self._server.set_load()
        where = self._server.storage_options
        options |= {"tasks": tasks, "storage_options": where}
        request = {"destination": destination, "layers": layers, "options": options}
        with subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.commit_driver", json.dumps(request)],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as driver:
            assert driver.stdout is not None
            spec = driver.stdout.readline()
            if not spec:
                raise RuntimeError(f"the driver ended with status {driver.wait()}")
            per_task = min(files, FILES_PER_TASK)
            messages = self._writers.map(
                write_task, repeat(spec), repeat(where), range(tasks), repeat(per_task), chunksize=5
            )
            told = "\n".join(messages)
            before = limits.put_on(self._server)
            answer, _ = driver.communicate(told)
        if driver.returncode:
            raise RuntimeError(f"the commit failed with status {driver.returncode}")
        runs.seen.append(self._server.statistics().since(before))
        figures = json.loads(answer)
        assert figures["files"] == files, figures
        self._server.forget()
        runs.figures.append(figures)
        return float(figures["seconds"])


def our_steps(report: Report, name: str, commit: Callable[[int, Runs], float]) -> Statistics:
    """What the server sees of our commit of a job of one file: how many steps above all."""
    runs = Runs()
    commit(1, runs)
    [seen] = runs.seen
    report.note(
        f"{name}: {seen.requests.total()} calls in {seen.steps} steps, "
        f"at most {seen.in_flight_max} at a time: {dict(seen.requests)}"
    )
    return seen


def describe_server(
    report: Report,
    name: str,
    sample: Sample,
    seen: list[Statistics],
    *,
    throttled_at_most: float | None = None,
) -> None:
    """What the server saw of one side, and whether it had time enough for it."""
    throttled = Sample(tuple(one.throttled_share for one in seen))
    report.add(f"{name}: calls refused", throttled, unit="of all", at_most=throttled_at_most)
    pairs = zip(seen, sample.values, strict=True)
    share = Sample(tuple(one.cpu_s / seconds for one, seconds in pairs))
    report.add(f"{name}: the server's CPU", share, unit="of a core")
    last = seen[-1]
    calls, most = last.requests.total(), last.in_flight_max
    report.note(f"{name}: {calls:,} calls, at most {most} at a time")


def describe_client(report: Report, name: str, runs: Runs, files: int) -> None:
    """What our driver took of its machine."""
    cpu = Sample(tuple(one["cpu_s"] / files * 1e6 for one in runs.figures))
    report.add(f"{name}: CPU a file", cpu, unit="us")
    empty = empty_interpreter()
    peak = Sample(tuple(one["peak_mb"] - empty for one in runs.figures))
    report.add(f"{name}: peak over an empty interpreter", peak, unit="MB")


def describe_shares(report: Report, name: str, runs: Runs) -> None:
    """Where our client's CPU time goes; watched, so the run itself counts for nothing."""
    [figures] = runs.figures
    for layer, share in figures["shares"].items():
        report.add(f"{name}: share of our CPU time: {layer}", Sample((share * 100,)), unit="%")
