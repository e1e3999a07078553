"""Run the server: see `http_service/serving.py`."""

from __future__ import annotations

from tests.servers.http_service.serving import main
from tests.servers.slow_s3.endpoint import SlowS3Endpoint

if __name__ == "__main__":
    main(lambda _: SlowS3Endpoint())
