"""A destination in memory, as plain fsspec sees it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import fsspec

from tests.protocol.invariants import AREA

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class MemoryPlace:
    """A directory of its own.

    Attributes:
        top: What lies above it, and nothing else does.
    """

    top: str = field(default_factory=lambda: f"/place-{uuid4().hex}")
    may_come_back = False

    @property
    def url(self) -> str:
        return f"memory:/{self.top}/out"

    @property
    def where(self) -> dict[str, Any]:
        return {"destination": self.url}

    @property
    def how(self) -> dict[str, Any]:
        return {}

    def put(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            self._files.pipe_file(f"{self.top}/out/{name}", data)

    def snapshot(self) -> dict[str, bytes]:
        return {name: self._files.cat_file(f"{self.top}/out/{name}") for name in self._names()}

    def data(self) -> dict[str, bytes]:
        return {name: data for name, data in self.snapshot().items() if not name.startswith(AREA)}

    def directories(self) -> set[str]:
        below = self._files.find(f"{self.top}/out", withdirs=True)
        return {name.removeprefix(f"{self.top}/out/") for name in below} - set(self._names())

    def pending(self) -> list[str]:
        return []

    def remove(self) -> None:
        with suppress(FileNotFoundError):
            self._files.rm(self.top, recursive=True)

    def _names(self) -> list[str]:
        return [
            name.removeprefix(f"{self.top}/out/") for name in self._files.find(f"{self.top}/out")
        ]

    @property
    def _files(self) -> Any:
        return fsspec.filesystem("memory")
