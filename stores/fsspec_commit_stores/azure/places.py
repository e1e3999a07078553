"""What a URL means: a container, a directory in it, and maybe the account.

Read as adlfs reads it: nothing is decoded. What adlfs would quietly take for something else, such
as the account's host for a container, is refused.
"""

import re
from dataclasses import dataclass

from fsspec_commit.layout import StorePath
from fsspec_commit_stores.http.places import invalid_url, refused_url, root_of, without_scheme

_SCHEME = re.compile(r"(?:abfss?|az)://", re.IGNORECASE)
_CONTAINER = re.compile(r"\$root|\$web|[a-z0-9](?:-?[a-z0-9]){2,62}")
_HOST = re.compile(r"([a-z0-9]{3,24})\.(?:[a-z0-9]+\.)?(?:dfs|blob)\.([a-z0-9.-]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """A destination: a container and the directory in it that is the root.

    Attributes:
        container: Its name; Data Lake Storage says file system.
        root: Container and prefix, without a slash at the end.
        account: The account that the URL names, if it does.
        host: The host of the account's blob endpoint, if the URL names the account.
    """

    container: str
    root: StorePath
    account: str | None = None
    host: str | None = None


def place_of(url: str) -> Place:
    """The destination of ``abfs://container/…`` or ``abfs://container@account.dfs.…/…``.

    Raises:
        RequestError: It names no container, or a path that others would read as another.
    """
    rest = without_scheme(_SCHEME, url)
    authority, _, prefix = rest.partition("/")
    container, at, host = authority.partition("@")
    if not at and _HOST.fullmatch(container) is not None:
        message = (
            f"{url!r} begins with an account: write abfs://container@{container}/directory, or "
            "abfs://container/directory with account_name="
        )
        raise invalid_url(url, message)
    named = _HOST.fullmatch(host)
    if at and named is None:
        message = (
            f"{url!r} names no account after the '@': write "
            "abfs://container@account.dfs.core.windows.net/directory"
        )
        raise invalid_url(url, message)
    if _CONTAINER.fullmatch(container) is None:
        raise invalid_url(url, f"{url!r} names no container: write abfs://container/directory")
    if "?versionid=" in prefix.lower():
        raise refused_url(url, "it names one version of a blob, not a directory")
    root = root_of(url, container, prefix)
    if named is None:
        return Place(container, root)
    blob_host = re.sub(r"\.dfs\.", ".blob.", host.lower(), count=1)
    return Place(container, root, account=named.group(1).lower(), host=blob_host)
