"""What a client of GCS asks, and how GCS says that it has failed: for the fault proxy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.servers.gcs.strict.routes import route
from tests.servers.http_messages import Failure, Request

if TYPE_CHECKING:
    from collections.abc import Mapping

# https://cloud.google.com/storage/docs/json_api/v1/status-codes
_REASONS: Mapping[int, str] = {
    400: "invalid",
    401: "authError",
    403: "forbidden",
    404: "notFound",
    408: "uploadBrokenConnection",
    412: "conditionNotMet",
    429: "rateLimitExceeded",
    500: "backendError",
    502: "backendError",
    503: "backendError",
    504: "gatewayTimeout",
}


class GcsRequest(Request):
    @property
    def operation(self) -> str:
        """The method's name in the API reference, such as "objects.move"; others by their path.

        Beside them "objects.download", an object's data; "uploads.start", "uploads.put" and
        "uploads.delete", of a resumable upload; "batch".
        """
        found = route(self.method, self.start[1].partition("?")[0], self.query)
        return f"{self.method} {self.path}" if found is None else found.operation

    def failure(self, status: int, code: str | None) -> Failure:
        """The code is the error's reason."""
        reason, message = code or _REASONS.get(status, "backendError"), "said by the proxy"
        if status == 401:
            message = "Invalid Credentials"
        detail = {"message": message, "domain": "global", "reason": reason}
        error = {"code": status, "message": message, "errors": [detail]}
        kind = {"Content-Type": "application/json; charset=UTF-8"}
        return Failure(reason, kind, json.dumps({"error": error}).encode())
