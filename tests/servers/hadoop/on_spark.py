"""What Spark's own jars lack, as one set for one session.

The drivers of s3a: and abfs:, and Spark's binding of Hadoop's committers.
"""

from __future__ import annotations

from tests.servers.hadoop.jars import MavenJars

HADOOP_ON_SPARK = MavenJars(
    name="hadoop-spark-jars",
    version="3.5.0",
    command="java",
    pom="servers/hadoop/on_spark.pom.xml",
)
