"""How a test talks to one of our servers about the server itself."""

from __future__ import annotations

import http.client
import json
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# What is under it is about the server itself: no bucket, account or API is called so.
CONTROL = "/-/"
_ANSWER_WITHIN_S = 60
_ANSWER_SOON_S = 3
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


class Controlled(ABC):
    """A server of ours, by its port."""

    @property
    @abstractmethod
    def port(self) -> int:
        """The port of 127.0.0.1 on which it listens."""

    def set_load(
        self, *, latency_s: float = 0.0, rate_per_s: float | None = None, burst_s: float = _BURST_S
    ) -> None:
        """From now on answer so late and so many a second; see `load.py`."""
        self.tell("load", {"latency_s": latency_s, "rate_per_s": rate_per_s, "burst_s": burst_s})

    def statistics(self) -> Statistics:
        """Since the server's start; operations are named as in its API's reference."""
        found: dict[str, Any] = json.loads(self.ask("GET", f"{CONTROL}statistics"))
        for name in ("requests", "throttled"):
            found[name] = Counter(found[name])
        return Statistics(**found)

    def forget(self) -> None:
        """Drop all that the server holds."""
        self.ask("DELETE", f"{CONTROL}everything")

    def tell(self, what: str, said: Mapping[str, object]) -> None:
        """Have the server behave so; what it can be told is in its `endpoint.py`."""
        self.ask("PUT", CONTROL + what, json.dumps(said).encode())

    def answers(self) -> bool:
        """Whether it does, soon: else somebody else's program may be at its port."""
        try:
            return bool(ask(self.port, "GET", f"{CONTROL}statistics", within_s=_ANSWER_SOON_S))
        except (OSError, http.client.HTTPException, RuntimeError):
            return False

    def ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """The answer to one request, as `ask` gives it."""
        return ask(self.port, method, path, body)


def ask(
    port: int,
    method: str,
    path: str,
    body: bytes | None = None,
    *,
    within_s: float = _ANSWER_WITHIN_S,
) -> bytes:
    """The answer to one request.

    Raises:
        RuntimeError: it is a refusal.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=within_s)
    try:
        connection.request(method, path, body)
        reply = connection.getresponse()
        answered = reply.read()
    finally:
        connection.close()
    if reply.status >= http.client.BAD_REQUEST:
        raise RuntimeError(f"{method} {path} was answered {reply.status}")
    return answered
