"""What Hadoop and Spark call the classes and settings that say how a write commits."""

from types import MappingProxyType
from typing import Final

# Of Spark: where a job's files are made, and by whom they are published.
COMMIT_PROTOCOL: Final = "spark.sql.sources.commitProtocolClass"
SPARKS_PROTOCOL: Final = (
    "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
)
PATH_PROTOCOL: Final = "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol"
PARQUET_COMMITTER: Final = "spark.sql.parquet.output.committer.class"
PARQUETS_COMMITTER: Final = "org.apache.parquet.hadoop.ParquetOutputCommitter"
BINDING_COMMITTER: Final = "org.apache.spark.internal.io.cloud.BindingParquetOutputCommitter"

# Of Hadoop: who makes the committer of a path.
FACTORY: Final = "mapreduce.outputcommitter.factory.class"
FACTORY_OF_SCHEME: Final = "mapreduce.outputcommitter.factory.scheme."
FILE_FACTORY: Final = "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitterFactory"
MANIFEST_FACTORY: Final = (
    "org.apache.hadoop.mapreduce.lib.output.committer.manifest.ManifestCommitterFactory"
)
AZURE_FACTORY: Final = "org.apache.hadoop.fs.azurebfs.commit.AzureManifestCommitterFactory"
S3A_FACTORY: Final = "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory"
ALGORITHM: Final = "mapreduce.fileoutputcommitter.algorithm.version"
S3A_COMMITTER: Final = "fs.s3a.committer.name"
S3A_MAGIC: Final = "fs.s3a.committer.magic.enabled"
S3A_IN_MEMORY: Final = "fs.s3a.committer.magic.track.commits.in.memory.enabled"
S3A_ABORTS_UPLOADS: Final = "fs.s3a.committer.abort.pending.uploads"

# The factory that is safe on a store, by the scheme of its URLs.
FACTORIES: Final = MappingProxyType(
    {
        "abfs": AZURE_FACTORY,
        "abfss": AZURE_FACTORY,
        "file": FILE_FACTORY,
        "gs": MANIFEST_FACTORY,
        "hdfs": FILE_FACTORY,
        "s3a": S3A_FACTORY,
    }
)
# Where directories are renamed in one step, so that `FileOutputCommitter` is safe.
RENAMING: Final = frozenset({"file", "hdfs"})

# Schemes of other drivers for stores that one of the above serves.
_INSTEAD: Final = MappingProxyType(
    {
        "adl": "abfss",
        "s3": "s3a",
        "s3n": "s3a",
        "wasb": "abfs",
        "wasbs": "abfss",
        "gcs": "gs",
        "az": "abfs",
        "webhdfs": "hdfs",
        "local": "file",
    }
)


def scheme_of(url: str) -> str:
    """The scheme, in lower case; empty where there is none."""
    scheme, colon, _ = url.partition(":")
    return scheme.lower() if colon and "/" not in scheme else ""


def why_unknown(scheme: str) -> str:
    """Why no committer of Hadoop's is known to be safe there, and what to write instead."""
    known = ", ".join(f"{name}:" for name in sorted(FACTORIES))
    if not scheme:
        return (
            "it has no scheme, so that the cluster's fs.defaultFS decides where it is: write "
            "file:/… or hdfs://… in front"
        )
    if scheme in _INSTEAD:
        return f"no committer of Hadoop's is safe by that driver: write it as {_INSTEAD[scheme]}:"
    return f"it is not known which committer of Hadoop's is safe there; known are {known}"
