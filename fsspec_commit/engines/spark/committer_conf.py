"""Spark's settings for those who stay with Hadoop's own committers: the safe one for each store."""

from fsspec_commit.engines.spark.hadoop_names import (
    ALGORITHM,
    BINDING_COMMITTER,
    COMMIT_PROTOCOL,
    FACTORIES,
    FACTORY_OF_SCHEME,
    PARQUET_COMMITTER,
    PARQUETS_COMMITTER,
    PATH_PROTOCOL,
    RENAMING,
    S3A_COMMITTER,
    S3A_IN_MEMORY,
    S3A_MAGIC,
    SPARKS_PROTOCOL,
    scheme_of,
    why_unknown,
)
from fsspec_commit.errors import RequestError, UnknownProtocolError

_S3A = {S3A_COMMITTER: "magic", S3A_MAGIC: "true", S3A_IN_MEMORY: "false"}


def committer_conf(*urls: str) -> dict[str, str]:
    """The settings of a Spark session that writes to *urls* by Hadoop's own committers.

    Each store gets the committer that is safe on it: ``s3a:`` magic, ``abfs:``, ``abfss:`` and
    ``gs:`` manifest, ``hdfs:`` and ``file:`` version 1 of ``FileOutputCommitter``. Whoever commits
    by this library's jar needs none of them.

    Two of the settings are for all that a session writes, whatever the scheme: the commit protocol,
    and Parquet's committer. If any store is neither a disk nor HDFS, they are Spark's
    ``PathOutputCommitProtocol`` and ``BindingParquetOutputCommitter``, so that CSV, JSON and ORC
    are not written straight to the destination; they serve ``hdfs:`` and ``file:`` as well.

    They are read when a session starts: give them to ``SparkSession.builder.config(map=…)`` or to
    ``spark-submit --conf``. To set one in a session that runs, leave out ``spark.hadoop.``.

    On the class path they need, beside a store's driver (``hadoop-aws`` of the very version of
    Hadoop that Spark has, 3.5.0 for Spark 4.3; ``hadoop-azure``; Google's ``gcs-connector``), where
    ``PathOutputCommitProtocol`` is set, ``org.apache.spark:spark-hadoop-cloud_2.13`` of Spark's
    version. There is none after 4.1.2, which works on Spark 4.2 and 4.3.

    By design no committer of Hadoop's keeps old rows until new ones stand, nor resumes a commit
    that broke off, and none but version 1 overwrites single partitions: see :func:`check`.

    Args:
        urls: What is written to, or any URL of the same stores.

    Raises:
        RequestError: No URL is given, or something that is not a URL.
        UnknownProtocolError: No committer of Hadoop's is known to be safe at one of them.
    """
    if not urls or not all(isinstance(url, str) for url in urls):
        raise RequestError(
            "committer_conf() needs to know where is written, by URLs, which are texts: "
            "committer_conf('s3a://bucket', 'hdfs://cluster')",
            kind="invalid_option",
        )
    schemes = sorted({_known_scheme(url) for url in urls})
    hadoop = {ALGORITHM: "1"}
    for scheme in schemes:
        hadoop[f"{FACTORY_OF_SCHEME}{scheme}"] = FACTORIES[scheme]
    if "s3a" in schemes:
        hadoop |= _S3A
    renames = RENAMING.issuperset(schemes)
    return {
        **{f"spark.hadoop.{name}": value for name, value in hadoop.items()},
        COMMIT_PROTOCOL: SPARKS_PROTOCOL if renames else PATH_PROTOCOL,
        PARQUET_COMMITTER: PARQUETS_COMMITTER if renames else BINDING_COMMITTER,
    }


def _known_scheme(url: str) -> str:
    scheme = scheme_of(url)
    if scheme not in FACTORIES:
        # Whatever follows the scheme may hold a secret.
        what = f"a URL of scheme {scheme!r}" if scheme else "a URL without a scheme"
        raise UnknownProtocolError(f"committer_conf() was given {what}: {why_unknown(scheme)}")
    return scheme
