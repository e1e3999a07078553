"""Options of a job as the settings of an unchanged Spark job carry them: all of them text."""

import re
from collections.abc import Mapping

from fsspec_commit.engines.spark.frame_options import value_of_text
from fsspec_commit.errors import RequestError
from fsspec_commit.options import JobOptions
from fsspec_commit.suggestions import option_hint

# Options that Spark does not give itself, as it gives the mode; only the driver needs them.
_OF_A_JOB = (
    *("committer", "concurrency", "delete_by_name", "durability", "idempotency_key"),
    *("probe", "single_writer", "success", "wait_s"),
)
# Of the jar itself.
_OTHERS = ("credentials", "python")
_KNOWN = (*_OF_A_JOB, *_OTHERS)
UNMISTAKABLE = ("delete_by_name", "idempotency_key", "single_writer", "wait_s")
"""Names that are given to Spark's writer by mistake: without their prefix, nobody reads them."""
# What unchanged jobs say in words of Spark's own.
_OF_SPARK = {
    "compression": '.option("compression", …)',
    "max_rows_per_file": '.option("maxRecordsPerFile", …)',
    "mode": ".mode(…)",
    "partition_by": ".partitionBy(…)",
    "partitions": '.option("partitionOverwriteMode", "dynamic")',
    "storage_options": "the settings of Hadoop's driver",
}
_IN_PYTHON = re.compile(rf"(?<![\w.])({'|'.join(_OF_A_JOB)})=")
_OF_A_STORE = re.compile(
    r"(?<![\w.])(storage_options|(key|secret|token|profile|account_key|sas_token|endpoint_url)=)"
)


def job_options(texts: Mapping[str, str]) -> JobOptions:
    """The options of a job that ``spark.fsspec_commit.<name>`` settings name.

    Raises:
        RequestError: A name is unknown, or a value does not fit it.
    """
    options: JobOptions = {}
    for name, text in texts.items():
        if name not in _KNOWN:
            own = _OF_SPARK.get(name)
            hint = f"; say it by Spark's own {own}" if own else option_hint(name, _KNOWN)
            message = (
                f"there is no setting spark.fsspec_commit.{name}{hint}"
                f" (there are: {', '.join(_KNOWN)})"
            )
            raise RequestError(message, kind="invalid_option")
        if name in _OF_A_JOB:
            options[name] = value_of_text(name, text)  # type: ignore[literal-required]
    return options


def as_settings(message: str) -> str:
    """*message*, with the options that it names written as the settings of a Spark job."""
    if _OF_A_STORE.search(message):
        message += "; of a Spark job these are Hadoop's settings, fs.s3a.…, fs.azure.… or fs.gs.…"
    return _IN_PYTHON.sub(r"spark.fsspec_commit.\1=", message)
