"""Whole jobs on a slow server, block by block, in a process of ours or in a JVM of Hadoop's."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.benchmarks.counted_jobs import when_still
from tests.servers.http_service.control import Statistics

if TYPE_CHECKING:
    from collections import Counter

    from tests.benchmarks.slow_servers import SlowServer
    from tests.servers.hadoop.jvm import StoreJobs

_ROOT = Path(__file__).parents[2]


@dataclass
class Blocks:
    """What the blocks of one side took, one by one.

    Attributes:
        figures: Of `block_driver.block`; of Hadoop's as far as they are known.
        seen: What the server has counted, until the block was left.
    """

    figures: list[dict[str, float]] = field(default_factory=list)
    seen: list[Statistics] = field(default_factory=list)

    def median_of(self, name: str) -> float:
        found = sorted(one[name] for one in self.figures)
        return found[len(found) // 2]


class BlockDriver:
    """A process of `block_driver.py`, new, which ends with its `with` block."""

    def __init__(
        self, server: SlowServer, url: str, *, keeps_clients: bool = True, **options: Any
    ) -> None:
        protocol = url.partition("://")[0]
        storage_options = {**server.vouched_options, "kept_clients": keeps_clients}
        options = {"storage_options": storage_options, **options}
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.benchmarks.block_driver"),
                json.dumps({"protocol": protocol, "options": options}),
            ],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.import_s: float = self._answer()["import_s"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def block(self, url: str, files: int, mode: str) -> dict[str, float]:
        """What one job takes."""
        assert self._process.stdin is not None
        asked = json.dumps({"url": url, "files": files, "mode": mode})
        print(asked, file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the driver ended with status {self._process.wait()}")
        answer: dict[str, float] = json.loads(line)
        return answer


class SlowBlocks:
    """Blocks of both sides on one server, which is slow while they run and at no other time."""

    def __init__(self, server: SlowServer, latency_s: float) -> None:
        self._control = server.control
        self._latency_s = latency_s
        self._jobs = count()

    def ours(self, driver: BlockDriver, url: str, files: int, mode: str, found: Blocks) -> float:
        """Seconds of one of ours."""
        before = self._slow()
        figures = driver.block(url, files, mode)
        self._note(found, figures, before)
        return figures["seconds"]

    def theirs(self, jvm: StoreJobs, url: str, files: int, found: Blocks) -> float:
        """Seconds of one of Hadoop's, of one task; its files have the same names in every job."""
        url = f"{url}-{next(self._jobs)}"
        before = self._slow()
        task_s = jvm.write(url, tasks=1, files=files)["write_ms"] / 1000
        # Its answer says what is visible, which takes it a look that is not counted.
        commit_s = jvm.commit()["commit_job_ms"] / 1000
        figures: dict[str, float] = {
            "seconds": task_s + commit_s,
            "task_s": task_s,
            "commit_s": commit_s,
        }
        self._note(found, figures, before)
        return figures["seconds"]

    def _slow(self) -> Statistics:
        """What an earlier block has left to be done is over, and the load is set."""
        self._control.set_load()
        when_still(self._asked)
        self._control.set_load(latency_s=self._latency_s)
        return self._control.statistics()

    def _note(self, found: Blocks, figures: dict[str, float], before: Statistics) -> None:
        found.figures.append(figures)
        found.seen.append(self._control.statistics().since(before))

    def _asked(self) -> Counter[str]:
        return self._control.statistics().requests
