"""Destinations in memory, of each kind of store that is reached on the loop, and a gate to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.flat import store as _flat  # noqa: F401  # the protocol of `flat://`
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket
from tests.integration.write_behind.gate import Gate

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=["unversioned", "minio", "gcs", "gen2"])
def bucket(request: pytest.FixtureRequest) -> Bucket:
    return make_bucket(ALL_HABITS[request.param])


@pytest.fixture
def url(bucket: Bucket) -> str:
    return f"flat://{bucket.name}/out"


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate().in_place() as gate:
        yield gate
