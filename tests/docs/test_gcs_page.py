"""What the page on GCS says of permissions is what the adapter sends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fsspec_commit_stores.gcs.operations import OPERATIONS

pytestmark = pytest.mark.checkout

TEXT = (Path(__file__).parents[2] / "docs/gcs.md").read_text("utf-8")
ROW = re.compile(r"^\| `(storage\.\w+\.\w+)` \| ([^|;]+)(?:;[^|]*)? \| [^|]+ \|$", re.MULTILINE)


def test_every_method_is_in_the_row_of_its_permission() -> None:
    expected: dict[str, set[str]] = {}
    for name, request in OPERATIONS.items():
        permission = re.split(r"[ ,]", request.permissions)[0]
        expected.setdefault(permission, set()).add(name.split()[0])
    shown = {row[1]: set(re.findall(r"`([\w.]+)`", row[2])) for row in ROW.finditer(TEXT)}
    assert shown == expected
