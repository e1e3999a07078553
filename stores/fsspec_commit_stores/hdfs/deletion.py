"""Deletion of what was looked at before, since HDFS deletes a directory as readily as a file."""

import errno

from fsspec_commit.layout import StorePath
from fsspec_commit_stores.hdfs.failures import RequestFailedError, refusal, without_effect
from fsspec_commit_stores.hdfs.requests import Requests


async def delete_kind(
    requests: Requests, path: StorePath, *, is_directory: bool, recursive: bool
) -> None:
    """Delete the file or, if *is_directory*, the directory *path*; a missing one is no error.

    Raises:
        RequestFailedError: It was not deleted, or it is not known.
        StoreError: It is of the other kind, or could not be looked at.
    """
    try:
        there = await requests.status(path)
    except RequestFailedError as error:
        raise without_effect(error.failure) from None
    if there is None:
        return
    if there.is_directory is not is_directory:
        why, number = ("it is a directory", errno.EISDIR)
        if is_directory:
            why, number = ("it is a file", errno.ENOTDIR)
        raise refusal("delete", path, why, number)
    await requests.delete(path, recursive=recursive)
