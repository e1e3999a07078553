"""What stands at a path: by one request, whose answer is believed only where it is clear.

That nothing is there is said by an error code: ``BlobNotFound``. To a HEAD, Azure says it in a
header. A server that says it only in error documents, which a HEAD does not get, is asked once
more, by a GET.
"""

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Directory, Entry
from fsspec_commit_stores.azure.contents import NONCE_NAME, entry_of, is_directory
from fsspec_commit_stores.azure.requests import Container, RequestFailedError

_FIRST_BYTE = {"x-ms-range": "bytes=0-0"}


async def look(
    container: Container, path: StorePath, *, named: str = NONCE_NAME
) -> Entry | Directory | None:
    """What stands at *path*, the container itself included; a file with the nonce under *named*.

    In a flat account, a directory is what some other program wrote to stand for one.

    Raises:
        StoreError: The store did not answer, or does not let us look.
    """
    if not container.key(path):
        return Directory(path)
    try:
        answer = await container.request("Get Blob Properties", path)
    except RequestFailedError as error:
        if error.is_missing or (error.is_vague and await _is_missing(container, path)):
            return None
        raise error.failure from None
    if is_directory(answer):
        return Directory(path)
    return entry_of(path, answer, int(answer.headers["content-length"]), named=named)


async def _is_missing(container: Container, path: StorePath) -> bool:
    """Whether an error document says that nothing is at *path*."""
    try:
        await container.request("Get Blob", path, _FIRST_BYTE)
    except RequestFailedError as error:
        return error.is_missing
    return False
