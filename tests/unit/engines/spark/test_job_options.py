"""Options of a job, as Spark's settings carry them."""

from __future__ import annotations

import pytest

import fsspec_commit as fc
from fsspec_commit.engines.spark.job_options import as_settings, job_options


def test_texts_flags_and_numbers() -> None:
    texts = {
        "success": "json",
        "idempotency_key": "true",
        "single_writer": "True",
        "probe": "false",
        "concurrency": "8",
        "wait_s": "0.5",
    }
    assert job_options(texts) == {
        "success": "json",
        "idempotency_key": "true",
        "single_writer": True,
        "probe": False,
        "concurrency": 8,
        "wait_s": 0.5,
    }


def test_settings_of_the_jar_are_no_options() -> None:
    assert job_options({"python": "/usr/bin/python3", "credentials": "ambient"}) == {}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("wait", "did you mean 'wait_s'"),
        ("mode", r"Spark's own \.mode\(…\) \(there are: committer"),
        ("partition_by", r"Spark's own \.partitionBy\(…\)"),
        ("tasks", "there are:"),
    ],
)
def test_what_spark_says_itself_is_no_option(name: str, hint: str) -> None:
    with pytest.raises(fc.RequestError, match=hint):
        job_options({name: "1"})


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [("probe", "yes", "true or false"), ("concurrency", "many", "number"), ("wait_s", "", "num")],
)
def test_a_value_that_does_not_fit_is_shown(name: str, text: str, wanted: str) -> None:
    with pytest.raises(fc.RequestError, match=f"'{name}' is (a )?{wanted}"):
        job_options({name: text})


def test_what_a_message_names_is_called_as_spark_calls_it() -> None:
    said = "say single_writer=True or wait_s=0; spark.fsspec_commit.probe=false; mode='append'"
    assert as_settings(said) == (
        "say spark.fsspec_commit.single_writer=True or spark.fsspec_commit.wait_s=0; "
        "spark.fsspec_commit.probe=false; mode='append'"
    )


def test_what_opens_a_store_is_a_setting_of_hadoops() -> None:
    said = as_settings("no credentials were found; give storage_options key= and secret=")
    assert said.endswith(
        "; of a Spark job these are Hadoop's settings, fs.s3a.…, fs.azure.… or fs.gs.…"
    )
    assert as_settings("there is no such bucket") == "there is no such bucket"
