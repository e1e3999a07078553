"""Sessions whose own writers commit through this library: the jar, and the settings for it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsspec_commit.engines.spark.hadoop_names import COMMIT_PROTOCOL
from fsspec_commit.errors import RequestError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROTOCOL_CLASS = "io.github.fsspec_commit.spark.FsspecCommitProtocol"
"""The value of ``spark.sql.sources.commitProtocolClass``."""

_JAR = Path(__file__).parent / "jvm" / "fsspec-commit-spark.jar"


def jar() -> str:
    """The path of the jar for Spark 3.5 to 4.3, which is in the wheel.

    With it in ``spark.jars``, and ``spark.sql.sources.commitProtocolClass`` set to
    ``io.github.fsspec_commit.spark.FsspecCommitProtocol``, the unchanged jobs of a session commit
    through this library. :func:`configure` sets both for a session of one's own.

    Raises:
        FileNotFoundError: The package was built without it, for want of a JDK.
    """
    if not _JAR.is_file():
        raise FileNotFoundError(
            f"{_JAR} is not there: this package was built without Java; install a JDK of version "
            "17 or later and the package again (pip install --no-deps --force-reinstall …)"
        )
    return str(_JAR)


def configure(builder: "SparkSession.Builder") -> "SparkSession.Builder":
    """Make the session that *builder* will start commit everything through this library.

    What Spark's own writers write is then committed as by :class:`~fsspec_commit.Job`: unchanged
    jobs in Python, SQL and Scala, in every file format. The driver process of the session is run
    by this interpreter.

    Args:
        builder: A builder of a session that is not yet there: a jar cannot be added to a running
            one. Other jars in its ``spark.jars`` stay. If a session is running that commits this
            way already, as when a cell of a notebook is run again, the builder gives that one.

    Returns:
        The builder.

    Raises:
        RequestError: Another session is running in this process, or one has run without the jar,
            which the JVM that it started can no longer load.
        FileNotFoundError: The package was built without the jar.
    """
    from pyspark import SparkContext

    running: Any = SparkContext._active_spark_context  # noqa: SLF001  # the only way to know
    if running is not None and running.getConf().get(COMMIT_PROTOCOL) == PROTOCOL_CLASS:
        return builder
    jvm: Any = SparkContext._jvm  # noqa: SLF001  # it outlives the sessions
    if jvm is not None and not jvm.org.apache.spark.util.Utils.classIsLoadable(PROTOCOL_CLASS):
        message = (
            "the JVM of this process was started without the jar, and takes none now: begin "
            "a new process (restart the kernel of a notebook), with configure() before its first "
            "session"
        )
        raise RequestError(message, kind="invalid_request")
    if running is not None:
        message = (
            "configure() comes before the session, and one is running in this process: call "
            "spark.stop() first"
        )
        raise RequestError(message, kind="invalid_request")
    given = getattr(builder, "_options", {}).get("spark.jars", "")
    jars = [one for one in given.split(",") if one and one != jar()]
    settings = {
        "spark.jars": ",".join([*jars, jar()]),
        COMMIT_PROTOCOL: PROTOCOL_CLASS,
        "spark.fsspec_commit.python": sys.executable,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder
