"""The GCS servers of the tests: what each is, and the command line that keeps it on loopback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.servers.http_service.kind import own_kind
from tests.servers.installation import GoCommand
from tests.servers.kinds import Launch, ServerKind

if TYPE_CHECKING:
    from tests.servers.kinds import Place


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


STRICT = own_kind("strict-gcs", "tests.servers.gcs.strict")
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
