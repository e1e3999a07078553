"""One running server: started, found ready, killed, started again, ended.

What is the same for every store; `server.py` is S3's, and each other store has one of its own.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from tests.servers.installation import ServerUnavailableError
from tests.servers.kinds import Place
from tests.servers.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.kinds import ServerKind

READY_WITHIN_S = 60.0
ATTEMPTS = 3
LINES_OF_LOG = 40
_LOOK_S = 0.05
# The accounts and settings of the person who runs the tests are not for the servers to see.
_PRIVATE = ("AWS_", "AZURE_", "GOOGLE_", "GCSFS_", "STORAGE_EMULATOR_HOST", "HADOOP_")


class ServerDiedError(Exception):
    """A server ended, or did not get ready; the end of its log is in the message."""


class ServerProcess(ABC):
    """A server of one's own on 127.0.0.1, with an account and a data directory of its own.

    Its data is in memory where the system has such, and gone at the end, as is the process: also
    when the tests are killed (`supervisor.py`).
    """

    def __init__(self, kind: ServerKind) -> None:
        """Start it and wait until it stores objects.

        Raises:
            ServerUnavailableError: it is not installed.
            ServerDiedError: it would not start, with three sets of ports.
        """
        self.kind = kind
        self._key = "TESTS" + secrets.token_hex(8).upper()
        self._secret = secrets.token_hex(20)
        # A rule of the proxy may kill the server from another thread.
        self._asking = threading.Lock()
        # A test has killed it, and not started it again.
        self.killed = False
        program = kind.installation.program
        for attempt in range(1, ATTEMPTS + 1):
            memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
            self.home = Path(tempfile.mkdtemp(prefix=f"fsspec-commit-{kind.name}-", dir=memory))
            ports = dict(zip(kind.ports, free_ports(len(kind.ports)), strict=True))
            self._place = Place(program, self.home, ports, self._key, self._secret)
            self._place.data.mkdir()
            self._supervisor = self._supervise()
            try:
                self._launch()
            except ServerDiedError:
                self.stop()
                # Somebody else may have taken one of the ports in the meantime.
                if attempt == ATTEMPTS:
                    raise
            else:
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def port(self) -> int:
        return self._place.port

    @property
    def ports(self) -> dict[str, int]:
        """Everything that it was given to listen on."""
        return dict(self._place.ports)

    @property
    def endpoint_url(self) -> str:
        return f"http://{self._place.address}"

    @property
    def pid(self) -> int:
        """Of the server itself; after a restart another one."""
        return self._pid

    @property
    def supervisor_pid(self) -> int:
        return self._supervisor.pid

    @property
    def running(self) -> bool:
        return self._supervisor.poll() is None and self._ask("poll")["status"] is None

    @property
    def log(self) -> str:
        """The last lines that it wrote."""
        try:
            lines = (self.home / "log").read_text("utf-8", "replace").splitlines()
        except FileNotFoundError:
            return "(no log)"
        return "\n".join(lines[-LINES_OF_LOG:])

    def kill(self) -> None:
        """SIGKILL; returns when the process is gone."""
        self.killed = True
        self._ask("kill")

    def restart(self) -> None:
        """Start it again on the same data, ports and account, and wait until it is ready.

        Raises:
            ServerDiedError: it did not come back.
        """
        self._launch()
        self.killed = False

    def stop(self) -> None:
        """End it and remove its data. May be called twice."""
        self._close_clients()
        self._supervisor.communicate()
        # Done already, unless the supervisor itself was killed.
        shutil.rmtree(self.home, ignore_errors=True)

    def _supervise(self) -> subprocess.Popen[str]:
        script = Path(__file__).with_name("supervisor.py")
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(script), str(self.home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Signals to the tests' group are not for it.
            start_new_session=True,
        )

    def _ask(self, op: str, **request: object) -> dict[str, Any]:
        stdin, stdout = self._supervisor.stdin, self._supervisor.stdout
        assert stdin is not None
        assert stdout is not None
        with self._asking:
            stdin.write(json.dumps({"op": op, **request}) + "\n")
            stdin.flush()
            line = stdout.readline()
        if not line:
            raise ServerDiedError(f"the supervisor of {self.name} has ended")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _launch(self) -> None:
        launch = self.kind.launch(self._place)
        env = {name: value for name, value in os.environ.items() if not name.startswith(_PRIVATE)}
        argv = [str(self._place.program), *launch.arguments]
        self._pid: int = self._ask("start", argv=argv, env={**env, **launch.env})["pid"]
        deadline = time.monotonic() + READY_WITHIN_S
        while not self._is_ready():
            if not self.running:
                raise ServerDiedError(f"{self.name} ended at once; its log:\n{self.log}")
            if time.monotonic() > deadline:
                raise ServerDiedError(f"{self.name} is not ready; its log:\n{self.log}")
            time.sleep(_LOOK_S)
        # Another process at this port would have answered as well.
        if not self.running:
            raise ServerDiedError(f"{self.name} lost its port; its log:\n{self.log}")

    def reset(self) -> None:  # noqa: B027  most servers are told nothing
        """Take back what a test has told the server."""

    @abstractmethod
    def _is_ready(self) -> bool:
        """Whether it stores something and gives it back: a port that answers is not enough."""

    @abstractmethod
    def _close_clients(self) -> None:
        """Before the process ends. May be called twice."""


class StoreServer(ServerProcess):
    """A server that is a store by itself, with its only account."""

    # Of the store's URLs.
    protocol: ClassVar[str]

    @property
    def storage_options(self) -> dict[str, Any]:
        """What fsspec takes for it."""
        return self.storage_options_through(self.endpoint_url)

    @abstractmethod
    def storage_options_through(self, endpoint_url: str) -> dict[str, Any]:
        """The same account, by another address: a proxy's."""

    @cached_property
    def client(self) -> Any:
        """A client of the SDK, for what a test does beside the code that it tests."""
        return self.client_through(self.endpoint_url)

    @abstractmethod
    def client_through(self, endpoint_url: str) -> Any:
        """The same, by another address."""

    def _close_clients(self) -> None:
        for name in ("client", "dfs_client"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()


AnyServer = TypeVar("AnyServer", bound=ServerProcess)
AnyStore = TypeVar("AnyStore", bound=StoreServer)


@dataclass(frozen=True)
class Bucket(Generic[AnyStore]):
    """A bucket, or container, of the test's own on a running server."""

    server: AnyStore
    name: str

    @property
    def url(self) -> str:
        return f"{self.server.protocol}://{self.name}"

    @property
    def storage_options(self) -> dict[str, Any]:
        return self.server.storage_options


class RunningServers(Generic[AnyServer]):
    """The servers of one process of the test run: each started when first asked for, then kept."""

    def __init__(self, start: Callable[[ServerKind], AnyServer]) -> None:
        self._start = start
        self._running: dict[str, AnyServer] = {}
        self._failed: dict[str, ServerUnavailableError | ServerDiedError] = {}

    def get(self, kind: ServerKind) -> AnyServer:
        """A server that runs, the same for every test; a new one where a test has left it dead.

        Raises:
            ServerUnavailableError: it is not installed.
            ServerDiedError: it does not start; tried once in a test run.
        """
        server = self._running.get(kind.name)
        if server is not None and server.running:
            return server
        if kind.name in self._failed:
            raise self._failed[kind.name]
        if server is not None:
            server.stop()
        try:
            self._running[kind.name] = self._start(kind)
        except (ServerUnavailableError, ServerDiedError) as error:
            self._failed[kind.name] = error
            raise
        return self._running[kind.name]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._running.values():
            server.stop()
