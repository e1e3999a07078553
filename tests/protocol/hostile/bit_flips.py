"""Records in which one bit has changed: which are believed, and in which field they differ."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tests.protocol.hostile.decoding import is_believed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.protocol.hostile.decoding import Written

_KINDS = {
    r"job\.json": "job.json",
    "claim-.*": "claim",
    "decision": "decision",
    "published": "published",
    "chosen/.*": "chosen",
    "uploads/.*": "upload",
    "chosen-.*": "list of chosen attempts",
    "replaced-.*": "list of replaced files",
}


def kind_of(record: Written) -> str | None:
    """What it is called here; ``None`` for what is no record."""
    if record.name.startswith("manifests/"):
        return "pending set" if record.world.name.startswith("magic") else "manifest"
    return next((kind for name, kind in _KINDS.items() if re.fullmatch(name, record.name)), None)


def flipped(data: bytes) -> Iterator[bytes]:
    """Every other content in which a single bit differs."""
    for place in range(len(data)):
        for bit in range(8):
            yield data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


def believed(record: Written) -> dict[str, list[bytes]]:
    """Every flip that is taken for a record of this job, by the field in which it differs.

    Of a list all count: it is read with its digest alone.
    """
    if (kind := kind_of(record)) and kind.startswith("list"):
        return {"": [*flipped(record.data)]}
    found: dict[str, list[bytes]] = {}
    was = json.loads(record.data)
    for data in flipped(record.data):
        if is_believed(record, data):
            [field] = _differing(was, json.loads(data))
            found.setdefault(field, []).append(data)
    return found


def _differing(one: Any, other: Any) -> Iterator[str]:
    """The fields in which two trees of one shape differ: ``chosen.bytes``."""
    if isinstance(one, dict):
        for key, value in one.items():
            yield from (f"{key}.{below}".rstrip(".") for below in _differing(value, other[key]))
    elif isinstance(one, list):
        for value, another in zip(one, other, strict=True):
            yield from _differing(value, another)
    elif one != other:
        yield ""
