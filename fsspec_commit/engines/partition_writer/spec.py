"""What a worker needs to write a partition: plain data, which the driver pickles once."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from fsspec_commit.errors import RequestError
from fsspec_commit.spec import JobSpec
from fsspec_commit.suggestions import value_hint

COMPRESSIONS = {
    "snappy": ".snappy",
    "none": "",
    "uncompressed": "",
    "gzip": ".gz",
    "zstd": ".zstd",
    "lz4": ".lz4raw",
    "lz4_raw": ".lz4raw",
}
"""The codecs of Parquet that Spark reads, and what Spark puts into the names of such files."""

_MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class WriteSpec:
    """How the partitions of one job are written.

    Attributes:
        job: The job, with its storage options if they are shared.
        schema: The schema of the rows, partition columns included.
        partition_by: Columns that become Hive directories and are not in the files.
        compression: A codec of Parquet.
        footer: Texts that go into the footer of each file.
        max_rows_per_file: Begin another file of a directory after this many rows; 0 for no limit.
        max_open_files: The most files that are open at once. To open another, the one that holds
            the most memory is closed; its directory gets another file when it has more rows.
        row_group_bytes: Rows of this size in memory make a row group.
        buffered_bytes: The most rows that wait to become row groups, by their size in memory and
            that of the batches that they are in.
        held_bytes: The most bytes of files that wait to be sent to a store.
    """

    job: JobSpec
    schema: pa.Schema
    partition_by: tuple[str, ...] = ()
    compression: str = "snappy"
    footer: Mapping[str, str] = field(default_factory=dict)
    max_rows_per_file: int = 0
    max_open_files: int = 100
    row_group_bytes: int = 64 * _MIB
    buffered_bytes: int = 64 * _MIB
    held_bytes: int = 64 * _MIB

    @property
    def file_schema(self) -> pa.Schema:
        """The schema of the files: without the columns that have become directories."""
        return pa.schema([one for one in self.schema if one.name not in self.partition_by])


def check_compression(given: object) -> str:
    """The codec that *given* names.

    Raises:
        RequestError: There is no such codec.
    """
    name = given.lower() if isinstance(given, str) else given
    if name not in COMPRESSIONS:
        known = ", ".join(map(repr, COMPRESSIONS))
        hint = value_hint("compression", given, COMPRESSIONS)
        message = f"compression={given!r} is none of {known}{hint}"
        raise RequestError(message, kind="invalid_option")
    return str(name)
