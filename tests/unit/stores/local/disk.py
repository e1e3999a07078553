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
    with _mounted(place, "-t", "tmpfs", "-o", f"size={size}", "tmpfs"):
        yield place


@contextmanager
def mounted_with_whole_seconds(place: Path) -> Iterator[Path]:
    """A new disk at *place* whose inodes have no room for more of a time than its seconds."""
    image = place.with_suffix(".img")
    with image.open("wb") as file:
        file.truncate(4 << 20)
    make = ["mkfs.ext4", "-q", "-I", "128", "-O", "^has_journal", str(image)]
    if shutil.which(make[0]) is None:
        pytest.skip("nothing here makes such a disk")
    subprocess.run(make, check=True, capture_output=True)
    with _mounted(place, "-o", "loop", str(image)):
        yield place


@contextmanager
def _mounted(place: Path, *how: str) -> Iterator[None]:
    place.mkdir()
    command = ["mount", *how, str(place)]
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root mounts a disk")
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("this sandbox forbids mounts")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)
