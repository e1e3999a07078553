"""The two accounts of the tests: one with flat names, one with a hierarchical namespace."""

from __future__ import annotations

import base64

from tests.servers.azure.gen2.authorization import ACCOUNT_VARIABLE, KEY_VARIABLE
from tests.servers.http_service.kind import own_kind
from tests.servers.installation import NpmPackage
from tests.servers.kinds import Launch, Place, ServerKind


def account_of(place_key: str) -> str:
    """Lower-case letters and digits, at most 24."""
    return place_key.lower()


def key_of(secret: str) -> str:
    return base64.b64encode(secret.encode()).decode()


def _azurite(place: Place) -> Launch:
    return Launch(
        [
            *("--blobHost", "127.0.0.1", "--blobPort", str(place.port)),
            *("--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"),
            "--disableProductStyleUrl",
            # No client shall find its connection closed by then.
            *("--blobKeepAliveTimeout", "3600"),
        ],
        {"AZURITE_ACCOUNTS": f"{account_of(place.key)}:{key_of(place.secret)}"},
    )


# Its data is in its memory only: what it writes to a disk it writes later.
AZURITE = ServerKind(
    NpmPackage(name="azurite", version="3.37.0", command="azurite-blob", day="2026-11-01"),
    _azurite,
    ports=("blob",),
    keeps=frozenset(),
)
GEN2 = own_kind(
    "gen2",
    "tests.servers.azure.gen2",
    env=lambda place: {
        ACCOUNT_VARIABLE: account_of(place.key),
        KEY_VARIABLE: key_of(place.secret),
    },
)

AZURE_KINDS = {kind.name: kind for kind in (GEN2, AZURITE)}
