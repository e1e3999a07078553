"""Run the server: see `http_service/serving.py`."""

from __future__ import annotations

from tests.servers.gcs.strict.endpoint import GcsEndpoint
from tests.servers.gcs.strict.state import State
from tests.servers.http_service.serving import main

if __name__ == "__main__":
    main(lambda journal: GcsEndpoint(State(journal)))
