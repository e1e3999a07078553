"""The server as those who use it see it: a process of its own, to be set and asked."""

from __future__ import annotations

import secrets
from typing import Any

from tests.servers.http_service.control import Controlled, ask
from tests.servers.http_service.process import OwnProcess
from tests.servers.kinds import REGION
from tests.servers.slow_s3.uploads import EQUAL_PARTS

_ACCOUNT = "slow"


class SlowS3(OwnProcess, Controlled):
    """It checks no signature, holds everything in memory, and starts as fast as it can be."""

    def __init__(self) -> None:
        super().__init__("tests.servers.slow_s3")

    @property
    def storage_options(self) -> dict[str, Any]:
        """What s3fs takes."""
        return {
            "key": _ACCOUNT,
            "secret": _ACCOUNT,
            "endpoint_url": self.endpoint_url,
            "client_kwargs": {"region_name": REGION},
        }

    def new_bucket(self, *, of_directories: bool = False, of_equal_parts: bool = False) -> str:
        """An empty bucket with a name of its own: a general purpose one, or a directory bucket.

        Or one that completes uploads of parts of one length only.
        """
        bucket = f"slow-{secrets.token_hex(6)}" + ("--use1-az4--x-s3" if of_directories else "")
        bucket = (EQUAL_PARTS if of_equal_parts else "") + bucket
        ask(self.port, "PUT", f"/{bucket}")
        return bucket
