"""Run the server: prints its port, and ends when standard input does.

python -m tests.servers.slow_s3
"""

from __future__ import annotations

import gc

from tests.servers.http_service.serving import serve
from tests.servers.slow_s3.endpoint import SlowS3Endpoint

if __name__ == "__main__":
    # What is stored is no garbage, and to look for some in it would take longer with each object.
    gc.disable()
    serve(SlowS3Endpoint())
