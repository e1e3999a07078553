"""The server as those who use it see it: a process of its own, to be set and asked."""

from __future__ import annotations

import http.client
import json
import secrets
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.servers.http_service.connection import CONTROL
from tests.servers.kinds import REGION
from tests.servers.slow_s3.uploads import EQUAL_PARTS

if TYPE_CHECKING:
    from types import TracebackType

_ROOT = Path(__file__).parents[3]
_ANSWER_WITHIN_S = 60
_ACCOUNT = "slow"
_BURST_S = 0.05


@dataclass(frozen=True)
class Statistics:
    """What the server counted between two looks.

    Attributes:
        requests: How many calls, by operation; those that were refused are among them.
        throttled: How many of them were answered 503.
        in_flight_max: The most calls at a time, since the load was set.
        steps: How often a call came when no other was being answered: of a single client, how many
            steps it took one after the other, each of them a call or several at once.
        cpu_s: CPU time of the server.
        time_s: Between the looks.
    """

    requests: Counter[str]
    throttled: Counter[str]
    in_flight_max: int
    steps: int
    cpu_s: float
    time_s: float

    def since(self, before: Statistics) -> Statistics:
        return Statistics(
            self.requests - before.requests,
            self.throttled - before.throttled,
            self.in_flight_max,
            self.steps - before.steps,
            self.cpu_s - before.cpu_s,
            self.time_s - before.time_s,
        )

    @property
    def throttled_share(self) -> float:
        return self.throttled.total() / max(1, self.requests.total())

    @property
    def cpu_share(self) -> float:
        """Of one core."""
        return self.cpu_s / self.time_s


class SlowS3:
    """A server on a free port of 127.0.0.1 that ends with this object or with this process.

    It checks no signature, holds everything in memory, and starts as fast as it can be.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.slow_s3"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the slow server ended with status {self._process.wait()}")
        self.port = int(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def endpoint_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def storage_options(self) -> dict[str, Any]:
        """What s3fs takes."""
        return {
            "key": _ACCOUNT,
            "secret": _ACCOUNT,
            "endpoint_url": self.endpoint_url,
            "client_kwargs": {"region_name": REGION},
        }

    def set_load(
        self, *, latency_s: float = 0.0, rate_per_s: float | None = None, burst_s: float = _BURST_S
    ) -> None:
        """From now on answer so late and so many a second; see `load.py`."""
        load = {"latency_s": latency_s, "rate_per_s": rate_per_s, "burst_s": burst_s}
        self._ask("PUT", f"{CONTROL}load", json.dumps(load).encode())

    def statistics(self) -> Statistics:
        found = json.loads(self._ask("GET", f"{CONTROL}statistics"))
        for name in ("requests", "throttled"):
            found[name] = Counter(found[name])
        return Statistics(**found)

    def new_bucket(self, *, of_directories: bool = False, of_equal_parts: bool = False) -> str:
        """An empty bucket with a name of its own: a general purpose one, or a directory bucket.

        Or one that completes uploads of parts of one length only.
        """
        bucket = f"slow-{secrets.token_hex(6)}" + ("--use1-az4--x-s3" if of_directories else "")
        bucket = (EQUAL_PARTS if of_equal_parts else "") + bucket
        self._ask("PUT", f"/{bucket}")
        return bucket

    def forget(self) -> None:
        """Drop every bucket with all that is in it."""
        self._ask("DELETE", f"{CONTROL}buckets")

    def _ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_ANSWER_WITHIN_S)
        try:
            connection.request(method, path, body)
            reply = connection.getresponse()
            answered = reply.read()
        finally:
            connection.close()
        if reply.status >= http.client.BAD_REQUEST:
            raise RuntimeError(f"{method} {path} was answered {reply.status}")
        return answered
