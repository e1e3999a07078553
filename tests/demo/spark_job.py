"""An ordinary Spark job, which knows nothing of commits: flights, a directory for each month.

    python tests/demo/spark_job.py SOURCE DESTINATION [WHERE]

How it commits, only Spark's settings say; see `tests/demo/spark.py`, which runs it.
"""

import sys

from pyspark.sql import SparkSession


def main(source: str, destination: str, where: str = "true") -> None:
    """Read, choose, write."""
    spark = SparkSession.builder.appName("flights").getOrCreate()
    flights = spark.read.parquet(source).where(where).repartition(6)
    flights.write.partitionBy("month").mode("overwrite").parquet(destination)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
