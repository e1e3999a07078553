"""fsspec's own filesystem for a URL, for reads that bypass the adapters: by libraries, by users."""

from typing import Any

from fsspec_commit.hdfs_reading import whole_files


def filesystem_of(url: str, **options: object) -> tuple[Any, str]:
    """Open the filesystem of *url* as fsspec does, and name the path there as it does.

    On ``hdfs://`` and ``webhdfs://`` a read that fails raises ``OSError``: by itself, a client may
    return a server's error message as data, or leave out a block that is not reported yet.
    """
    from fsspec.core import url_to_fs  # noqa: PLC0415  # only for callers who read

    filesystem, path = url_to_fs(url, **options)
    client = type(filesystem).__module__
    if client == "hdfs_native.fsspec":
        return whole_files(filesystem), path
    if client == "fsspec.implementations.webhdfs":
        from fsspec_commit.webhdfs_reading import CheckedWebHDFS  # noqa: PLC0415  # loads requests

        filesystem = CheckedWebHDFS(*filesystem.storage_args, **filesystem.storage_options)
    return filesystem, path
