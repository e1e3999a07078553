"""What the page on S3 says of permissions is what the adapter sends."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fsspec_commit_stores.s3.operations import OPERATIONS

pytestmark = pytest.mark.checkout

TEXT = (Path(__file__).parents[2] / "docs/s3.md").read_text("utf-8")
ROW = re.compile(r"^\| `(s3:\w+)` \| ([^|;]+)(?:;[^|]*)? \| [^|]+ \|$", re.MULTILINE)


def test_every_request_is_in_the_row_of_its_action() -> None:
    expected: dict[str, set[str]] = {}
    for request in OPERATIONS.values():
        expected.setdefault(request.permissions.split()[0], set()).add(request.name)
    # Of directory buckets alone, where one action permits everything.
    assert expected.pop("s3express:CreateSession") == {"RenameObject"}
    assert "`s3express:CreateSession`" in TEXT
    shown = {row[1]: set(re.findall(r"`(\w+)`", row[2])) for row in ROW.finditer(TEXT)}
    assert shown == expected


def test_the_policy_allows_exactly_that() -> None:
    found = re.search(r"```json\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None
    statements = json.loads(found[1])["Statement"]
    allowed = [action for statement in statements for action in statement["Action"]]
    assert sorted(allowed) == sorted({row[1] for row in ROW.finditer(TEXT)})
    on_objects, on_the_bucket = statements
    assert on_objects["Resource"].endswith("/*")
    assert all("Bucket" in action for action in on_the_bucket["Action"])
    assert not any("Bucket" in action for action in on_objects["Action"])
