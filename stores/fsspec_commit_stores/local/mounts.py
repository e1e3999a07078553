"""What a place is mounted from: a disk that one kernel alone keeps, or something else.

What such a kernel shows is what is there. Everything else (nfs, cifs, 9p, ceph, lustre, fuse.*,
virtiofs, …) may answer from a cache that another machine's writes do not reach. Disks are listed by
name, and what is not listed is not taken for one: a new network file system appears every year, and
a wrong "local" would be wrong output.
"""

import ctypes
import os
import platform
from pathlib import Path

from fsspec_commit.layout import StorePath

_LOCAL_ON_LINUX = frozenset(
    (  # noqa: SIM905  # thirty lines less
        "aufs bcachefs btrfs devtmpfs ecryptfs erofs exfat ext2 ext3 ext4 f2fs fuseblk hfsplus jfs "
        "msdos nilfs2 ntfs ntfs3 overlay ramfs reiserfs rootfs squashfs tmpfs ubifs udf ufs vfat "
        "xfs zfs"
    ).split(" ")
)
# Those that have hard links: without them macOS leaves no way here to refuse a name that is taken.
_LOCAL_ON_MACOS = frozenset({"apfs", "hfs"})
_MOUNTS = Path("/proc/self/mountinfo")


class _FileSystem(ctypes.Structure):
    """``struct statfs`` of macOS with 64-bit inodes (statfs(2)), as every program has it."""

    _fields_ = (
        ("f_bsize", ctypes.c_uint32),
        ("f_iosize", ctypes.c_int32),
        ("f_blocks", ctypes.c_uint64),
        ("f_bfree", ctypes.c_uint64),
        ("f_bavail", ctypes.c_uint64),
        ("f_files", ctypes.c_uint64),
        ("f_ffree", ctypes.c_uint64),
        ("f_fsid", ctypes.c_int32 * 2),
        ("f_owner", ctypes.c_uint32),
        ("f_type", ctypes.c_uint32),
        ("f_flags", ctypes.c_uint32),
        ("f_fssubtype", ctypes.c_uint32),
        ("f_fstypename", ctypes.c_char * 16),
        ("f_mntonname", ctypes.c_char * 1024),
        ("f_mntfromname", ctypes.c_char * 1024),
        ("f_flags_ext", ctypes.c_uint32),
        ("f_reserved", ctypes.c_uint32 * 7),
    )


_MNT_LOCAL = 0x1000


def is_local(path: StorePath) -> bool:
    """Whether *path* is, or will be, on a disk of this machine; false when that is not known."""
    if platform.system() == "Darwin":
        return _of_macos(existing_part(path)) in _LOCAL_ON_MACOS
    return mounted_from(path) in _LOCAL_ON_LINUX


def mounted_from(path: StorePath) -> str | None:
    """The type of the file system that *path* is on, or will be, on Linux; ``None`` when unknown.

    By the mount's own number, because a path does not tell which of two mounts at one place is on
    top, nor a device number which mount of it this is.
    """
    existing = existing_part(path)
    try:
        with _MOUNTS.open(encoding="utf-8", errors="surrogateescape") as file:
            mounts = dict(_mount(line) for line in file)
        number = _mount_number(existing)
    except (OSError, ValueError, IndexError):
        return None
    return mounts.get(number)


def existing_part(path: StorePath) -> bytes:
    """What there is of *path*: itself, or the directory that it will be made in."""
    existing = path.encode()
    while not os.path.lexists(existing) and existing != b"/":
        existing = os.path.dirname(existing)  # noqa: PTH120  # bytes
    return existing


def _mount(line: str) -> tuple[int, str]:
    """Number and type of one line of mountinfo (proc_pid_mountinfo(5))."""
    left, _, right = line.partition(" - ")
    return int(left.split(" ", 1)[0]), right.split(" ", 1)[0]


def _mount_number(path: bytes) -> int:
    # A directory that may not be read is on the same mount as one that may.
    descriptor = os.open(path, os.O_PATH)
    try:
        # UTF-8 needs no module, which a process that gave up privileges may be unable to read.
        with Path(f"/proc/self/fdinfo/{descriptor}").open(encoding="utf-8") as file:
            for line in file:
                if line.startswith("mnt_id:"):
                    return int(line.split()[1])
    finally:
        os.close(descriptor)
    raise ValueError("this kernel does not number mounts")


def _of_macos(existing: bytes) -> str | None:
    """The type of the file system of a path, if the kernel calls it local.

    Asked of the kernel, and not looked up in the table of mounts, as psutil would: there the home
    directories are below a place that is joined to them by no prefix (a "firmlink").
    """
    library = ctypes.CDLL(None, use_errno=True)
    # On Intel the plain name is an older call, which fills in another structure.
    statfs = getattr(library, "statfs$INODE64", None) or getattr(library, "statfs", None)
    found = _FileSystem()
    if statfs is None or statfs(ctypes.c_char_p(existing), ctypes.byref(found)) != 0:
        return None
    name: bytes = found.f_fstypename
    return name.decode("ascii", "replace") if found.f_flags & _MNT_LOCAL else None
