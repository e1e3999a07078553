"""A running cluster: a NameNode and two DataNodes, each killed and started again on its own."""

from __future__ import annotations

import getpass
import json
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from http import HTTPStatus
from typing import Any, Self
from urllib.parse import urlsplit

from tests.servers.hdfs.kinds import NAME_NODE, data_node
from tests.servers.server_process import READY_WITHIN_S, ServerDiedError, ServerProcess

DATA_NODES = 2
_ANSWER_WITHIN_S = 30
_TRIES_MAX = 10
_LOOK_S = 0.05
_ACTIVITY = "Hadoop:service=NameNode,name=NameNodeActivity"
_INFORMATION = "Hadoop:service=NameNode,name=NameNodeInfo"
_ACTORS = "Hadoop:service=DataNode,name=DataNodeInfo"


class HdfsProcess(ServerProcess):
    """One of the three."""

    def bean(self, name: str) -> dict[str, Any] | None:
        """What it says of itself; ``None`` when it does not answer, or not yet."""
        url = f"http://127.0.0.1:{self.ports['http']}/jmx?qry={name}"
        try:
            with urllib.request.urlopen(url, timeout=_ANSWER_WITHIN_S) as answer:
                beans = json.load(answer)["beans"]
        except (OSError, urllib.error.URLError, ValueError):
            return None
        return dict(beans[0]) if beans else None

    def _close_clients(self) -> None:
        """Nobody of its own."""


class NameNode(HdfsProcess):
    def __init__(self) -> None:
        super().__init__(NAME_NODE)

    def _is_ready(self) -> bool:
        """Out of safe mode: it knows where every block is."""
        found = self.bean(_INFORMATION)
        return found is not None and found["Safemode"] == ""


class DataNode(HdfsProcess):
    def __init__(self, name_node: int, *, reports_every_ms: int = 0) -> None:
        super().__init__(data_node(name_node, reports_every_ms=reports_every_ms))

    def _is_ready(self) -> bool:
        """Registered with its NameNode."""
        found = self.bean(_ACTORS)
        actors = json.loads((found or {}).get("BPServiceActorInfo") or "[]")
        return any(actor["ActorState"] == "RUNNING" for actor in actors)


class HdfsCluster:
    """All three; its data is in memory and gone at the end."""

    def __init__(self, *, reports_every_ms: int = 0) -> None:
        """Start them, in some ten seconds.

        Args:
            reports_every_ms: How often at most a DataNode tells of new blocks; at once by default.

        Raises:
            ServerUnavailableError: it is not installed.
            ServerDiedError: one would not start.
        """
        self.name_node = NameNode()
        self.data_nodes: list[DataNode] = []
        start = partial(DataNode, self.port, reports_every_ms=reports_every_ms)
        try:
            with ThreadPoolExecutor(DATA_NODES) as threads:
                begun = [threads.submit(start) for _ in range(DATA_NODES)]
            self.data_nodes = [starting.result() for starting in begun]
            self._wait_for_room()
        except BaseException:
            self.data_nodes = [one.result() for one in begun if one.exception() is None]
            self.stop()
            raise
        self._met = self._pids()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def processes(self) -> list[HdfsProcess]:
        return [self.name_node, *self.data_nodes]

    @property
    def port(self) -> int:
        """Of the NameNode, for `hdfs://`."""
        return self.name_node.ports["rpc"]

    @property
    def http_port(self) -> int:
        """Of the NameNode, for `webhdfs://`."""
        return self.name_node.ports["http"]

    @property
    def user(self) -> str:
        """Who may do everything: the one who started it."""
        return getpass.getuser()

    @cached_property
    def client(self) -> Any:
        """hdfs-native's, for what a test does beside the code that it tests."""
        from hdfs_native import Client

        return Client(f"hdfs://127.0.0.1:{self.port}")

    def counts(self) -> dict[str, int]:
        """How often the NameNode did what, by its own names, whichever way it was asked."""
        found = self.name_node.bean(_ACTIVITY)
        assert found is not None, "the NameNode does not say"
        return {name: value for name, value in found.items() if isinstance(value, int)}

    def heal(self) -> None:
        """Start again what a test has killed, and let it be met by nobody later.

        A DataNode that writes for WebHDFS keeps a connection to the NameNode for ten seconds, and
        what it asks first on one to a NameNode that has died since comes to nothing.
        """
        for process in self.processes:
            if not process.running:
                process.restart()
        if self._met != self._pids():
            self._wait_for_room()
            for node in self.data_nodes:
                tries = (self.write_through(node) for _ in range(_TRIES_MAX))
                assert any(tries), f"a DataNode does not write:\n{node.log}"
            self._met = self._pids()

    def _pids(self) -> list[int]:
        """A process that was started again has another one."""
        return [process.pid for process in self.processes]

    def nodes_with_room(self) -> int:
        """DataNodes that the NameNode would have a block written to."""
        found = self.name_node.bean(_INFORMATION)
        nodes = json.loads((found or {}).get("LiveNodes") or "{}")
        return sum(node["capacity"] > 0 for node in nodes.values())

    def _wait_for_room(self) -> None:
        """A DataNode has registered before it says, with its first heartbeat, what it can store.

        Raises:
            ServerDiedError: one has not said so.
        """
        deadline = time.monotonic() + READY_WITHIN_S
        while self.nodes_with_room() < DATA_NODES:
            if time.monotonic() > deadline:
                raise ServerDiedError(f"no room on a DataNode:\n{self.name_node.log}")
            time.sleep(_LOOK_S)

    def write_through(self, node: DataNode) -> bool:
        """Write a file by WebHDFS through this DataNode; whether that has succeeded."""
        asked = f"op=CREATE&overwrite=true&noredirect=true&user.name={self.user}"
        url = f"http://127.0.0.1:{self.http_port}/webhdfs/v1/through-a-data-node?{asked}"
        with suppress(OSError):
            with urllib.request.urlopen(urllib.request.Request(url, method="PUT")) as answer:
                location = urlsplit(json.load(answer)["Location"])
            there = location._replace(netloc=f"127.0.0.1:{node.ports['http']}").geturl()
            with urllib.request.urlopen(urllib.request.Request(there, method="PUT")) as answer:
                return bool(answer.status == HTTPStatus.CREATED)
        return False

    def stop(self) -> None:
        """End all of it. May be called twice."""
        self.__dict__.pop("client", None)
        for process in reversed(self.processes):
            process.stop()
