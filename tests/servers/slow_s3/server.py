"""One running slow server, to be set and asked."""

from __future__ import annotations

import secrets
from typing import Any

from tests.servers.http_service.control import Controlled
from tests.servers.http_service.kind import own_kind
from tests.servers.kinds import REGION
from tests.servers.server import Server
from tests.servers.slow_s3.uploads import EQUAL_PARTS

SLOW_S3 = own_kind("slow-s3", "tests.servers.slow_s3", is_kept=False)


class SlowS3(Server, Controlled):
    """It checks no signature, holds everything in memory, and starts as fast as it can be."""

    def __init__(self) -> None:
        super().__init__(SLOW_S3)

    def storage_options_through(self, endpoint_url: str) -> dict[str, Any]:
        """With the region, whatever the environment says."""
        options = super().storage_options_through(endpoint_url)
        return {**options, "client_kwargs": {"region_name": REGION}}

    def new_bucket(self, *, of_directories: bool = False, of_equal_parts: bool = False) -> str:
        """An empty bucket with a name of its own: a general purpose one, or a directory bucket.

        Or one that completes uploads of parts of one length only.
        """
        bucket = f"slow-{secrets.token_hex(6)}" + ("--use1-az4--x-s3" if of_directories else "")
        bucket = (EQUAL_PARTS if of_equal_parts else "") + bucket
        self.ask("PUT", f"/{bucket}")
        return bucket

    def _is_ready(self) -> bool:
        return self.answers()
