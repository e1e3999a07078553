"""What an account says of itself: whether it has a hierarchical namespace, and what must stay.

The namespace is asked for once for each account and process: a hierarchical account stays one. A
flat one that is upgraded meanwhile counts as flat until the process ends.
"""

import errno
from http import HTTPStatus

from fsspec_commit.errors import StoreError, UnsafeStoreError
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.azure.opening import is_azure
from fsspec_commit_stores.azure.requests import Container, RequestFailedError

_known: dict[str, bool] = {}


async def is_hierarchical(container: Container, path: StorePath) -> bool:
    """Whether the account has a hierarchical namespace: *Data Lake Storage Gen2*.

    Asked of *Get Account Information*, of the container and of the account (Azurite answers it for
    the account only), and of the other endpoint where that is not allowed: with access tokens it
    is not.

    Raises:
        StoreError: The store did not answer, or does not tell these credentials.
    """
    known = _known.get(container.endpoint)
    if known is None:
        known = _known[container.endpoint] = await _ask(container, path)
    return known


async def refuse_what_is_kept(container: Container, path: StorePath) -> None:
    """Refuse a container out of which nothing may be deleted, where that can be read.

    Raises:
        UnsafeStoreError: A legal hold or an immutability policy is on it.
        StoreError: The store did not answer; or there is no such container.
    """
    try:
        answer = await container.request("Get Container Properties", path)
    except RequestFailedError as error:
        if error.answer is not None and error.answer.is_denied:
            return
        raise error.failure from None
    kept = [
        words for name, words in _KEEPERS.items() if answer.headers.get(name, "").lower() == "true"
    ]
    if kept:
        message = (
            f"cannot commit to 'abfs://{path}': on the container is {' and '.join(kept)}, so what "
            "a job writes there could not be deleted; write to a container without"
        )
        raise UnsafeStoreError(message, kind="retention", path=path)


_KEEPERS = {
    "x-ms-has-legal-hold": "a legal hold",
    "x-ms-has-immutability-policy": "an immutability policy",
}


_WAYS = (
    ("Get Account Information", "x-ms-is-hns-enabled"),
    ("Get Account Information of the account", "x-ms-is-hns-enabled"),
    ("Filesystem - Get Properties", "x-ms-namespace-enabled"),
)
_NOT_TOLD = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.METHOD_NOT_ALLOWED,
        HTTPStatus.NOT_IMPLEMENTED,
    }
)


async def _ask(container: Container, path: StorePath) -> bool:
    first: StoreError | None = None
    for operation, header in _WAYS:
        try:
            answer = await container.request(operation, path)
        except RequestFailedError as error:
            if error.answer is None and first is not None and not is_azure(container.endpoint):
                # An emulator may give an answer without its marks to a request it does not know.
                break
            if error.answer is None or error.answer.status not in _NOT_TOLD:
                raise error.failure from None
            first = first or error.failure
        else:
            told = answer.headers.get(header)
            if told is not None:
                return told.lower() == "true"
    if first is None:
        why = "it does not say whether it has a hierarchical namespace"
        first = container.refusal("Get Account Information", path, why, errno.EOPNOTSUPP)
    raise first
