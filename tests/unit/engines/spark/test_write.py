"""What `write` refuses before it asks Spark for anything."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import fsspec_commit as fc


@pytest.mark.parametrize("given", ["out", None, pd.DataFrame({"a": [1]})])
def test_what_is_no_frame_of_spark(given: Any) -> None:
    with pytest.raises(fc.RequestError, match=r"DataFrame of Spark, not a \w+.*createDataFrame"):
        fc.spark.write(given, "out")


def test_a_stream_is_no_write() -> None:
    frame: Any = SimpleNamespace(mapInArrow=None, isStreaming=True)
    with pytest.raises(fc.RequestError, match=r"foreachBatch\(fc\.spark\.foreach_batch"):
        fc.spark.write(frame, "out")


def test_what_foreach_batch_calls_knows_where_to_write() -> None:
    frame: Any = SimpleNamespace(mapInArrow=None, isStreaming=False)
    number: Any = 0
    with pytest.raises(fc.RequestError, match=r"foreachBatch\(fc\.spark\.foreach_batch"):
        fc.spark.write(frame, number)


@pytest.mark.parametrize("name", ["partition_cols", "partitionBy", "Partition_By"])
def test_an_option_of_another_library_is_answered_with_ours(name: str) -> None:
    frame: Any = SimpleNamespace(mapInArrow=None, isStreaming=False)
    options: Any = {name: "day"}
    with pytest.raises(TypeError, match=r"did you mean 'partition_by'\?"):
        fc.spark.write(frame, "out", **options)


def test_an_option_of_the_jar_has_no_prefix_here() -> None:
    frame: Any = SimpleNamespace(mapInArrow=None, isStreaming=False)
    options: Any = {"fsspec_commit.wait_s": "5"}
    with pytest.raises(TypeError, match="here it would be 'wait_s'"):
        fc.spark.write(frame, "out", **options)


def test_a_check_of_what_is_no_destination() -> None:
    swapped: Any = ("s3a://bucket", SimpleNamespace())
    with pytest.raises(fc.RequestError, match=r"check\(spark, url\)"):
        fc.spark.check(*swapped)
