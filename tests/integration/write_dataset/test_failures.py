"""Whatever fails while rows are written aborts the job, with its own error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import fsspec_commit as fc
from tests.integration.write_dataset.rows import TABLE, batches, check_nothing_happened, names_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FAILING: dict[str, tuple[Callable[[], Any], dict[str, Any], type[Exception], str]] = {}


def failing(
    error: type[Exception], says: str, **options: Any
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def add(make: Callable[[], Any]) -> Callable[[], Any]:
        FAILING[make.__name__] = (make, options, error, says)
        return make

    return add


@failing(LookupError, "boom", schema=TABLE.schema)
def source_that_raises() -> Iterator[pa.RecordBatch]:
    yield from batches()
    raise LookupError("boom")


@failing(KeyError, "at once", schema=TABLE.schema)
def source_that_raises_at_once() -> Iterator[pa.RecordBatch]:
    missing: dict[str, list[pa.RecordBatch]] = {}
    yield from missing["at once"]


@failing(fc.RequestError, "does not have the schema", schema=TABLE.schema)
def batch_of_another_schema() -> Iterator[pa.RecordBatch]:
    yield from batches()
    yield pa.record_batch({"id": [1]})


@failing(fc.RequestError, "has given an object of type int", schema=TABLE.schema)
def batch_that_is_none() -> Iterator[Any]:
    yield from batches()
    yield 3


@failing(pa.ArrowNotImplementedError, "interval", format="parquet")
def type_that_parquet_has_not() -> pa.Table:
    return pa.table({"id": [pa.MonthDayNano([1, 2, 3])]})


@failing(
    pa.ArrowInvalid, "maximum of 2; raise max_partitions=", partition_by="day", max_partitions=2
)
def many_partitions() -> pa.Table:
    return TABLE


@failing(fc.RequestError, "no place for a file's number", basename_template="part.parquet")
def template_without_a_number() -> pa.Table:
    return TABLE


@failing(fc.RequestError, "give partition_by=", mode="overwrite_partitions")
def rows_outside_any_partition() -> pa.Table:
    return TABLE


def raise_from_visitor(_: object) -> None:
    raise LookupError("visited")


@failing(LookupError, "visited", file_visitor=raise_from_visitor)
def visitor_that_raises() -> pa.Table:
    return TABLE


@pytest.mark.parametrize("case", FAILING)
def test_a_failure_aborts_with_its_own_error(case: str, destination: str) -> None:
    make, options, error, says = FAILING[case]
    fc.write_dataset(TABLE, destination, format="parquet")
    with pytest.raises(error, match=says):
        fc.write_dataset(make(), destination, **{"mode": "overwrite", **options})
    check_nothing_happened(destination)


def test_a_job_that_is_aborted_under_the_writer(destination: str) -> None:
    def source() -> Iterator[pa.RecordBatch]:
        yield from batches()
        (job,) = fc.jobs(destination)
        fc.abort(destination, job.job_id)
        yield from batches()

    with pytest.raises(fc.JobNotActiveError):
        fc.write_dataset(
            source(),
            destination,
            schema=TABLE.schema,
            max_rows_per_file=300,
            max_rows_per_group=300,
        )
    assert names_at(destination) == []
