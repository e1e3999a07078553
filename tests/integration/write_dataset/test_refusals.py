"""What ``write_dataset`` refuses before anything is touched."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from fsspec.core import url_to_fs

import fsspec_commit as fc
from tests.integration.write_dataset.rows import TABLE, batches

REFUSED: dict[str, tuple[Any, dict[str, Any], str, str]] = {
    "tasks": (TABLE, {"tasks": 2}, "invalid_option", "one job of one task"),
    "collect": (TABLE, {"collect": "messages"}, "invalid_option", "one job of one task"),
    "column": (TABLE, {"partition_by": "dya"}, "unknown_column", "'id', 'day', 'label'"),
    "list": (TABLE, {"partitioning": ["day"]}, "invalid_option", "partition_by"),
    "format": (TABLE, {"format": "xlsx"}, "unknown_format", "'parquet', 'csv'"),
    "read-only format": (TABLE, {"format": ds.JsonFileFormat()}, "unknown_format", "format="),
    "schema missing": (list(batches()), {}, "missing_schema", "schema="),
    "schema twice": (TABLE, {"schema": pa.schema([("a", pa.int8())])}, "schema_mismatch", "cast"),
    "number": (3, {}, "not_arrow_data", "cannot write an object of type int"),
    "text": ("in.parquet", {}, "not_arrow_data", "cannot write an object of type str"),
    "mode": (TABLE, {"mode": "overwrit"}, "invalid_option", "overwrite"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_before_anything_is_touched(case: str, destination: str) -> None:
    data, options, kind, says = REFUSED[case]
    with pytest.raises(fc.RequestError, match=says) as caught:
        fc.write_dataset(data, destination, **options)
    assert caught.value.kind == kind
    filesystem, root = url_to_fs(destination)
    assert not filesystem.exists(root)


def test_an_unknown_option_is_a_type_error(destination: str) -> None:
    with pytest.raises(TypeError, match="did you mean 'mode'"):
        fc.write_dataset(TABLE, destination, mod="append")  # type: ignore[call-arg]


def test_a_job_says_which_options_are_those_of_a_dataset(destination: str) -> None:
    """They are listed beside the words of other libraries, since a job does without Arrow."""
    own = signature(fc.write_dataset).parameters.keys() - {"destination", "job"}
    for name in own:
        options: dict[str, Any] = {name: "day"}
        with pytest.raises(TypeError, match=f"no option '{name}'; write_dataset has {name}=$"):
            fc.Job(destination, **options)
