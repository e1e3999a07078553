"""A driver that kills itself and its JVM while it commits: python killed_driver.py OUT WHEN.

WHEN is `undecided` or `decided`.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import fsspec_commit as fc
from tests.spark.streaming_driver import session

WHERE = {"undecided": "decide", "decided": "publish_files"}


def main() -> None:
    from fsspec_commit.protocol import commit

    out, when = sys.argv[1], sys.argv[2]

    async def killed(*_: Any, **__: Any) -> Any:
        os.killpg(0, signal.SIGKILL)

    assert WHERE[when] in vars(commit)
    vars(commit)[WHERE[when]] = killed
    fc.spark.write(session().range(100, 110), out, mode="overwrite")


if __name__ == "__main__":
    main()
