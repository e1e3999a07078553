"""The GCS servers of the tests: what each is, and the command line that keeps it on loopback."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.installation import GoCommand, OwnServer
from tests.servers.kinds import Launch, ServerKind

if TYPE_CHECKING:
    from tests.servers.kinds import Place

_ROOT = Path(__file__).parents[3]


def _strict(place: Place) -> Launch:
    return Launch(
        ["-m", "tests.servers.gcs.strict", "--port", str(place.port), "--data", str(place.data)],
        {"PYTHONPATH": str(_ROOT)},
    )


def _fake_gcs_server(place: Place) -> Launch:
    return Launch(
        [
            *("-scheme", "http", "-host", "127.0.0.1", "-port", str(place.port)),
            *("-backend", "filesystem", "-filesystem-root", str(place.data)),
            # Its name, or it takes every path for a bucket's; and where its uploads are.
            *("-public-host", place.address, "-external-url", f"http://{place.address}"),
            *("-log-level", "warn"),
        ]
    )


STRICT = ServerKind(
    OwnServer(name="strict-gcs", version="of this checkout", command="python"),
    _strict,
    ports=("http",),
)
# What has arrived of a resumable upload is in its memory only.
FAKE_GCS_SERVER = ServerKind(
    GoCommand(
        name="fake-gcs-server",
        version="v1.56.1",
        command="fake-gcs-server",
        package="github.com/fsouza/fake-gcs-server",
    ),
    _fake_gcs_server,
    ports=("http",),
    keeps=frozenset({"objects"}),
)

# Every test of the GCS store runs on these two.
EVERY_RUN = (STRICT, FAKE_GCS_SERVER)
KINDS = {kind.name: kind for kind in EVERY_RUN}
