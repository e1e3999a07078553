"""Answers as Azure writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.stores.responder import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

MARK = {"x-ms-request-id": "0ff1ce00-0000-0000-0000-000000000000"}
"""What every answer of Azure carries, and nobody else's."""


def said(status: int, code: str, headers: Mapping[str, str] | None = None) -> Answer:
    """An error as Azure says it."""
    return Answer(status, b"", {**MARK, "x-ms-error-code": code, **(headers or {})})


def told(
    status: int,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    *,
    announced: int | None = None,
) -> Answer:
    """Any other answer of Azure."""
    return Answer(status, body, {**MARK, **(headers or {})}, announced)
