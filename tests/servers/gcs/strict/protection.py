"""What keeps an object from being deleted or replaced, and a name from being written too often."""

from __future__ import annotations

import time
from collections import deque
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.servers.gcs.strict.failures import Failure, write_rate_exceeded
from tests.servers.gcs.strict.resources import retained_until

if TYPE_CHECKING:
    from tests.servers.gcs.strict.state import Bucket, Stored


def check_removable(bucket: Bucket, live: Stored | None) -> None:
    """Whether an object, if there is one, may go: by deletion, replacement or being moved away.

    https://cloud.google.com/storage/docs/object-holds, .../docs/bucket-lock

    Raises:
        Failure: a hold or the bucket's retention policy keeps it.
    """
    if live is None:
        return
    what = f"Object '{bucket.name}/{live.name}'"
    for hold, words in (
        ("temporaryHold", "Temporary hold"),
        ("eventBasedHold", "Event-Based hold"),
    ):
        if live.resource.get(hold):
            raise Failure(
                HTTPStatus.FORBIDDEN,
                "objectUnderActiveHold",
                f"{what} is under active {words} and cannot be deleted, overwritten or archived"
                " until hold is removed.",
            )
    end = retained_until(bucket, live.resource)
    if end is not None and datetime.now(UTC) < end:
        raise Failure(
            HTTPStatus.FORBIDDEN,
            "retentionPolicyNotMet",
            f"{what} is subject to bucket's retention policy or object retention and cannot be"
            f" deleted or overwritten until {end.isoformat()}",
        )


class WriteRate:
    """When each name was last written, for as long as that matters."""

    def __init__(self) -> None:
        self._written_s: dict[tuple[str, str], float] = {}
        self._order: deque[tuple[float, tuple[str, str]]] = deque()

    def check(self, bucket: str, name: str, *, interval_s: float) -> None:
        """Raises: Failure: it was written less than the interval ago."""
        moment_s = time.monotonic()
        while self._order and moment_s - self._order[0][0] > interval_s:
            written_s, place = self._order.popleft()
            if self._written_s.get(place) == written_s:
                del self._written_s[place]
        if (bucket, name) in self._written_s:
            raise write_rate_exceeded(bucket, name)

    def note(self, bucket: str, name: str, *, interval_s: float) -> None:
        if interval_s:
            moment_s = time.monotonic()
            self._written_s[bucket, name] = moment_s
            self._order.append((moment_s, (bucket, name)))
