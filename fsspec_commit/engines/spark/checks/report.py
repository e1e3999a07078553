"""Which committer a write of a session would use, said before the write is run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fsspec_commit.engines.spark.checks.committers import OURS, UNKNOWN, committers_of
from fsspec_commit.engines.spark.checks.limits import limits_of
from fsspec_commit.engines.spark.checks.ours import chosen_there
from fsspec_commit.engines.spark.checks.problems import missing_class, problems_of
from fsspec_commit.engines.spark.checks.session import (
    ClassicSession,
    NotLoadableError,
    session_of,
)
from fsspec_commit.engines.spark.hadoop_names import FACTORIES, scheme_of
from fsspec_commit.errors import RequestError
from fsspec_commit.store.destination_text import refuse_secrets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TRIED_OUT: Final = (
    "nothing declares what this server does: a job tries it out with some small files, which it "
    "removes, and then chooses a committer or refuses (fsspec_commit.explain)"
)


@dataclass(frozen=True, kw_only=True)
class CheckReport:
    """How a session would write to a destination; its text is for people.

    Attributes:
        destination: The URL that was asked about.
        committer: This library's, such as ``"fsspec-commit, magic"``, or ``"fsspec-commit"`` where
            a job will find out which; or Hadoop's ``"v1"``, ``"v2"``, ``"manifest"``, ``"magic"``,
            ``"directory"`` or ``"partitioned"``; or ``"none"``: files are written where readers
            find them; or ``"unknown"``. Where formats differ, such as
            ``"v1 for Parquet, none for other formats"``.
        commit_protocol: The class that Spark's ``spark.sql.sources.commitProtocolClass`` names;
            ``"unknown"`` where a class is missing, so that no write gets that far.
        problems: What loses rows, doubles them or fails, each with what to set instead.
        limits: What the committer does by design, whatever is set, and what cannot be known.
    """

    destination: str
    committer: str
    commit_protocol: str
    problems: tuple[str, ...]
    limits: tuple[str, ...]

    @property
    def safe(self) -> bool:
        """Whether no problem was found: an appending job shows all of its rows, or none of them.

        It says nothing of a driver that dies while it commits, or of overwrites: see `limits`.
        """
        return not self.problems

    def __str__(self) -> str:
        protocol = self.commit_protocol.rpartition(".")[2]
        what = "no problem found" if self.safe else f"{len(self.problems)} found to be wrong"
        return "\n".join(
            [
                f"{self.destination}: committed by {self.committer}, through {protocol}; {what}",
                *(f"  problem: {text}" for text in self.problems),
                *(f"  by design: {text}" for text in self.limits),
            ]
        )


def check(spark: "SparkSession", destination: str) -> CheckReport:
    """Say which committer a write of this session to *destination* would use, and what is wrong.

    Nothing is written. On a classic session the JVM's own classes and settings answer, on Spark
    Connect the settings alone; a store is asked only where this library's jar commits, for what
    :func:`~fsspec_commit.explain` must know of it. Options of a single write, such as
    ``partitionOverwriteMode``, and ``saveAsTextFile`` of an RDD are not covered, nor are formats
    with commits of their own: Delta, Iceberg, Hudi.

    Args:
        spark: The session.
        destination: A URL as Spark is given it; the session's ``fs.defaultFS`` says where one
            without a scheme is.

    Raises:
        RequestError: *destination* holds a secret, or is not a URL.
    """
    given: Any = destination
    if not isinstance(given, str):
        message = f"check(spark, url) takes a session and a text, not a {type(given).__name__}"
        raise RequestError(message, kind="invalid_request")
    # Hadoop writes file:/tmp and hdfs:/data as well, where no secret has a place.
    if "://" in destination:
        refuse_secrets(destination, schemes=FACTORIES)
    scheme = scheme_of(destination)
    try:
        session = session_of(spark)
        url = session.url(destination)
        scheme = scheme_of(url)
        found = committers_of(session, session.factory(url, scheme))
    except NotLoadableError as missing:
        return CheckReport(
            destination=destination,
            committer=UNKNOWN,
            commit_protocol=UNKNOWN,
            problems=(missing_class(missing.name, scheme),),
            limits=(),
        )
    problems = list(problems_of(session, found, url=url, scheme=scheme))
    limits = list(limits_of(session, found))
    committer = str(found)
    # A class that is missing, or a setting that is refused, is among the problems already.
    if committer == OURS and isinstance(session, ClassicSession) and not problems:
        choice = chosen_there(session, destination)
        if choice.refusal is not None:
            problems.append(f"every write there is refused: {choice.refusal}")
        elif choice.committer is None:
            limits.append(_TRIED_OUT)
        else:
            committer = f"{OURS}, {choice.committer}"
    return CheckReport(
        destination=destination,
        committer=committer,
        commit_protocol=found.protocol,
        problems=tuple(problems),
        limits=tuple(limits),
    )
