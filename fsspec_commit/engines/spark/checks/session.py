"""What a session says of its writes: asked of its JVM, or, by Spark Connect, of its settings."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

from fsspec_commit.engines.spark.hadoop_names import (
    COMMIT_PROTOCOL,
    FACTORIES,
    FACTORY,
    FACTORY_OF_SCHEME,
    FILE_FACTORY,
    PARQUET_COMMITTER,
    scheme_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Of Hadoop 3.4 and later; there is none for abfss.
_FACTORIES_BY_DEFAULT: Final = {scheme: FACTORIES[scheme] for scheme in ("abfs", "gs", "s3a")}


class NotLoadableError(Exception):
    """A class that a setting names, or that a scheme needs, is not on the class path."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def is_true(text: str | None) -> bool:
    """Whether a setting of Spark or of Hadoop says true, in upper or lower case."""
    return (text or "").strip().lower() == "true"


class Session(Protocol):
    """What can be asked of a session without a request to any store."""

    @property
    def knows_classes(self) -> bool:
        """Whether it can answer `is_loadable`, and knows the settings files that Hadoop reads."""

    def setting(self, name: str) -> str | None:
        """A setting of Spark; ``None`` where nobody has set it."""

    def hadoop_setting(self, name: str) -> str | None:
        """A setting of Hadoop, as a write of the session finds it."""

    def url(self, destination: str) -> str:
        """*destination* as a URL: one without a scheme is on the session's default file system."""

    def was_set_late(self, name: str) -> bool:
        """Whether Spark's setting was made in the running session."""

    def is_loadable(self, name: str) -> bool:
        """Whether a class is on the driver's class path."""

    def factory(self, url: str, scheme: str) -> str:
        """The class that makes the committer of a path.

        Raises:
            NotLoadableError: It is not there, or the driver of the scheme is not.
        """


class ClassicSession:
    """A session whose JVM is asked through py4j, and answers by its own classes.

    Raises:
        NotLoadableError: The session was started with a class that is not there.
    """

    knows_classes = True

    def __init__(self, spark: "SparkSession") -> None:
        self._spark = spark
        self._jvm: Any = spark._jvm  # noqa: SLF001  # the way to a JVM that all of PySpark takes
        for name in (COMMIT_PROTOCOL, PARQUET_COMMITTER):
            began_with = spark.sparkContext.getConf().get(name)
            # Since Spark 4 such a session has no state: whatever is asked of it fails.
            if began_with and not self.is_loadable(began_with):
                raise NotLoadableError(began_with)
        session = spark._jsparkSession  # noqa: SLF001  # as above
        self._conf = session.sessionState().newHadoopConf()

    def setting(self, name: str) -> str | None:
        """A setting of Spark; ``None`` where nobody has set it."""
        return _setting(self._spark, name)

    def hadoop_setting(self, name: str) -> str | None:
        """A setting of Hadoop, its files of settings and its defaults included."""
        value = self._conf.getTrimmed(name)
        return None if value is None else str(value)

    def hadoop_settings(self, prefix: str) -> Iterator[tuple[str, str]]:
        """All settings of Hadoop whose names begin with *prefix*; values may be secrets."""
        for rest in dict(self._conf.getPropsWithPrefix(prefix)):
            # Asked for by name: older releases of Hadoop do not expand ${…} in a listing.
            yield f"{prefix}{rest}", str(self._conf.get(f"{prefix}{rest}"))

    def secret(self, name: str) -> str | None:
        """What a credential provider keeps under a name, or the setting itself."""
        characters = self._conf.getPassword(name)
        return None if characters is None else "".join(characters)

    def qualified(self, url: str) -> Any:
        """Hadoop's path of *url*, with the default scheme and authority where none is given.

        Nothing is asked of the store.
        """
        filesystem = self._jvm.org.apache.hadoop.fs
        path, root = filesystem.Path(url), filesystem.Path("/")
        return path.makeQualified(filesystem.FileSystem.getDefaultUri(self._conf), root)

    def facts(self, path: Any) -> Iterator[tuple[str, str]]:
        """What our jar says of Hadoop's driver of a path, and the user that Hadoop acts for."""
        hadoop, ours = self._jvm.org.apache.hadoop, self._jvm.io.github.fsspec_commit.spark
        driver = hadoop.fs.FileSystem.getFileSystemClass(path.toUri().getScheme(), self._conf)
        yield from dict(ours.DriverClass.factsOf(driver)).items()
        user = hadoop.security.UserGroupInformation.getCurrentUser().getShortUserName()
        yield "spark.fsspec_commit.user", str(user)

    def url(self, destination: str) -> str:
        """*destination*, with the scheme that Hadoop takes where none is given."""
        return str(self.qualified(destination).toString())

    def was_set_late(self, name: str) -> bool:
        """Whether the setting is another than the session's application began with."""
        began = self._spark.sparkContext.getConf().get(name)
        return self.setting(name) not in {None, began}

    def is_loadable(self, name: str) -> bool:
        """Whether Spark finds a class."""
        return bool(self._jvm.org.apache.spark.util.Utils.classIsLoadable(name))

    def factory(self, url: str, scheme: str) -> str:
        """The factory that Hadoop itself takes.

        Raises:
            NotLoadableError: It is not there, or the driver of the scheme is not.
        """
        from py4j.protocol import Py4JJavaError

        settings = (f"fs.{scheme}.impl", FACTORY, f"{FACTORY_OF_SCHEME}{scheme}")
        for named in filter(None, map(self.hadoop_setting, settings)):
            # Hadoop itself would not say which class is missing.
            if not self.is_loadable(named):
                raise NotLoadableError(named)
        try:
            self._jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, self._conf)
        except Py4JJavaError:
            raise NotLoadableError(f"a file system for {scheme}:") from None
        path = self._jvm.org.apache.hadoop.fs.Path(url)
        factories = self._jvm.org.apache.hadoop.mapreduce.lib.output.PathOutputCommitterFactory
        return str(factories.getCommitterFactory(path, self._conf).getClass().getName())


