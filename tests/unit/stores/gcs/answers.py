"""Answers as GCS writes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.unit.stores.responder import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping


MARK = {"X-GUploader-UploadID": "of-the-front-end"}
"""What the service sends with every answer; a server of somebody else's need not."""


def error(
    status: int,
    code: str,
    headers: Mapping[str, str] | None = None,
    *,
    message: str = "said so",
) -> Answer:
    """An error of the JSON API."""
    one = {"message": message, "domain": "global", "reason": code}
    told = {"error": {"code": status, "message": message, "errors": [one]}}
    return Answer(status, json.dumps(told).encode(), headers or {})


def said(document: Mapping[str, Any], status: int = 200, **headers: str) -> Answer:
    """A JSON document."""
    return Answer(status, json.dumps(document).encode(), headers)


def listed(*items: Any, **more: Any) -> Answer:
    """A page of `objects.list`; of nothing it has its kind alone."""
    shown = {"items": list(items)} if items else {}
    return said({"kind": "storage#objects", **shown, **more})


def bucket(**told: Any) -> Answer:
    """What a bucket says of itself."""
    return said({"kind": "storage#bucket", **told})


def resource(name: str = "out/a b", generation: int = 7, size: int = 1, **more: Any) -> Any:
    """An object as the JSON API describes it."""
    return {"name": name, "generation": str(generation), "size": str(size), **more}


DELETED = Answer(204, headers=MARK)
NO_BUCKET = error(404, "notFound", message="The specified bucket does not exist.")
