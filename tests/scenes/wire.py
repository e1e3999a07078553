"""A job's way to any remote store, and the requests on it that a test may hit."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.scenes.attempts import learn
from tests.scenes.places import RemotePlace
from tests.scenes.scene import Scene
from tests.servers.faults import Fault, Rule
from tests.servers.proxy import FaultProxy

if TYPE_CHECKING:
    from collections.abc import Collection

    from tests.scenes.remotes import Remote
    from tests.servers.http_messages import Request
    from tests.servers.proxied_connection import Exchange
    from tests.servers.server_process import ServerProcess


_SPENT = re.compile(r"\d{8}T\d{6}-[0-9a-f]{16}|(?<=_SUCCESS-)[0-9a-f]{32}")
"""Ids of jobs, and nonces of markers: what is not answered is tried under another one."""

NAMING = ("name", "prefix", "destination")
"""Parameters of a query that say what a request is about."""


@dataclass(frozen=True)
class At:
    """One request of a job: an action on a name, the *nth* of them.

    Attributes:
        operation: As the proxy names it.
        name: A part of the path, or of what the query says that it is about.
        nth: Counted from 1.
    """

    operation: str
    name: str
    nth: int = 1

    def rule(
        self,
        fault: Fault | None,
        *,
        before: Callable[[], None] | None = None,
        after: Callable[[], None] | None = None,
    ) -> Rule:
        """That it meets *fault*."""
        return Rule(
            fault,
            operation=self.operation,
            where=self._is_about,
            nth=self.nth,
            before=before,
            after=after,
        )

    def is_of(self, exchange: Exchange) -> bool:
        """Whether it is this action on this name, whichever of them."""
        return exchange.operation == self.operation and self._is_about(exchange)

    def _is_about(self, request: Request | Exchange) -> bool:
        told = (request.path, *(request.query.get(name, "") for name in NAMING))
        return any(self.name in text for text in told)


@dataclass(frozen=True)
class Wire:
    """A job's way to its store, and what happens on it.

    Attributes:
        proxy: What lies between.
        scene: The job.
        faulty: Destinations by the proxy.
        direct: The same destinations without it.
    """

    proxy: FaultProxy
    scene: Scene
    faulty: Callable[[object], RemotePlace]
    direct: Callable[[object], RemotePlace]

    def ready(self, name: object, *rules: Rule) -> RemotePlace:
        """A destination with old files, by the proxy, on which these faults then happen."""
        place = self.faulty(name)
        place.put(self.scene.laid_out)
        self.proxy.clear()
        for rule in rules:
            self.proxy.add(rule)
        return place


def wire_to(remote: Remote, proxy: FaultProxy, scene: Scene) -> Wire:
    """The way of a job to a store that has been looked at: what probes is the first job only."""
    faulty = remote.through(proxy)
    learn(faulty("first"), remote.committer)
    return Wire(proxy, scene, faulty, remote.through())


class FirstTime:
    """Whether a change is asked for the first time, under whatever id: some may be spent."""

    def __init__(self, changes: Collection[str]) -> None:
        self._changes = changes
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> bool:
        if request.operation not in self._changes:
            return False
        asked = f"{request.operation} {request.path} {sorted(request.query.items())}"
        what = _SPENT.sub("", asked)
        with self._lock:
            is_first = what not in self._seen
            self._seen.add(what)
        return is_first


def bounce(server: ServerProcess) -> Callable[[], None]:
    """Kill *server*, and start it again."""

    def bounced() -> None:
        server.kill()
        server.restart()

    return bounced
