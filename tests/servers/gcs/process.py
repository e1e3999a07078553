"""The strict server alone, in memory, as benchmarks start it."""

from __future__ import annotations

import secrets
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.request import Request, urlopen

from tests.servers.gcs.control import Control
from tests.servers.gcs.server import PROJECT

if TYPE_CHECKING:
    from types import TracebackType

_ROOT = Path(__file__).parents[3]


class StrictGcs:
    """A server on a free port of 127.0.0.1 that ends with this object or with this process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.gcs.strict", "--until-eof"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the strict server ended with status {self._process.wait()}")
        self.endpoint_url = f"http://127.0.0.1:{int(line)}"
        self.control = Control(self.endpoint_url)

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
    def storage_options(self) -> dict[str, Any]:
        """What gcsfs takes."""
        return {"token": "anon", "project": PROJECT, "endpoint_url": self.endpoint_url}

    def new_bucket(self) -> str:
        """An empty bucket with a name of its own."""
        name = f"slow-{secrets.token_hex(6)}"
        url = f"{self.endpoint_url}/storage/v1/b?project={PROJECT}"
        with urlopen(Request(url, f'{{"name":"{name}"}}'.encode(), method="POST")):
            return name
