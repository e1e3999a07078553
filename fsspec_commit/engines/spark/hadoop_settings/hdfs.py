"""``hdfs:`` and ``webhdfs:``, as Hadoop's clients read their settings."""

import re
from collections.abc import Iterator

from fsspec_commit.engines.spark.hadoop_settings.settings import Settings
from fsspec_commit.errors import RequestError

_UMASK = "fs.permissions.umask-mode"
_AUTHENTICATION = "hadoop.security.authentication"
_KEYTAB, _PRINCIPAL = "spark.kerberos.keytab", "spark.kerberos.principal"
_OAUTH2 = "dfs.webhdfs.oauth2.enabled"
_USER = "spark.fsspec_commit.user"
_NAME_NODES = "dfs.ha.namenodes"
_ADDRESS = "dfs.namenode.rpc-address"

# What hdfs-native looks up by name, about the cluster and how to speak to it.
_OF_THE_CLUSTER = (
    *("dfs.client.failover.", "dfs.client.use.datanode.hostname", "dfs.data.transfer."),
    *("dfs.encrypt.data.transfer", "dfs.ha.namenodes.", "dfs.internal.nameservices"),
    *("dfs.namenode.kerberos.principal", "dfs.namenode.rpc-address", "dfs.nameservices"),
    *("hadoop.rpc.protection", _AUTHENTICATION),
)
PREFIXES = (
    *_OF_THE_CLUSTER,
    *("fs.hdfs.impl", "fs.webhdfs.impl", "fs.swebhdfs.impl"),
    *(_OAUTH2, _UMASK, "spark.kerberos."),
)

_DRIVER = "org.apache.hadoop.hdfs.DistributedFileSystem"
_WEB_DRIVERS = {
    "swebhdfs": "org.apache.hadoop.hdfs.web.SWebHdfsFileSystem",
    "webhdfs": "org.apache.hadoop.hdfs.web.WebHdfsFileSystem",
}
_PLACE = re.compile(r"//([^/@:]+)(:\d+)?(/.*)?", re.DOTALL)
_PORT = 8020
_OCTAL = re.compile(r"[0-7]{1,4}")
_SYMBOLIC = re.compile(r"([ugo])=([rwx]*)")
_BITS = {"r": 4, "w": 2, "x": 1}
_SHIFTS = {"u": 6, "g": 3, "o": 0}


def located(settings: Settings) -> tuple[str, dict[str, object]]:
    """The URL, still ``hdfs:``, and the storage options, which say where a nameservice is.

    Raises:
        RequestError: The path names no cluster, or a setting has no counterpart here.
    """
    settings.refuse_other_driver(_DRIVER)
    host, port, path = _place(settings)
    if not port and not settings.text(f"{_NAME_NODES}.{host}"):
        # A single NameNode, by its own name or by that of a nameservice.
        address = settings.text(f"{_ADDRESS}.{host}") or f"{host}:{_PORT}"
        host, _, number = address.partition(":")
        port = f":{number or _PORT}"
    options: dict[str, object] = dict(_cluster(settings))
    if umask := settings.text(_UMASK):
        options[_UMASK] = _octal(settings, umask)
    keytab, principal = settings.text(_KEYTAB), settings.text(_PRINCIPAL)
    if _is_kerberos(settings):
        if keytab and principal:
            options |= {"kerberos_keytab": keytab, "kerberos_principal": principal}
    elif user := settings.text(_USER):
        options["user"] = user
    return f"hdfs://{host}{port}{path}", options


def located_by_http(settings: Settings) -> tuple[str, dict[str, object]]:
    """The URL, ``webhdfs:``, and the storage options, with TLS if Hadoop says ``swebhdfs:``.

    Raises:
        RequestError: The path names no NameNode, or a setting has no counterpart here.
    """
    settings.refuse_other_driver(_WEB_DRIVERS[settings.scheme])
    if settings.flag(_OAUTH2, default=False):
        raise settings.refused(_OAUTH2, "is true: of OAuth nothing is known here")
    host, port, path = _place(settings)
    if not port and settings.text(f"{_NAME_NODES}.{host}"):
        why = f"has more than one NameNode, which {settings.scheme}: is not served with here: write"
        raise settings.refused(f"{_NAME_NODES}.{host}", f"{why} to hdfs://{host}/")
    options: dict[str, object] = {}
    if umask := settings.text(_UMASK):
        options[_UMASK] = _octal(settings, umask)
    if settings.scheme == "swebhdfs":
        options["use_https"] = True
        port = port or ":9871"
    if _is_kerberos(settings):
        options["kerberos"] = True
    elif user := settings.text(_USER):
        options["user"] = user
    return f"webhdfs://{host}{port}{path}", options


def _place(settings: Settings) -> tuple[str, str, str]:
    """Host, port with its colon, and path."""
    match = _PLACE.fullmatch(settings.rest)
    if match is None:
        message = f"{settings.path!r} names no NameNode or nameservice: qualify it by fs.defaultFS"
        raise RequestError(message, kind="invalid_url", path=settings.path)
    return match[1], match[2] or "", match[3] or ""


def _cluster(settings: Settings) -> Iterator[tuple[str, str]]:
    for name in sorted(settings.values):
        if name.startswith(_OF_THE_CLUSTER) and settings.text(name):
            yield name, settings.text(name)


def _is_kerberos(settings: Settings) -> bool:
    return settings.text(_AUTHENTICATION).lower() == "kerberos"


def _octal(settings: Settings, umask: str) -> str:
    """A umask as a number; Hadoop also takes what it leaves allowed, as in ``u=rwx,g=rx,o=``."""
    if _OCTAL.fullmatch(umask):
        return umask
    masked = 0o777
    for part in umask.split(","):
        match = _SYMBOLIC.fullmatch(part.strip())
        if match is None:
            raise settings.refused(_UMASK, "is neither octal, as 022, nor like u=rwx,g=rx,o=rx")
        masked &= ~(sum(_BITS[bit] for bit in set(match[2])) << _SHIFTS[match[1]])
    return f"{masked:03o}"
