"""One running S3 server: started, found ready, killed, started again, ended."""

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
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.servers.installation import ServerUnavailableError
from tests.servers.kinds import REGION, Place
from tests.servers.ports import free_ports

if TYPE_CHECKING:
    from types import TracebackType

    from tests.servers.kinds import ServerKind

READY_WITHIN_S = 60.0
ATTEMPTS = 3
LINES_OF_LOG = 40
_LOOK_S = 0.05
# Until it is ready: somebody else's program at its port may never answer.
_ANSWER_WITHIN_S = 3
# In the bucket that shows that a server is ready.
_READY_BUCKET = "ready"


class ServerDiedError(Exception):
    """A server ended, or did not get ready; the end of its log is in the message."""


class Server:
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def port(self) -> int:
        return self._place.ports["s3"]

    @property
    def ports(self) -> dict[str, int]:
        """Everything that it was given to listen on."""
        return dict(self._place.ports)

    @property
    def endpoint_url(self) -> str:
        return f"http://{self._place.address}"

    @property
    def storage_options(self) -> dict[str, Any]:
        """What s3fs takes. The region comes from the environment (`s3_environment`)."""
        return self.storage_options_through(self.endpoint_url)

    def storage_options_through(self, endpoint_url: str) -> dict[str, Any]:
        """The same account, by another address: a proxy's."""
        return {"key": self._key, "secret": self._secret, "endpoint_url": endpoint_url}

    @cached_property
    def client(self) -> Any:
        """A botocore client, for what a test does beside the code that it tests. Never retries."""
        return self.client_through(self.endpoint_url)

    def client_through(self, endpoint_url: str, *, service: str = "s3", **config: object) -> Any:
        """A botocore client of the same account, by another address."""
        return new_client(endpoint_url, self._key, self._secret, service=service, **config)

    def storage_options_without(self, *actions: str) -> dict[str, Any]:
        """A new account that may do everything but these IAM actions; on ministack only."""
        assert self.name == "ministack", f"{self.name} has no IAM"
        allowed = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
        denied = [{"Effect": "Deny", "Action": list(actions), "Resource": "*"}] if actions else []
        document = {"Version": "2012-10-17", "Statement": [allowed, *denied]}
        user = f"user-{secrets.token_hex(8)}"
        iam = self.client_through(self.endpoint_url, service="iam")
        try:
            iam.create_user(UserName=user)
            iam.put_user_policy(
                UserName=user, PolicyName="tests", PolicyDocument=json.dumps(document)
            )
            made = iam.create_access_key(UserName=user)["AccessKey"]
        finally:
            iam.close()
        return {
            "key": made["AccessKeyId"],
            "secret": made["SecretAccessKey"],
            "endpoint_url": self.endpoint_url,
        }

    def new_bucket(self) -> str:
        """A bucket that no other test has."""
        bucket = f"test-{secrets.token_hex(8)}"
        self.client.create_bucket(Bucket=bucket)
        return bucket

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
        if "client" in self.__dict__:
            self.__dict__.pop("client").close()
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
        # The account of the person who runs the tests is not for the servers to see.
        env = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        argv = [str(self._place.program), *launch.arguments]
        self._pid: int = self._ask("start", argv=argv, env={**env, **launch.env})["pid"]
        deadline = time.monotonic() + READY_WITHIN_S
        with closing(
            self.client_through(self.endpoint_url, read_timeout=_ANSWER_WITHIN_S)
        ) as client:
            while not _is_ready(client):
                if not self.running:
                    raise ServerDiedError(f"{self.name} ended at once; its log:\n{self.log}")
                if time.monotonic() > deadline:
                    raise ServerDiedError(f"{self.name} is not ready; its log:\n{self.log}")
                time.sleep(_LOOK_S)
        # Another process at this port would have answered as well.
        if not self.running:
            raise ServerDiedError(f"{self.name} lost its port; its log:\n{self.log}")


def _is_ready(client: Any) -> bool:
    """Whether the server stores an object and gives it back: a port that answers is not enough."""
    from botocore.exceptions import BotoCoreError, ClientError

    word = secrets.token_bytes(8)
    try:
        try:
            client.head_bucket(Bucket=_READY_BUCKET)
        except ClientError:
            client.create_bucket(Bucket=_READY_BUCKET)
        client.put_object(Bucket=_READY_BUCKET, Key="word", Body=word)
        answer = client.get_object(Bucket=_READY_BUCKET, Key="word")
        return bool(answer["Body"].read() == word)
    except (BotoCoreError, ClientError):
        return False


def new_client(
    endpoint_url: str, key: str, secret: str, *, service: str = "s3", **config: object
) -> Any:
    """A botocore client for tests: every failure is shown, none is retried."""
    from botocore.config import Config
    from botocore.session import Session

    settings = {
        "retries": {"total_max_attempts": 1},
        "s3": {"addressing_style": "path"},
        "connect_timeout": 5,
        "read_timeout": 60,
        "max_pool_connections": 32,
        **config,
    }
    return Session().create_client(
        service,
        region_name=REGION,
        endpoint_url=endpoint_url,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        config=Config(**settings),
    )


class Servers:
    """The servers of one process of the test run: each started when first asked for, then kept."""

    def __init__(self) -> None:
        self._running: dict[str, Server] = {}
        self._failed: dict[str, ServerUnavailableError | ServerDiedError] = {}

    def get(self, kind: ServerKind) -> Server:
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
            self._running[kind.name] = Server(kind)
        except (ServerUnavailableError, ServerDiedError) as error:
            self._failed[kind.name] = error
            raise
        return self._running[kind.name]

    def stop(self) -> None:
        for server in self._running.values():
            server.stop()
        self._running.clear()
