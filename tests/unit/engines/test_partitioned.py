"""Which columns become directories, and the one filesystem that never fails."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow.fs import FileSelector, PyFileSystem

import fsspec_commit as fc
from fsspec_commit.engines.partitioned import TaskFiles, partitioning_of

SCHEMA = pa.schema([("day", pa.date32()), ("hour", pa.int8()), ("x", pa.float64())])


@pytest.mark.parametrize("by", ["day", ["day"], ("day",)])
def test_columns_become_hive_directories_with_the_types_of_the_data(by: str | list[str]) -> None:
    partitioning = partitioning_of(SCHEMA, by, None)
    assert isinstance(partitioning, ds.HivePartitioning)
    assert partitioning.schema == pa.schema([("day", pa.date32())])


@pytest.mark.parametrize("by", [None, [], ()])
def test_no_columns_no_directories(by: list[str] | None) -> None:
    assert partitioning_of(SCHEMA, by, None) is None


def test_the_order_is_the_callers() -> None:
    partitioning = partitioning_of(SCHEMA, ["hour", "day"], None)
    assert partitioning is not None
    assert partitioning.schema.names == ["hour", "day"]


def test_an_object_of_pyarrow_is_taken_as_it_is() -> None:
    given = ds.partitioning(pa.schema([("hour", pa.int8())]))
    assert partitioning_of(SCHEMA, None, given) is given


@pytest.mark.parametrize(
    ("by", "partitioning"),
    [(["dya"], None), (None, ds.partitioning(pa.schema([("dya", pa.int8())]), flavor="hive"))],
)
def test_an_unknown_column_is_refused_with_the_columns_there_are(
    by: list[str] | None, partitioning: ds.Partitioning | None
) -> None:
    with pytest.raises(fc.RequestError, match=r"'dya'.*'day', 'hour', 'x'") as caught:
        partitioning_of(SCHEMA, by, partitioning)
    assert caught.value.kind == "unknown_column"


def test_a_column_that_is_there_twice_is_refused() -> None:
    twice = pa.schema([("a", pa.int8()), ("a", pa.int8())])
    with pytest.raises(fc.RequestError, match=r"'a'.*2 columns") as caught:
        partitioning_of(twice, "a", None)
    assert caught.value.kind == "unknown_column"


@pytest.mark.parametrize("partitioning", [["day"], "hive", ds.partitioning(flavor="hive")])
def test_anything_but_pyarrows_object_is_refused(partitioning: object) -> None:
    with pytest.raises(fc.RequestError, match="partition_by"):
        partitioning_of(SCHEMA, None, partitioning)


def test_both_ways_at_once_are_refused() -> None:
    with pytest.raises(fc.RequestError, match="not both"):
        partitioning_of(SCHEMA, "day", ds.partitioning(SCHEMA))


def test_arrow_can_only_write_new_files_here() -> None:
    filesystem = PyFileSystem(TaskFiles(None))
    assert filesystem.type_name == "py::fsspec-commit"
    assert filesystem == filesystem  # noqa: PLR0124  # asks our own comparison
    assert filesystem != PyFileSystem(TaskFiles(None))
    with filesystem.open_output_stream("anything") as stream:
        stream.write(b"dropped")
    for verb, arguments in (
        ("get_file_info", ["a"]),
        ("get_file_info", [FileSelector("a")]),
        ("create_dir", ["a"]),
        ("delete_file", ["a"]),
        ("move", ["a", "b"]),
        ("open_input_file", ["a"]),
        ("open_append_stream", ["a"]),
    ):
        with pytest.raises(OSError, match="only writes new files"):
            getattr(filesystem, verb)(*arguments)
