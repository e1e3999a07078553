"""What really stands on the disk, and disks of a size that tests choose."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


JOB = "_commit/20261120T140355-9c1e5f00a1b2c3d4"


def names(place: Path) -> list[str]:
    return sorted(child.name for child in place.iterdir())


def descriptors() -> int:
    """How many this process has open."""
    return len(names(Path("/proc/self/fd")))


def write(path: Path, data: bytes = b"1") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@contextmanager
def mounted(place: Path, size: str = "50%") -> Iterator[Path]:
    """A new disk in memory at *place*; a test that may not mount one is skipped."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root mounts a disk")
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("this sandbox forbids mounts")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)
