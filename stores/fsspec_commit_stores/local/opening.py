"""What a URL means here, and what the place it names is mounted from."""

import errno
import os
import re
import stat
from pathlib import Path

from fsspec_commit.errors import RequestError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import AtomicRename, Capabilities
from fsspec_commit_stores.local.failures import refusal

_SCHEME = re.compile(r"(?:file|local):(?://(?:localhost(?=/))?)?", re.IGNORECASE)
_MOUNTS = Path("/proc/self/mountinfo")

# File systems that one kernel alone keeps, so that what it shows is what is there. Every other one
# (nfs, cifs, 9p, ceph, lustre, fuse.*, virtiofs, …) may answer from a cache that another machine's
# writes do not reach. By name, because unknown is not true: a new network file system appears
# every year, and a wrong "local" would be wrong output.
_LOCAL = frozenset(
    (  # noqa: SIM905  # thirty lines less
        "aufs bcachefs btrfs devtmpfs ecryptfs erofs exfat ext2 ext3 ext4 f2fs fuseblk hfsplus jfs "
        "msdos nilfs2 ntfs ntfs3 overlay ramfs reiserfs rootfs squashfs tmpfs ubifs udf ufs vfat "
        "xfs zfs"
    ).split(" ")
)

DISK = Capabilities(
    atomic_rename=AtomicRename.DIRECTORY,
    exclusive_rename=True,
    consistent_listing=True,
    paged_listing=False,
    multipart=False,
    exclusive_create=True,
    replace_if_match=False,
    delete_if_match=False,
    whole_object_publish=False,
    token_survives_rename=True,
    unique_tokens=True,
)


def root_of(url: str) -> StorePath:
    """The destination of a ``file://`` or ``local://`` URL or of a plain path, as it really is.

    As fsspec reads them: nothing is percent-decoded, ``~`` is the user's home, a relative path is
    below the working directory. Symbolic links are resolved, this once, as far as the path exists.

    Raises:
        RequestError: It names nothing.
        StoreError: It names something that is not a directory.
    """
    if os.name != "posix":
        message = f"cannot open {url!r}: local disks are served on Linux and macOS, not {os.name!r}"
        raise RequestError(message, kind="unsupported_platform", path=url)
    text = url[match.end() :] if (match := _SCHEME.match(url)) else url
    if not text or "\0" in text:
        raise RequestError(f"{url!r} names no directory", kind="invalid_url", path=url)
    if text.startswith("~"):
        text = os.path.expanduser(text)  # noqa: PTH111  # bytes follow, which pathlib has not
    try:
        root = os.path.realpath(text.encode()).decode()
    except UnicodeError:
        message = f"{url!a} is not valid unicode, or lies in a directory whose name is not"
        raise RequestError(message, kind="invalid_name", path=ascii(url)) from None
    try:
        mode = os.lstat(root.encode()).st_mode
    except OSError:
        return StorePath(root)  # Not there yet, or not for us: the first verb will tell.
    if not stat.S_ISDIR(mode):
        raise refusal(f"{root!r} is not a directory", root, errno.ENOTDIR)
    return StorePath(root)


def capabilities_of(root: StorePath, *, single_writer: bool) -> Capabilities:
    """What a disk can do, where *root* is on one; elsewhere its listings are unknown.

    Unknown is also what is where there is no ``/proc/self/mountinfo`` (macOS): there a job needs
    the caller's promise to be the only writer, or one who has probed.
    """
    if mounted_from(root) in _LOCAL:
        return DISK
    if single_writer:
        return DISK.known("assumed", consistent_listing=True)
    return DISK.known("declared", consistent_listing=None)


def mounted_from(path: StorePath) -> str | None:
    """The type of the file system that *path* is on, or will be; ``None`` when unknown.

    By the mount's own number, because a path does not tell which of two mounts at one place is on
    top, nor a device number which mount of it this is.
    """
    existing = path.encode()
    while not os.path.lexists(existing) and existing != b"/":
        existing = os.path.dirname(existing)  # noqa: PTH120  # bytes
    try:
        with _MOUNTS.open(encoding="utf-8", errors="surrogateescape") as file:
            mounts = dict(_mount(line) for line in file)
        number = _mount_number(existing)
    except (OSError, ValueError, IndexError):
        return None
    return mounts.get(number)


def _mount(line: str) -> tuple[int, str]:
    """Number and type of one line of mountinfo (proc_pid_mountinfo(5))."""
    left, _, right = line.partition(" - ")
    return int(left.split(" ", 1)[0]), right.split(" ", 1)[0]


def _mount_number(path: bytes) -> int:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        # UTF-8 needs no module: who has given up privileges may not be able to read one any more.
        with Path(f"/proc/self/fdinfo/{descriptor}").open(encoding="utf-8") as file:
            for line in file:
                if line.startswith("mnt_id:"):
                    return int(line.split()[1])
    finally:
        os.close(descriptor)
    raise ValueError("this kernel does not number mounts")
