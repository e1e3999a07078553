"""A pyarrow dataset of the files of whole jobs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import FSSpecHandler, LocalFileSystem, PyFileSystem

from fsspec_commit.errors import RequestError
from fsspec_commit.location import DestinationLike
from fsspec_commit.sync.reading import CommittedFiles, committed_files

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


def dataset(
    destination: DestinationLike,
    *,
    format: str | ds.FileFormat = "parquet",  # noqa: A002  # pyarrow's word
    schema: pa.Schema | None = None,
    partitioning: Any = "hive",
    storage_options: Mapping[str, object] | None = None,
    filesystem: "AbstractFileSystem | None" = None,
) -> ds.Dataset:
    """Open the files of whole jobs as a ``pyarrow.dataset``: :func:`committed_files`, for Arrow.

    Args:
        destination: Where jobs write; not a directory below that.
        format: As ``pyarrow.dataset.dataset`` takes it.
        schema: The schema; by default that of the first file, with the partitions.
        partitioning: How directories are read, as ``pyarrow.dataset.dataset`` takes it.
        storage_options: fsspec's options for the destination.
        filesystem: An fsspec filesystem, instead of *storage_options*.

    Raises:
        RequestError: There is no file, and no *schema* for an empty dataset.
        SnapshotUnstableError: Jobs came and went each time that the files were listed.
    """
    found = committed_files(destination, storage_options=storage_options, filesystem=filesystem)
    if not found:
        return _empty(found, schema)
    return ds.dataset(
        found.paths,
        filesystem=_arrow_filesystem(found),
        format=format,
        schema=schema,
        partitioning=partitioning,
        partition_base_dir=found.directory,
    )


def _arrow_filesystem(found: CommittedFiles) -> Any:
    """Arrow's own filesystem on local disks, where it is faster."""
    return LocalFileSystem() if found.is_local else PyFileSystem(FSSpecHandler(found.filesystem))


def _empty(found: CommittedFiles, schema: pa.Schema | None) -> ds.Dataset:
    if schema is None:
        message = (
            f"no job has committed a file at {found.destination!r}: give schema= for a dataset "
            "without rows, or look whether this is the right place"
        )
        raise RequestError(message, kind="no_files", stage="read")
    return ds.dataset(schema.empty_table())
