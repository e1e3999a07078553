"""PySpark: every way in which a Spark job writes through the committers of this library.

Importing it imports no PySpark: the driver process that a JVM starts has no need of it.
"""

from fsspec_commit.engines.spark.checks.report import CheckReport, check
from fsspec_commit.engines.spark.committer_conf import committer_conf
from fsspec_commit.engines.spark.frame_options import SparkOptions
from fsspec_commit.engines.spark.publisher import publisher
from fsspec_commit.engines.spark.registration import register
from fsspec_commit.engines.spark.session import configure, jar
from fsspec_commit.engines.spark.streaming import foreach_batch
from fsspec_commit.engines.spark.write import write

__all__ = [
    "CheckReport",
    "SparkOptions",
    "check",
    "committer_conf",
    "configure",
    "foreach_batch",
    "jar",
    "publisher",
    "register",
    "write",
]
