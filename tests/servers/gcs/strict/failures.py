"""Refusals, each with the status, reason and words of the provider.

https://cloud.google.com/storage/docs/json_api/v1/status-codes
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from tests.servers.http_service.messages import Reply


class Failure(Exception):  # noqa: N818  it is what the service answers, not what has gone wrong in it
    """What a client is told instead of what it wanted."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        location: str | None = None,
        location_type: str = "parameter",
        domain: str = "global",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers: dict[str, str] = {}
        detail = {"message": message, "domain": domain, "reason": reason}
        if location is not None:
            detail |= {"locationType": location_type, "location": location}
        self._error: dict[str, Any] = {"code": status, "message": message, "errors": [detail]}

    def encoded(self) -> Reply:
        """Nothing for 304, which has no body."""
        if self.status == HTTPStatus.NOT_MODIFIED:
            return Reply(self.status)
        headers = {"Content-Type": "application/json; charset=UTF-8", **self.headers}
        return Reply(self.status, headers, (json.dumps({"error": self._error}).encode(),))


def invalid(message: str, parameter: str | None = None) -> Failure:
    return Failure(HTTPStatus.BAD_REQUEST, "invalid", message, location=parameter)


def invalid_parameter(name: str) -> Failure:
    return Failure(
        HTTPStatus.BAD_REQUEST, "invalidParameter", f"Invalid parameter: {name}", location=name
    )


def no_bucket() -> Failure:
    message = "The specified bucket does not exist."
    return Failure(HTTPStatus.NOT_FOUND, "notFound", message)


def no_object(bucket: str, name: str) -> Failure:
    return Failure(HTTPStatus.NOT_FOUND, "notFound", f"No such object: {bucket}/{name}")


def not_found() -> Failure:
    return Failure(HTTPStatus.NOT_FOUND, "notFound", "Not Found")


def conflict(message: str) -> Failure:
    return Failure(HTTPStatus.CONFLICT, "conflict", message)


def condition_not_met() -> Failure:
    """The place is `If-Match` whichever parameter it was: so the provider's own example."""
    return Failure(
        HTTPStatus.PRECONDITION_FAILED,
        "conditionNotMet",
        "At least one of the pre-conditions you specified did not hold.",
        location="If-Match",
        location_type="header",
    )


def retention_policy_not_met(bucket: str, name: str) -> Failure:
    """https://cloud.google.com/storage/docs/bucket-lock: however old it is, it is too young."""
    message = f"Object '{bucket}/{name}' is subject to bucket's retention policy and cannot be"
    return Failure(
        HTTPStatus.FORBIDDEN, "retentionPolicyNotMet", f"{message} deleted or overwritten."
    )


def not_modified() -> Failure:
    return Failure(HTTPStatus.NOT_MODIFIED, "notModified", "Not Modified")


def write_rate_exceeded(bucket: str, name: str) -> Failure:
    """https://cloud.google.com/storage/docs/gcs429: one write a second to one name."""
    return Failure(
        HTTPStatus.TOO_MANY_REQUESTS,
        "rateLimitExceeded",
        f"The object {bucket}/{name} exceeded the rate limit for object mutation operations"
        " (create, update, and delete). Please reduce your request rate."
        " See https://cloud.google.com/storage/docs/gcs429.",
        domain="usageLimits",
    )


def overloaded() -> Failure:
    """The rate of all requests: https://cloud.google.com/storage/docs/request-rate."""
    return Failure(
        HTTPStatus.TOO_MANY_REQUESTS,
        "rateLimitExceeded",
        "The total number of changes to the bucket exceeds the rate limit.",
        domain="usageLimits",
    )
