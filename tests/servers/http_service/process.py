"""A server of ours alone, in memory, as benchmarks start it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

_ROOT = Path(__file__).parents[3]


class OwnProcess:
    """A server on a free port of 127.0.0.1 that ends with this object or with this process."""

    def __init__(self, module: str) -> None:
        """Run *module*, which prints its port and ends when standard input does."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{module} ended with status {self._process.wait()}")
        self._port = int(line)

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
    def port(self) -> int:
        return self._port

    @property
    def endpoint_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"
