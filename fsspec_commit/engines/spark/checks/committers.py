"""Which committer a write gets from the settings of a session, as Spark and Hadoop decide it."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fsspec_commit.engines.spark.hadoop_names import (
    ALGORITHM,
    AZURE_FACTORY,
    BINDING_COMMITTER,
    COMMIT_PROTOCOL,
    FILE_FACTORY,
    MANIFEST_FACTORY,
    PARQUET_COMMITTER,
    PARQUETS_COMMITTER,
    PATH_PROTOCOL,
    S3A_COMMITTER,
    S3A_FACTORY,
    SPARKS_PROTOCOL,
)
from fsspec_commit.engines.spark.session import PROTOCOL_CLASS

if TYPE_CHECKING:
    from fsspec_commit.engines.spark.checks.session import Session

OURS: Final = "fsspec-commit"
# Written where readers find it, by whichever attempt of a task comes last.
DIRECT: Final = "none"
UNKNOWN: Final = "unknown"
# The committers that rename files, by `FileOutputCommitter`.
RENAMERS: Final = frozenset({"v1", "v2"})

_SPARKS_PROTOCOLS: Final = frozenset(
    {SPARKS_PROTOCOL, "org.apache.spark.internal.io.HadoopMapReduceCommitProtocol"}
)
_NAMED_FACTORY: Final = "org.apache.hadoop.mapreduce.lib.output.NamedCommitterFactory"
_NAMED: Final = "mapreduce.outputcommitter.named.classname"
_SQL_COMMITTER: Final = "spark.sql.sources.outputCommitterClass"
_FILE_COMMITTERS: Final = frozenset(
    {PARQUETS_COMMITTER, "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter"}
)
_S3A_COMMITTERS: Final = frozenset({"magic", "directory", "partitioned"})
_BY_FACTORY: Final = MappingProxyType(
    {
        MANIFEST_FACTORY: "manifest",
        AZURE_FACTORY: "manifest",
        "org.apache.hadoop.fs.s3a.commit.magic.MagicS3GuardCommitterFactory": "magic",
        "org.apache.hadoop.fs.s3a.commit.staging.DirectoryStagingCommitterFactory": "directory",
        "org.apache.hadoop.fs.s3a.commit.staging.PartitionedStagingCommitterFactory": "partitioned",
    }
)
_BY_CLASS: Final = MappingProxyType(
    {
        "org.apache.hadoop.mapreduce.lib.output.committer.manifest.ManifestCommitter": "manifest",
        "org.apache.hadoop.fs.s3a.commit.magic.MagicS3GuardCommitter": "magic",
    }
)


@dataclass(frozen=True, kw_only=True)
class Committers:
    """The committers that the settings lead to.

    Attributes:
        protocol: The class of the commit protocol.
        parquet: The committer of Parquet's files.
        others: That of CSV, JSON, ORC and text.
        factory: The class that Hadoop asks for a committer here.
        of_factory: The committer that the factory makes, whether it is used or not.
    """

    protocol: str
    parquet: str
    others: str
    factory: str
    of_factory: str

    def __str__(self) -> str:
        if self.parquet == self.others:
            return self.parquet
        return f"{self.parquet} for Parquet, {self.others} for other formats"

    @property
    def names(self) -> frozenset[str]:
        """The one committer, or the two."""
        return frozenset({self.parquet, self.others})


def committers_of(session: "Session", factory: str) -> Committers:
    """Who commits, where Hadoop's committers are made by this factory."""
    protocol = session.setting(COMMIT_PROTOCOL) or SPARKS_PROTOCOL
    of_factory = _made_by(factory, session)
    if protocol == PROTOCOL_CLASS:
        parquet = others = OURS
    elif protocol == PATH_PROTOCOL:
        # It asks the factory itself, for Parquet too.
        parquet = others = of_factory
    elif protocol in _SPARKS_PROTOCOLS:
        parquet = _parquets(session, of_factory)
        others = _others(session, of_factory)
    else:
        parquet = others = UNKNOWN
    return Committers(
        protocol=protocol,
        parquet=parquet,
        others=others,
        factory=factory,
        of_factory=of_factory,
    )


def _made_by(factory: str, session: "Session") -> str:
    if factory == FILE_FACTORY:
        return _algorithm(session)
    if factory == S3A_FACTORY:
        # Spark's setting wins over that of a bucket, since it is among the job's own settings.
        name = session.hadoop_setting(S3A_COMMITTER) or "file"
        return _algorithm(session) if name == "file" else _one_of(_S3A_COMMITTERS, name)
    if factory == _NAMED_FACTORY:
        name = session.hadoop_setting(_NAMED) or ""
        return _algorithm(session) if name in _FILE_COMMITTERS else _BY_CLASS.get(name, UNKNOWN)
    return _BY_FACTORY.get(factory, UNKNOWN)


def _parquets(session: "Session", of_factory: str) -> str:
    name = session.setting(PARQUET_COMMITTER) or PARQUETS_COMMITTER
    if name == BINDING_COMMITTER:
        return of_factory
    return _algorithm(session) if name in _FILE_COMMITTERS else UNKNOWN


def _others(session: "Session", of_factory: str) -> str:
    """Spark's protocol uses the directory of a `FileOutputCommitter`, and of no other."""
    name = session.setting(_SQL_COMMITTER)
    if name:
        return _algorithm(session) if name in _FILE_COMMITTERS else UNKNOWN
    return of_factory if of_factory in {*RENAMERS, UNKNOWN} else DIRECT


def _algorithm(session: "Session") -> str:
    # Hadoop's own default is 2; Spark has set 1 since 3.1.
    default = "2" if session.knows_classes else "1"
    number = session.hadoop_setting(ALGORITHM) or default
    return {"1": "v1", "2": "v2"}.get(number, UNKNOWN)


def _one_of(names: frozenset[str], name: str) -> str:
    return name if name in names else UNKNOWN
