"""What is wrong with how a session would write, each in one sentence that says what to set."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fsspec_commit.engines.spark.checks.committers import DIRECT, OURS, RENAMERS, UNKNOWN
from fsspec_commit.engines.spark.checks.session import is_true
from fsspec_commit.engines.spark.hadoop_names import (
    ALGORITHM,
    AZURE_FACTORY,
    BINDING_COMMITTER,
    COMMIT_PROTOCOL,
    FACTORIES,
    FACTORY,
    FACTORY_OF_SCHEME,
    MANIFEST_FACTORY,
    PARQUET_COMMITTER,
    PATH_PROTOCOL,
    RENAMING,
    S3A_COMMITTER,
    S3A_FACTORY,
    S3A_IN_MEMORY,
    S3A_MAGIC,
    why_unknown,
)
from fsspec_commit.engines.spark.hadoop_settings import UPLOADS, is_magic, refuse_lost_uploads
from fsspec_commit.engines.spark.session import PROTOCOL_CLASS
from fsspec_commit.errors import RequestError

if TYPE_CHECKING:
    from fsspec_commit.engines.spark.checks.committers import Committers
    from fsspec_commit.engines.spark.checks.session import Session

OVERWRITE_MODE: Final = "spark.sql.sources.partitionOverwriteMode"
_ARTIFACTS: Final = {
    PATH_PROTOCOL: "org.apache.spark:spark-hadoop-cloud_2.13 (4.1.2 for Spark 4.1 and later)",
    BINDING_COMMITTER: "org.apache.spark:spark-hadoop-cloud_2.13 (4.1.2 for Spark 4.1 and later)",
    PROTOCOL_CLASS: "the jar of fsspec_commit.spark.jar()",
    MANIFEST_FACTORY: "a Spark with Hadoop 3.3.5 or later, whose own it is",
    AZURE_FACTORY: "org.apache.hadoop:hadoop-azure, and a Spark with Hadoop 3.3.5 or later",
}
_DRIVERS: Final = {
    "s3a": "org.apache.hadoop:hadoop-aws, of the version of Hadoop that Spark has",
    "abfs": "org.apache.hadoop:hadoop-azure, of the version of Hadoop that Spark has",
    "abfss": "org.apache.hadoop:hadoop-azure, of the version of Hadoop that Spark has",
    "gs": "Google's gcs-connector",
}
_OTHERS_PROTOCOLS: Final = {
    "com.databricks.": (
        "Databricks' own, which hides unfinished files from Databricks' readers alone: every other "
        "reader sees them"
    ),
    "org.apache.spark.sql.execution.datasources.SQLEmr": (
        "that of Amazon EMR, which shows a task's files when the task commits, so that a job that "
        "fails leaves a part of itself"
    ),
}
# By the names of older releases and of newer ones.
_COMET: Final = ("spark.comet.parquet.write.enabled", "spark.comet.write.parquet.enabled")
_GLUTEN: Final = "spark.gluten.sql.native.writer.enabled"
_OF_S3A: Final = (S3A_COMMITTER, S3A_MAGIC, S3A_IN_MEMORY)


def missing_class(name: str, scheme: str) -> str:
    """Why every write fails: what the class is for, and where it is found."""
    artifact = _ARTIFACTS.get(name) or _DRIVERS.get(scheme, "the jar that has it")
    return f"every write there fails, for {name} is not on the class path: add {artifact}"


def problems_of(session: "Session", found: "Committers", *, url: str, scheme: str) -> Iterator[str]:
    """Each of the problems, the worst first."""
    if scheme not in FACTORIES and found.names != {OURS}:
        yield f"of {scheme}: {why_unknown(scheme)}"
    yield from _of_protocol(session, found)
    yield from _of_committers(found, scheme)
    yield from _of_s3a(session, found, url)
    yield from _of_overwriting(session, found)
    yield from _of_native_writers(session, found)
    if is_true(session.setting("spark.speculation")) and found.names & {DIRECT, "v2"}:
        yield (
            "with spark.speculation=true two attempts of one task may both leave their files, so "
            "that rows are there twice: set spark.speculation=false"
        )
    yield from _of_names(session, scheme)


def _of_protocol(session: "Session", found: "Committers") -> Iterator[str]:
    named = {COMMIT_PROTOCOL: found.protocol}
    if found.protocol not in {PROTOCOL_CLASS, PATH_PROTOCOL}:
        named[PARQUET_COMMITTER] = session.setting(PARQUET_COMMITTER) or ""
    if session.knows_classes:
        for name in named.values():
            if name and not session.is_loadable(name):
                yield missing_class(name, "")
    for prefix, whose in _OTHERS_PROTOCOLS.items():
        if found.protocol.startswith(prefix):
            yield f"the commit protocol is {whose}: set {COMMIT_PROTOCOL}={PROTOCOL_CLASS}"
            return
    if UNKNOWN in found.names:
        classes = ", ".join([*filter(None, named.values()), found.factory])
        yield (
            f"it is not known how a write commits by {classes}: take fsspec_commit.spark.configure "
            "or committer_conf"
        )


def _of_committers(found: "Committers", scheme: str) -> Iterator[str]:
    if "v2" in found.names:
        yield (
            "algorithm 2 shows a task's files when the task commits, so that a job that fails "
            f"leaves a part of itself, and a task that runs twice may leave both: set {ALGORITHM}=1"
        )
    if found.others == DIRECT:
        yield (
            f"CSV, JSON, ORC and text are written straight to the destination, where a job that "
            f"fails leaves a part of them, since {_short(found.protocol)} gives the "
            f"{found.of_factory} committer of this store no directory: set "
            f"{COMMIT_PROTOCOL}={PATH_PROTOCOL}"
        )
    if found.names & RENAMERS and scheme in FACTORIES and scheme not in RENAMING:
        formats = "Parquet is" if found.others not in RENAMERS else "files are"
        yield f"{formats} {_renamed_on(scheme)}"


def _renamed_on(scheme: str) -> str:
    if scheme in {"abfs", "abfss"}:
        return (
            "renamed into place one after the other, which on an account without a hierarchical "
            f"namespace copies them and may leave a part: {_bind(scheme)}"
        )
    return (
        "renamed into place, which this store does by copying one after the other, so that a "
        f"job that breaks off while it commits leaves a part: {_bind(scheme)}"
    )


def _bind(scheme: str) -> str:
    return (
        "start the session with the settings of "
        f"fsspec_commit.spark.committer_conf({scheme + ':'!r}), or with fsspec-commit's jar"
    )


def _of_s3a(session: "Session", found: "Committers", url: str) -> Iterator[str]:
    bucket = url.partition("://")[2].partition("/")[0]
    forms = ("fs.s3a.", f"fs.s3a.bucket.{bucket}.")
    names = [name.replace("fs.s3a.", form, 1) for name in UPLOADS for form in forms]
    named = ((name, session.hadoop_setting(name)) for name in names)
    settings = {name: text for name, text in named if text is not None}
    if OURS in found.names and url.startswith("s3a:"):
        try:
            refuse_lost_uploads(url, settings)
        except RequestError as refused:
            yield f"every write there is refused: {refused}"
        return
    if found.factory != S3A_FACTORY or found.of_factory in RENAMERS:
        return
    name = session.hadoop_setting(S3A_COMMITTER)
    if found.of_factory == UNKNOWN:
        yield f"S3A knows no committer {name!r}, and every write fails: set {S3A_COMMITTER}=magic"
    if found.of_factory == "magic" and not is_magic(url, settings):
        yield f"every write is refused, for the bucket's magic paths are off: set {S3A_MAGIC}=true"


def _of_overwriting(session: "Session", found: "Committers") -> Iterator[str]:
    if (session.setting(OVERWRITE_MODE) or "").lower() != "dynamic":
        return
    happens = what_dynamic_does(found)
    if happens:
        yield f"with {OVERWRITE_MODE}=dynamic {happens}: set {COMMIT_PROTOCOL}={PROTOCOL_CLASS}"


def what_dynamic_does(found: "Committers") -> str | None:
    """What an overwrite of single partitions does instead; ``None`` if it does what it should."""
    if found.protocol != PATH_PROTOCOL:
        return None
    if found.of_factory == "manifest":
        return (
            "an overwrite keeps the old rows of the partitions that it writes beside the new ones, "
            "and says nothing"
        )
    if found.of_factory in RENAMERS:
        return None
    return "every overwrite of a partitioned dataset is refused"


def _of_native_writers(session: "Session", found: "Committers") -> Iterator[str]:
    why = "which fsspec-commit does not see" if OURS in found.names else "by ways of its own"
    for name in _COMET:
        if is_true(session.setting(name)):
            yield f"Comet's native writer writes Parquet, {why}: set {name}=false"
    # From Spark 3.4 on it writes unless it is told not to.
    loaded = "GlutenPlugin" in (session.setting("spark.plugins") or "")
    if is_true(session.setting(_GLUTEN)) or (loaded and session.setting(_GLUTEN) is None):
        yield f"Gluten's native writer writes Parquet, {why}: set {_GLUTEN}=false"


def _of_names(session: "Session", scheme: str) -> Iterator[str]:
    """Settings that a running session was given under a name that only its start reads."""
    names = [ALGORITHM, FACTORY, f"{FACTORY_OF_SCHEME}{scheme}"]
    for name in [*names, *_OF_S3A] if scheme == "s3a" else names:
        late = f"spark.hadoop.{name}"
        if session.was_set_late(late) and session.setting(late) != session.hadoop_setting(name):
            yield (
                f"{late}={session.setting(late)} has no effect, for it was set in a session that "
                f"runs, and such names are read when one starts: set {name}, without spark.hadoop."
            )


def _short(name: str) -> str:
    return name.rpartition(".")[2]
