"""What a URL means here, and what is known of the disk that it names."""

import errno
import os
import stat
import sys

from fsspec_commit.errors import RequestError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import AtomicRename, Capabilities
from fsspec_commit.store.disk_urls import without_disk_scheme
from fsspec_commit_stores.local.failures import failed, refusal
from fsspec_commit_stores.local.mounts import existing_part, is_local
from fsspec_commit_stores.local.tokens import keeps_whole_seconds

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
        RequestError: It names nothing, or another directory than was typed.
        StoreError: It names something that is not a directory.
    """
    if os.name != "posix":
        message = f"cannot open {url!r}: local disks are served on Linux and macOS, not {os.name!r}"
        raise RequestError(message, kind="unsupported_platform", path=url)
    text = without_disk_scheme(url)
    if not text or "\0" in text:
        raise RequestError(f"{url!r} names no directory", kind="invalid_url", path=url)
    _refuse_other_letters(text)
    if text.startswith("~"):
        text = os.path.expanduser(text)  # noqa: PTH111  # bytes follow, which pathlib has not
    try:
        root = os.path.realpath(text.encode()).decode()
    except UnicodeError:
        message = f"{url!a} is not valid unicode, or lies in a directory whose name is not"
        raise RequestError(message, kind="invalid_name", path=ascii(url)) from None
    except OSError as error:
        raise failed("resolve", text, error) from error
    try:
        mode = os.lstat(root.encode()).st_mode
    except OSError:
        return StorePath(root)  # Not there yet, or not for us: the first verb will tell.
    if not stat.S_ISDIR(mode):
        message = f"{root!r} is not a directory: a destination is the directory of a job's files"
        raise refusal(message, root, errno.ENOTDIR)
    return StorePath(root)


def capabilities_of(root: StorePath, *, single_writer: bool) -> Capabilities:
    """What a disk can do, where *root* is on one; elsewhere its listings are unknown.

    Unknown needs the caller's promise to be the only writer.
    """
    disk = DISK
    if _is_coarse(root):
        # A file that is written over within a second by as many bytes looks like the one before.
        disk = disk.known("declared", unique_tokens=False)
    if is_local(root):
        return disk
    if single_writer:
        return disk.known("assumed", consistent_listing=True)
    return disk.known("declared", consistent_listing=None)


def _is_coarse(root: StorePath) -> bool:
    try:
        return keeps_whole_seconds(os.lstat(existing_part(root)))
    except OSError:
        return False  # Gone again, or not for us: the first verb will tell.


def _refuse_other_letters(text: str) -> None:
    """Refuse a name that the locale has misread: Python decodes what was typed as the locale says.

    Names are UTF-8 here, on every store. In a Latin-1 locale ``dä``, typed in UTF-8, is ``dÃ¤`` to
    Python, and a directory of that name would be made.
    """
    encoding = sys.getfilesystemencoding()
    if not text.isascii() and encoding.lower() not in {"utf-8", "utf8"}:
        message = (
            f"cannot tell which directory {text!a} is: the locale of this process has names in "
            f"{encoding}, and they are UTF-8 here; run it with PYTHONUTF8=1, or in a UTF-8 locale"
        )
        raise RequestError(message, kind="invalid_name", path=ascii(text))
