"""What an ``OSError`` says about a change: classified here, once, into a ``StoreError``.

A system call that fails has done nothing; in doubt are only calls that a device or a server failed
to answer, and verbs that are made of several calls, which say so themselves.
"""

import errno
import os
from types import TracebackType

from fsspec_commit.errors import CommitError, Reply, StoreError

_REFUSED = frozenset(
    {
        errno.EACCES,
        errno.EBUSY,
        errno.EDQUOT,
        errno.EEXIST,
        errno.EFBIG,
        errno.EINVAL,
        errno.EISDIR,
        errno.ELOOP,
        errno.EMLINK,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOSPC,
        errno.ENOSYS,
        errno.ENOTDIR,
        errno.ENOTEMPTY,
        errno.EOPNOTSUPP,
        errno.EPERM,
        errno.EROFS,
        errno.EXDEV,
    }
)
# Short of something that others give back: worth trying again.
_NOT_DONE = frozenset(
    {errno.EAGAIN, errno.EINTR, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
)
_EXPLAINED = {
    errno.EXDEV: "it lies on another file system, and a copy is never made in place of a rename",
}


def reply_of(error: OSError) -> Reply:
    """What *error* says about the effect of the call that raised it."""
    if error.errno in _REFUSED:
        return Reply.REFUSED
    return Reply.NOT_DONE if error.errno in _NOT_DONE else Reply.UNKNOWN


def failed(verb: str, path: str, error: OSError, *, reply: Reply | None = None) -> StoreError:
    """The ``StoreError`` of *error*, with its ``errno``; *error* itself if it is one already.

    Args:
        verb: What could not be done, as in "cannot *read* …".
        path: To what.
        error: Why.
        reply: What is known of the effect, where that does not follow from *error*.
    """
    if isinstance(error, StoreError):
        return error
    why = _EXPLAINED.get(error.errno or 0) or error.strerror or str(error)
    where = os.fsdecode(error.filename) if isinstance(error.filename, bytes | str) else ""
    # Calls relative to a handle name one component only, which says nothing more.
    if where.startswith("/") and where != path:
        why = f"{why}: {where!r}"
    return _store_error(f"cannot {verb} {path!r}: {why}", path, reply or reply_of(error), error)


def refusal(message: str, path: str, code: int) -> StoreError:
    """A refusal of our own, with the ``errno`` a system call would have given."""
    return _store_error(message, path, Reply.REFUSED, OSError(code, os.strerror(code)))


def not_done(message: str, path: str, code: int) -> StoreError:
    """Somebody else interfered: without effect, and worth sending again."""
    error = _store_error(message, path, Reply.NOT_DONE, OSError(code, os.strerror(code)))
    error.is_overload = False
    return error


def symbolic_link(path: str) -> StoreError:
    """The refusal of a link: it can lead out of the destination, now or after a look at it."""
    message = f"{path!r} is a symbolic link; links inside a destination are refused: move it away"
    return refusal(message, path, errno.ELOOP)


def special_file(path: str) -> StoreError:
    """The refusal of a pipe, a socket or a device."""
    message = f"{path!r} is neither a file nor a directory; such things are refused: move it away"
    return refusal(message, path, errno.EINVAL)


def _store_error(message: str, path: str, reply: Reply, cause: OSError) -> StoreError:
    error = StoreError(message, reply=reply, path=path)
    error.errno = cause.errno
    error.strerror = cause.strerror
    return error


class reporting:  # noqa: N801  # reads as a verb: `with reporting("read", path):`
    """Turn every ``OSError`` of the block into a ``StoreError`` about *verb* and *path*."""

    __slots__ = ("_path", "_verb")

    def __init__(self, verb: str, path: str) -> None:
        self._verb = verb
        self._path = path

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Classify."""
        if isinstance(error, OSError) and not isinstance(error, CommitError):
            raise failed(self._verb, self._path, error) from error
