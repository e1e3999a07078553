"""Which mounts are known to be disks of this machine, and what is unknown of all others."""

from __future__ import annotations

import ctypes
import platform
import struct
from pathlib import Path
from typing import Any

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.local import LocalStore, mounts
from tests.unit.stores.local.verbs import run

# The flags of mount(2) on macOS: MNT_LOCAL and, as on every disk of it, MNT_JOURNALED.
LOCAL, REMOTE = 0x0080_1000, 0x0080_0000


@pytest.mark.parametrize(
    ("kind", "is_local"),
    [("ext4", True), ("overlay", True), ("tmpfs", True), ("fuseblk", True), ("btrfs", True)]
    + [(kind, False) for kind in ("nfs4", "cifs", "smb3", "9p", "ceph", "lustre", "virtiofs")]
    + [(kind, False) for kind in ("fuse.sshfs", "fuse.s3fs", "vboxsf", "drvfs", "new-netfs")],
)
def test_listings_of_network_mounts_are_unknown(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, *, is_local: bool
) -> None:
    lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    altered = [
        f"{line.partition(' - ')[0]} - {kind} {line.partition(' - ')[2].partition(' ')[2]}"
        for line in lines
    ]
    table = tmp_path / "mountinfo"
    table.write_text("\n".join(altered), "utf-8", "surrogateescape")
    monkeypatch.setattr(mounts, "_MOUNTS", table)
    found = run(LocalStore.open(str(root), OpenOptions())).capabilities
    assert found.consistent_listing is (True if is_local else None)
    assert found.evidence.get("consistent_listing", "declared") == "declared"
    alone = run(LocalStore.open(str(root), OpenOptions(single_writer=True))).capabilities
    assert alone.consistent_listing is True
    assert alone.evidence.get("consistent_listing") == (None if is_local else "assumed")


def test_without_proc_listings_are_unknown(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounts, "_MOUNTS", tmp_path / "none")
    assert run(LocalStore.open(str(root), OpenOptions())).capabilities.consistent_listing is None


def test_the_mount_on_top_is_the_one_that_counts(small_disk: Path) -> None:
    assert mounts.mounted_from(StorePath(f"{small_disk}/not/yet")) == "tmpfs"


def statfs_of_macos(kind: bytes, flags: int, *, asked: list[bytes], status: int = 0) -> Any:
    """The system call, as macOS documents it: it fills in a structure of 2168 bytes."""

    def statfs(path: ctypes.c_char_p, result: Any) -> int:
        asked.append(path.value or b"")
        numbers = (4096, 1 << 20, *([7] * 5), 1, 2, 501, 26, flags, 1)
        filled = struct.pack("=Ii5Q2i4I16s1024s1024s8I", *numbers, kind, b"/", b"disk", *[0] * 8)
        assert len(filled) == ctypes.sizeof(result._obj) == 2168
        ctypes.memmove(result, filled, len(filled))
        return status

    return statfs


@pytest.mark.parametrize("symbol", ["statfs", "statfs$INODE64"])
@pytest.mark.parametrize(
    ("kind", "flags", "is_local"),
    [
        (b"apfs", LOCAL, True),
        (b"hfs", LOCAL, True),
        (b"apfs", REMOTE, None),
        *((kind, REMOTE, None) for kind in (b"nfs", b"smbfs", b"afpfs", b"webdav")),
        *((kind, LOCAL, None) for kind in (b"macfuse", b"exfat", b"msdos", b"a-name-of-16-chr")),
    ],
)
def test_the_disks_of_macos_are_local(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    symbol: str,
    kind: bytes,
    flags: int,
    *,
    is_local: bool | None,
) -> None:
    asked: list[bytes] = []
    calls = {"statfs": lambda *_: pytest.fail("Intel's older call, of another structure")}
    calls[symbol] = statfs_of_macos(kind, flags, asked=asked)
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: type("Library", (), as_static(calls)))
    opened = run(LocalStore.open(f"{root}/not/yet", OpenOptions()))
    assert opened.capabilities.consistent_listing is is_local
    assert asked == [bytes(root.parent)]


def as_static(calls: dict[str, Any]) -> dict[str, Any]:
    return {name: staticmethod(call) for name, call in calls.items()}


@pytest.mark.parametrize("status", [-1, None], ids=["it fails", "there is none"])
def test_where_macos_does_not_tell_listings_are_unknown(
    root: Path, monkeypatch: pytest.MonkeyPatch, status: int | None
) -> None:
    failing = statfs_of_macos(b"apfs", LOCAL, asked=[], status=-1)
    calls = {"statfs": failing} if status else {}
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: type("Library", (), as_static(calls)))
    assert run(LocalStore.open(str(root), OpenOptions())).capabilities.consistent_listing is None
