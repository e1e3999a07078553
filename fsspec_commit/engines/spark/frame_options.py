"""The options of a write without the jar: as keywords, and as texts for the data source."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from fsspec_commit.errors import RequestError
from fsspec_commit.options import JobOptions, check_options
from fsspec_commit.store.open_storage_options import is_open
from fsspec_commit.suggestions import option_hint


class SparkOptions(JobOptions, total=False):
    """The keyword arguments of :func:`fsspec_commit.spark.write`.

    They are those of :class:`~fsspec_commit.JobOptions`, except ``tasks`` and ``collect``, which
    Spark itself decides. ``allow_empty`` defaults to True, since a frame may have no rows.

    Attributes:
        partition_by: Columns that become Hive directories, named as Spark names them.
        format: ``"parquet"`` (default), which is the only one so far.
        compression: A codec of Parquet that Spark reads: ``"snappy"`` (default), ``"zstd"``,
            ``"gzip"``, ``"lz4"`` or ``"none"``.
        max_rows_per_file: Begin another file after this many rows; 0 (default) for no limit.
        max_open_files: The most files that one task has open at once; 100 by default.
    """

    partition_by: str | Sequence[str]
    format: Literal["parquet"]
    compression: str
    max_rows_per_file: int
    max_open_files: int


_OWN = ("partition_by", "format", "compression", "max_rows_per_file", "max_open_files")
_SPARK_DECIDES = ("tasks", "collect")
# What has no text, or must have none: secrets belong in the environment of the workers.
_NOT_AS_TEXT = ("filesystem", "callback", "publisher", "share_secrets")
_BOOLEANS = ("allow_empty", "probe", "single_writer", "delete_by_name", "write_behind")
_NUMBERS = ("wait_s", "concurrency", "max_rows_per_file", "max_open_files")
_LISTS = ("partition_by", "partitions")
_MEANT = {
    "partitionoverwritemode": 'mode="overwrite_partitions" stands for "dynamic"',
    "maxrecordsperfile": "did you mean 'max_rows_per_file'?",
    "partitionby": "did you mean 'partition_by'?",
    "savemode": "did you mean 'mode'?",
    "overwrite_mode": "did you mean 'mode'?",
    "checkpointlocation": "a stream is written by foreachBatch(fc.spark.foreach_batch(…))",
}
_COUNTED = {"max_rows_per_file": 0, "max_open_files": 1}


def check_spark_options(options: Mapping[str, Any], caller: str) -> tuple[JobOptions, list[str]]:
    """Refuse options that make no sense; return the job's options and the partition columns.

    Raises:
        TypeError: An option is unknown.
        RequestError: A value is wrong, or two options contradict each other.
    """
    refuse_unknown(options, caller)
    for name in _SPARK_DECIDES:
        if name in options:
            message = f"{name}= makes no sense here: Spark decides how many tasks a job has"
            raise RequestError(message, kind="invalid_option")
    if options.get("filesystem") is not None:
        message = (
            "filesystem= stays in this process, and the executors need one each: give "
            "storage_options="
        )
        raise RequestError(message, kind="invalid_option")
    chosen = options.get("format", "parquet")
    if chosen != "parquet":
        message = (
            f"{caller} writes Parquet, not {chosen!r}: other formats are written as Spark's own "
            "are by fc.spark.configure"
        )
        raise RequestError(message, kind="unknown_format")
    for name, least in _COUNTED.items():
        count = options.get(name, least)
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            message = f"{name}={count!r} is no count: a number from {least} on, or leave it out"
            raise RequestError(message, kind="invalid_option")
    job: Any = {name: options[name] for name in options if name not in _OWN}
    check_options(job)
    job.setdefault("allow_empty", True)
    names = _names(options.get("partition_by"))
    if job.get("mode") == "overwrite_partitions" and not names:
        message = 'mode="overwrite_partitions" needs partition_by=: no file is in a partition'
        raise RequestError(message, kind="invalid_option")
    return job, names


def refuse_unknown(names: Iterable[str], caller: str) -> None:
    """Refuse options that do not exist.

    Raises:
        TypeError: An option is unknown; the message says which one may have been meant.
    """
    for name in names:
        if name not in SparkOptions.__annotations__:
            raise TypeError(f"{caller} has no option {name!r}{_hint(name)}")


def _hint(name: str) -> str:
    if name.startswith("fsspec_commit."):
        return f"; the jar has its options by such names, and here it would be {name[14:]!r}"
    meant = _MEANT.get(name.lower())
    if meant is not None:
        return f"; {meant}"
    known = list(SparkOptions.__annotations__)
    # Another library's name for it, as pandas' partition_cols, comes before one that looks alike.
    return option_hint(name, known) or option_hint(name.lower(), known)


def _names(given: object) -> list[str]:
    if given is None:
        return []
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Collection) or not all(isinstance(one, str) for one in names):
        message = f"partition_by={given!r} names no column: give a name, or a list of them"
        raise RequestError(message, kind="invalid_option")
    return list(names)


def options_of_texts(texts: Mapping[str, str]) -> dict[str, Any]:
    """The options that a data source was given as texts, or as JSON.

    Raises:
        TypeError: An option is unknown.
        RequestError: A text is no value of its option, or may be a secret.
    """
    caller = "the data source 'fsspec_commit'"
    refuse_unknown(texts, caller)
    for name in _NOT_AS_TEXT:
        if name in texts:
            message = (
                f"{name} is no option of a data source, whose options are texts that Spark shows: "
                "fc.spark.write takes it; or let the executors' environment hold the credentials"
            )
            raise RequestError(message, kind="invalid_option")
    options = {name: value_of_text(name, text) for name, text in texts.items()}
    if "storage_options" in options:
        refuse_secrets(options["storage_options"])
    return options


def refuse_secrets(storage_options: object, what: str = "storage_options") -> None:
    """Refuse storage options that may hold a secret; no value is repeated.

    Raises:
        RequestError: There is an option that is not known to be open.
    """
    if not isinstance(storage_options, Mapping):
        message = f'{what} is a JSON object, such as {{"endpoint_url": "https://…"}}'
        raise RequestError(message, kind="invalid_option")
    for name, value in storage_options.items():
        if not is_open(name, value):
            message = (
                f"{what} holds {name!r}, which may be a secret: options of a data source are shown "
                "by Spark; let the environment of the executors hold the credentials, or give "
                "them to fc.spark.write(storage_options=…, share_secrets=True)"
            )
            raise RequestError(message, kind="secret_in_option")
        if isinstance(value, Mapping):
            refuse_secrets(value, f"{what}[{name!r}]")


def value_of_text(name: str, text: str) -> Any:
    """The value of an option that was given as text, or as JSON.

    Raises:
        RequestError: The text is no value of this option.
    """
    if name in _BOOLEANS:
        return _parsed(name, text.lower(), "true or false", bool)
    if name == "wait_s" and text.lower() in {"inf", "infinity"}:
        return float("inf")
    if name in _NUMBERS:
        return _parsed(name, text, "a number", int | float)
    if name in _LISTS and not (name == "partition_by" and text[:1] != "["):
        return _parsed(name, text, 'a JSON list, such as ["year", "month"]', list)
    if name == "storage_options":
        return _parsed(name, text, "a JSON object", dict)
    return text


def _parsed(name: str, text: str, what: str, kind: Any) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, kind):
        # The text of storage_options is not repeated: it may hold a secret.
        shown = "" if name == "storage_options" else f", not {text!r}"
        raise RequestError(f"the option {name!r} is {what}{shown}", kind="invalid_option")
    return value
