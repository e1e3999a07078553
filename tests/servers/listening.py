"""On which addresses a process listens, as Linux knows it."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

_LISTEN = "0A"


def listening(pid: int) -> set[tuple[str, int]]:
    """Every TCP address on which a process listens."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(str(descriptor.readlink()))
        except FileNotFoundError:
            continue  # closed in the meantime
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text("ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTEN and f"socket:[{fields[9]}]" in sockets:
                address, _, port = fields[1].partition(":")
                found.add((_decoded(address), int(port, 16)))
    return found


def _decoded(address: str) -> str:
    """From the kernel's words of four bytes in the machine's own order."""
    words = struct.unpack(f">{len(address) // 8}I", bytes.fromhex(address))
    packed = struct.pack(f"={len(words)}I", *words)
    return socket.inet_ntop(socket.AF_INET if len(words) == 1 else socket.AF_INET6, packed)
