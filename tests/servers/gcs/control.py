"""The strict server's own side: how it is to behave, and what it has counted."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.servers.gcs.strict.settings import Settings
from tests.servers.http_service.control import Controlled


class Control(Controlled):
    def __init__(self, port: int) -> None:
        self._port = port

    @property
    def port(self) -> int:
        return self._port

    def set(self, **settings: Any) -> None:
        """Behave so from now on, and in nothing else that was asked for before: see `Settings`."""
        self.tell("settings", dataclasses.asdict(Settings(**settings)))

    def admit(self, token: str, *, account: str, denied: list[str]) -> None:
        self.tell("token", {"token": token, "account": account, "denied": denied})

    def revoke_tokens(self) -> None:
        """All that it has given out or was told of are answered 401 from now on."""
        self.tell("revocation", {})
