"""One object of a service, and the uploads to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.stores.gcs.uploads import Uploads

if TYPE_CHECKING:
    from tests.unit.stores.gcs.scripted import ScriptedGcs


@pytest.fixture
def uploads(gcs: ScriptedGcs) -> Uploads:
    """What the server answers."""
    gcs.answering = uploads = Uploads()
    return uploads
