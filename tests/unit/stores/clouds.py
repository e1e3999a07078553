"""Every verb of every object store, as the parameters of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.stores.azure.scripted import ScriptedFlat, ScriptedGen2
from tests.unit.stores.gcs.scripted import ScriptedGcs
from tests.unit.stores.s3.scripted import ScriptedS3

if TYPE_CHECKING:
    from tests.unit.stores.scripted import Scripted

CLOUDS: dict[str, type[Scripted[Any]]] = {
    "s3": ScriptedS3,
    "gcs": ScriptedGcs,
    "gen2": ScriptedGen2,
    "flat": ScriptedFlat,
}
"""By the name of the fixture."""


def every_verb_of(fixture: str, *clouds: str) -> pytest.MarkDecorator:
    """Each verb of each of *clouds*, which *fixture* makes."""
    return pytest.mark.parametrize(
        (fixture, "verb"),
        [
            pytest.param(cloud, verb, id=f"{cloud}-{name}")
            for cloud in clouds
            for name, verb in CLOUDS[cloud].verbs.items()
        ],
        indirect=[fixture],
    )


every_verb = every_verb_of("cloud", *CLOUDS)
every_verb_of_azure = every_verb_of("azure", "gen2", "flat")
