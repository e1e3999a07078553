"""Other versions of PySpark, each in an environment of its own: 300 to 480 MB, by night alone."""

from __future__ import annotations

from tests.servers.installation import PythonPackage

PYSPARK_VERSIONS = tuple(
    PythonPackage(name="pyspark", version=version, command="python", requirement="pyspark")
    for version in ("3.5.7", "4.0.2", "4.1.1")
)
"""Spark 3.5 is built for Scala 2.12, those after it for 2.13."""