class ConnectSession:
    """A session that has no JVM here: its settings alone say what is known."""

    knows_classes = False

    def __init__(self, spark: "SparkSession") -> None:
        self._spark = spark

    def setting(self, name: str) -> str | None:
        """A setting of Spark; ``None`` where nobody has set it."""
        return _setting(self._spark, name)

    def hadoop_setting(self, name: str) -> str | None:
        """A setting of Hadoop; what is set in a running session overrides what it began with."""
        return self.setting(name) or self.setting(f"spark.hadoop.{name}")

    def url(self, destination: str) -> str:
        """*destination*; if it has no scheme, below ``fs.defaultFS``, or ``file://`` by default."""
        default = self.hadoop_setting("fs.defaultFS") or "file://"
        below = destination.lstrip("/")
        return destination if scheme_of(destination) else f"{default.rstrip('/')}/{below}"

    def was_set_late(self, name: str) -> bool:  # noqa: ARG002  # only a JVM could tell
        """Always false, since it cannot be known."""
        return False

    def is_loadable(self, name: str) -> bool:
        """Refused: it cannot be known."""
        raise NotImplementedError(f"Spark Connect does not say whether {name} is there")

    def factory(self, url: str, scheme: str) -> str:  # noqa: ARG002  # the JVM wants the URL
        """The factory that Hadoop 3.4 and later take by these settings."""
        return (
            self.hadoop_setting(FACTORY)
            or self.hadoop_setting(f"{FACTORY_OF_SCHEME}{scheme}")
            or _FACTORIES_BY_DEFAULT.get(scheme, FILE_FACTORY)
        )


def session_of(spark: "SparkSession") -> Session:
    """*spark*, to be asked through its JVM if it has one here.

    Raises:
        NotLoadableError: The session was started with a class that is not there.
    """
    # By Spark Connect the attribute raises an AttributeError of PySpark's.
    return ClassicSession(spark) if hasattr(spark, "_jsparkSession") else ConnectSession(spark)


def _setting(spark: "SparkSession", name: str) -> str | None:
    value = spark.conf.get(name, None)
    return None if value is None else str(value)
