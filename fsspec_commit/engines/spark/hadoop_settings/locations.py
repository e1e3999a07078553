"""Which family a Hadoop path belongs to, and what the JVM must send for it."""

import os
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from fsspec_commit.engines.spark.hadoop_settings import abfs, file, gs, hdfs, s3a
from fsspec_commit.engines.spark.hadoop_settings.settings import (
    CREDENTIALS,
    DATABRICKS,
    Settings,
)
from fsspec_commit.errors import RequestError, UnknownProtocolError
from fsspec_commit.store.destination_text import refuse_secrets

_Mapper: TypeAlias = Callable[[Settings], tuple[str, dict[str, object]]]

PREFIXES: Mapping[str, tuple[str, ...]] = {
    "abfs": abfs.PREFIXES,
    "abfss": abfs.PREFIXES,
    "file": file.PREFIXES,
    "gs": gs.PREFIXES,
    "hdfs": hdfs.PREFIXES,
    "s3a": s3a.PREFIXES,
    "swebhdfs": hdfs.PREFIXES,
    "webhdfs": hdfs.PREFIXES,
}
"""By scheme: the beginnings of the names of those settings that `location_of` wants to see."""

PROPERTIES: Mapping[str, tuple[str, ...]] = {"s3a": s3a.PROPERTIES}
"""By scheme: the beginnings of the names of JVM properties that `location_of` wants to see."""

SECRETS: tuple[str, ...] = (*s3a.SECRETS, *abfs.SECRETS, *gs.SECRETS)
"""The settings that Hadoop asks its credential providers for (``Configuration.getPassword``).

They may be in a keystore and in no listing of the configuration, so that the JVM must ask for each
of those whose prefix is that of the scheme. In a name, ``{bucket}`` stands for the host of an
``s3a:`` path, and ``{container}`` and ``{account}`` for what is before and after the ``@`` of an
``abfs:`` path.
"""

_MAPPERS: Mapping[str, _Mapper] = {
    "abfs": abfs.located,
    "abfss": abfs.located,
    "file": file.located,
    "gs": gs.located,
    "hdfs": hdfs.located,
    "s3a": s3a.located,
    "swebhdfs": hdfs.located_by_http,
    "webhdfs": hdfs.located_by_http,
}

_INSTEAD = {
    "dbfs": "write to the bucket or container itself, by s3a:, abfss: or gs:",
    "s3": "write s3a:, which is Hadoop's own driver; what serves s3: is another's",
    "s3n": "write s3a:, which has replaced it",
    "viewfs": "write to what is mounted there, by its own hdfs: URL",
    "wasb": "write abfs:, which has replaced it",
    "wasbs": "write abfss:, which has replaced it",
}
_DATABRICKS = "DATABRICKS_RUNTIME_VERSION"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)


def location_of(path: str, settings: Mapping[str, str]) -> tuple[str, dict[str, object]]:
    """The URL and the storage options of this library for a place that Hadoop writes to.

    Nothing is asked of the place. Of the environment, only what Hadoop's drivers or fsspec's would
    go by is looked at.

    Args:
        path: A qualified Hadoop path, as ``Path.toString()`` writes it: nothing in it is
            percent-encoded, and nothing is decoded here.
        settings: Hadoop's settings by their full names, at least those of `PREFIXES` for the
            scheme, with what `SECRETS` names resolved. Beside them
            ``spark.fsspec_commit.credentials``: ``hadoop`` for those of the settings, or
            ``ambient`` to leave them alone and take those of the environment; and what the JVM
            alone knows: ``spark.fsspec_commit.user``, whom Hadoop acts for on HDFS;
            ``spark.fsspec_commit.driver``, the class that serves the path and those it extends;
            ``spark.fsspec_commit.magic``, whether S3A leaves what a job's tasks write to others.

    Returns:
        A URL that `Job` takes, and its ``storage_options=``, which may hold secrets. On a local
        disk the URL is a plain path.

    Raises:
        UnknownProtocolError: The scheme is not served; the message says what to do.
        RequestError: A setting has no counterpart here (``unmapped_setting``), or the path names
            no place.
    """
    match = _SCHEME.fullmatch(path)
    if match is None:
        message = f"{path!r} is no qualified path: Hadoop's begin with a scheme, such as file:/"
        raise RequestError(message, kind="invalid_url", path=path)
    scheme = match[1].lower()
    located = _MAPPERS.get(scheme)
    if located is None:
        known = ", ".join(f"{name}:" for name in sorted(_MAPPERS))
        instead = _INSTEAD.get(scheme, f"write to one of {known}")
        raise UnknownProtocolError(f"cannot commit what Hadoop writes to {scheme}: — {instead}")
    if scheme != "file":
        refuse_secrets(path)
    view = Settings(path, scheme, settings)
    if view.text(CREDENTIALS) not in {"", "ambient", "hadoop"}:
        raise view.refused(CREDENTIALS, "takes 'hadoop' or 'ambient'")
    if os.environ.get(_DATABRICKS):
        raise view.refused(_DATABRICKS, f"says that this is Databricks, which has {DATABRICKS}")
    return located(view)
