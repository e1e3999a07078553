"""What is sent by template, counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsspec_commit_stores.s3.templates import calls

if TYPE_CHECKING:
    import pytest


class SentByTemplate:
    """Counts from now on.

    Attributes:
        count: How many requests.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._send = calls._sent
        monkeypatch.setattr(calls, "_sent", self._counted)

    async def _counted(self, *request: Any) -> Any:
        self.count += 1
        return await self._send(*request)
