from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.servers.gcs.raw import Raw

if TYPE_CHECKING:
    from tests.servers.gcs.plugin import GcsBucket


@pytest.fixture
def raw(gcs_bucket: GcsBucket) -> Raw:
    return Raw(gcs_bucket.server.endpoint_url, gcs_bucket.name)
