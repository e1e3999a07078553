"""``register``: makes the data source known to a session."""

from typing import TYPE_CHECKING, Any

from fsspec_commit.engines.spark.missing import pyarrow
from fsspec_commit.errors import RequestError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: "SparkSession") -> None:
    """Register the data source ``fsspec_commit`` with *spark*, for ``df.write.format``.

    It needs Spark 4.0 or later, classic or Connect, and this package with ``pyarrow`` on the
    driver and on every executor. Call it once for each session, and again in each thread of your
    own and after Ctrl-C: a classic session finds data sources only in threads where it is active.

    The options of the data source are those of :func:`fsspec_commit.spark.write`, as texts or as
    JSON. ``.mode("append")`` stands for ``mode="append"``, ``"error"`` or ``"ignore"``,
    ``.mode("overwrite")`` for ``"overwrite"`` or ``"overwrite_partitions"``:
    ``.option("mode", …)`` says which. Secrets are refused as options.

    Raises:
        RequestError: This Spark has no data sources in Python, or pyarrow is missing.
    """
    pyarrow()
    try:
        from fsspec_commit.engines.spark.data_source import FsspecCommitDataSource
    except ImportError as error:
        message = (
            "this PySpark has no data sources that write Arrow batches, which came with Spark "
            "4.0: use fc.spark.write(df, url), from Spark 3.5 on"
        )
        raise RequestError(message, kind="missing_package") from error
    spark.dataSource.register(FsspecCommitDataSource)
    if type(spark).__module__ == "pyspark.sql.session":
        # As PySpark does when it makes a frame from rows; else Spark says DATA_SOURCE_NOT_FOUND.
        session: Any = spark
        java = session._get_j_spark_session_class(session._jvm)  # noqa: SLF001  # no other way
        java.setActiveSession(session._jsparkSession)  # noqa: SLF001
