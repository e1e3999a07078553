"""Credentials of google-auth that do what a test tells them to."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from google.oauth2.credentials import Credentials


class Renewed(Credentials):
    """Credentials that get token-1, token-2, … or fail as they are told to."""

    def __init__(
        self, *, failure: Exception | None = None, expired: bool = False, ending: str = ""
    ) -> None:
        ago = datetime.now(UTC).replace(tzinfo=None) - timedelta(hours=1)
        super().__init__("token-0", expiry=ago if expired else None)  # type: ignore[no-untyped-call]  # google-auth ships no types
        self.failure = failure
        self.ending = ending
        self.renewals = 0
        self.asked = 0

    def refresh(self, request: Any) -> None:
        assert request.keywords["timeout"] <= 10
        self.asked += 1
        if self.failure is not None:
            time.sleep(0.02)
            raise self.failure
        self.renewals += 1
        self.token = f"token-{self.renewals}{self.ending}"
        self.expiry = None
