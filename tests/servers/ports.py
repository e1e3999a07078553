"""Ports for servers, outside the range that the system gives to outgoing connections.

A server that is killed and started again on its port would otherwise find it taken, now and then,
by a client's connection to somewhere.
"""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack
from pathlib import Path

LOWEST = 10_240
_OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int) -> list[int]:
    """So many ports of 127.0.0.1 that nobody listened on a moment ago.

    Somebody else may take one before its server does: who starts the server tries again.

    Raises:
        OSError: there are not that many.
    """
    highest = int(_OUTGOING.read_text().split()[0]) - 1 if _OUTGOING.exists() else 32_767
    with ExitStack() as held:
        found: list[int] = []
        # Not the seeded generator: every worker of a test run would try the same ports.
        for port in random.SystemRandom().sample(range(LOWEST, highest), 200 + count):
            candidate = held.enter_context(socket.socket())
            candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                candidate.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
            if len(found) == count:
                return found
    raise OSError(f"found {len(found)} free ports of {count} on 127.0.0.1")
