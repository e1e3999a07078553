"""The strict server alone, in memory, as benchmarks start it."""

from __future__ import annotations

import secrets
from typing import Any

from tests.servers.gcs.control import Control
from tests.servers.gcs.server import PROJECT
from tests.servers.http_service.control import ask
from tests.servers.http_service.process import OwnProcess


class StrictGcs(OwnProcess):
    def __init__(self) -> None:
        super().__init__("tests.servers.gcs.strict")
        self.control = Control(self.port)

    @property
    def storage_options(self) -> dict[str, Any]:
        """What gcsfs takes."""
        return {"token": "anon", "project": PROJECT, "endpoint_url": self.endpoint_url}

    def new_bucket(self) -> str:
        """An empty bucket with a name of its own."""
        name = f"slow-{secrets.token_hex(6)}"
        path = f"/storage/v1/b?project={PROJECT}"
        ask(self.port, "POST", path, f'{{"name":"{name}"}}'.encode())
        return name
