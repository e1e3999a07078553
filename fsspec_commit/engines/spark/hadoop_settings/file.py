"""``file:``, a disk."""

from fsspec_commit.engines.spark.hadoop_settings.settings import Settings
from fsspec_commit.errors import RequestError

PREFIXES = ("fs.file.impl",)

_DRIVERS = (
    "org.apache.hadoop.fs.LocalFileSystem",
    "org.apache.hadoop.fs.RawLocalFileSystem",
    # Of Hive, whose jars Spark has: the first one, with names that are mapped to themselves.
    "org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem",
    # Of hadoop-bare-naked-local-fs: the first two, without the programs that they start for
    # permissions where Hadoop's native library is missing.
    "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    "com.globalmentor.apache.hadoop.fs.NakedLocalFileSystem",
)


def located(settings: Settings) -> tuple[str, dict[str, object]]:
    """The plain path ``/x`` of ``file:/x`` or ``file:///x``, and no storage options.

    It is a ``file://`` URL instead if it would be misread as a plain path, as one with an ``@`` is.

    Raises:
        RequestError: The path is relative, or on another host.
    """
    settings.refuse_other_driver(*_DRIVERS)
    path = settings.rest.removeprefix("//") if settings.rest.startswith("///") else settings.rest
    if not path.startswith("/") or path.startswith("//"):
        message = f"{settings.path!r} is no path on this machine: Hadoop writes file:/directory"
        raise RequestError(message, kind="invalid_url", path=settings.path)
    # As a plain path this would be taken for a secret, or for a URL.
    reads_otherwise = any(mark in path for mark in ("@", ";", "?", "&", "#", "::"))
    return (f"file://{path}" if reads_otherwise else path), {}
