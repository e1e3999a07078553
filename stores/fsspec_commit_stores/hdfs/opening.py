"""What a URL and the user's options mean: a cluster, a directory on it, and a client."""

import getpass
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict
from urllib.parse import urlsplit

from fsspec_commit.errors import RequestError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import AtomicRename, Capabilities, OpenOptions
from fsspec_commit_stores.hdfs.permissions import UMASK, UMASK_DEFAULT, Permissions
from fsspec_commit_stores.hdfs.requests import Requests
from fsspec_commit_stores.http.places import invalid_option, refused_url

_URL = re.compile(r"(hdfs|webhdfs)://([^/]*)(.*)", re.IGNORECASE | re.DOTALL)
_TIMEOUT = "dfs.client.socket-timeout"
_TIMEOUT_MS = "60000"
_THREADS = 16
_WEB_PORT = 9870
# An observer NameNode shows other clients' writes late, and claims are found by listing.
_FAILOVER = "dfs.client.failover.proxy.provider"
_ACTIVE_ONLY = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"

# What fsspec takes for every file system, and what means nothing to a client that is not one.
_FSSPEC = (
    *("asynchronous", "auto_mkdir", "listings_expiry_time", "loop", "max_paths"),
    *("skip_instance_cache", "use_listings_cache"),
)

CAPABILITIES = Capabilities(
    atomic_rename=AtomicRename.DIRECTORY,
    exclusive_rename=True,
    consistent_listing=True,
    paged_listing=False,
    multipart=False,
    exclusive_create=True,
    replace_if_match=False,
    delete_if_match=False,
    whole_object_publish=True,
    token_survives_rename=True,
    # A time in milliseconds and a length: another file can have both.
    unique_tokens=False,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A destination.

    Attributes:
        protocol: ``"hdfs"`` or ``"webhdfs"``: which client.
        host: NameNode or nameservice; empty: what ``fs.defaultFS`` says.
        port: Of the NameNode; ``None`` for a nameservice, or the default.
        user: Of the URL.
        root: The directory.
    """

    protocol: str
    host: str
    port: int | None
    user: str | None
    root: StorePath


def place_of(url: str) -> Place:
    """The destination of an ``hdfs://`` or ``webhdfs://`` URL; nothing is decoded.

    Raises:
        RequestError: It names no directory, or not the same one to every client.
    """
    match = _URL.fullmatch(url)
    if match is None:
        raise refused_url(url, "it is not hdfs://host:port/directory")
    server = urlsplit(f"//{match[2]}")
    if server.password is not None:
        # Not shown again.
        message = "cannot open a URL with a password in it; use the option password="
        raise RequestError(message, kind="invalid_url")
    path = match[3].rstrip("/")
    if not path:
        raise refused_url(url, "it names no directory below the root of the file system")
    names = path[1:].split("/")
    if any(name in {"", ".", ".."} for name in names):
        raise refused_url(url, "empty, '.' and '..' components name nothing here")
    if names[0] == ".reserved" or ".snapshot" in names:
        raise refused_url(url, "'.reserved' and '.snapshot' are HDFS's own")
    if "?" in path or "#" in path or "\0" in path:
        raise refused_url(url, "other clients cut it off at '?' or '#'")
    try:
        port = server.port
    except ValueError:
        raise refused_url(url, "the port is no number") from None
    return Place(match[1].lower(), server.hostname or "", port, server.username, StorePath(path))


def requests_of(url: str, place: Place, options: OpenOptions) -> Requests:
    """The client for *place* with the user's options.

    Raises:
        RequestError: An option makes no sense for this client; the message names the remedy.
        ImportError: The client is not installed.
    """
    given = _Options(url, dict(options.storage_options))
    host = given.text("host") or place.host
    port = given.number("port") or place.port
    user = given.text("user") or place.user
    limits = _Limits(
        timeout_s=int(given.text(_TIMEOUT) or _TIMEOUT_MS) / 1000,
        threads=options.concurrency or _THREADS,
    )
    open_client = _native if place.protocol == "hdfs" else _web
    return open_client(given, host, port, user, limits)


def _native(
    given: "_Options", host: str, port: int | None, user: str | None, limits: "_Limits"
) -> Requests:
    try:
        from fsspec_commit_stores.hdfs.clients import client_of
    except ModuleNotFoundError as error:
        message = (
            f"hdfs:// is served through hdfs-native ({error}): pip install 'fsspec-commit[hdfs]', "
            "or use webhdfs://, which needs requests only"
        )
        raise ImportError(message) from error
    from fsspec_commit_stores.hdfs.native import NativeRequests

    if user is not None and user != _native_user():
        raise given.invalid(
            "user=: hdfs-native takes the user from the environment; set HADOOP_USER_NAME before "
            "the program starts, or use webhdfs://"
        )
    kerberos = {
        "kerberos_principal": given.text("kerberos_principal"),
        "kerberos_keytab": given.text("kerberos_keytab"),
        # pyarrow's name for the same.
        "kerberos_cache": given.text("kerberos_cache") or given.text("kerb_ticket"),
    }
    how_to_write = {
        "replication": given.number("replication"),
        "block_size": given.number("default_block_size"),
    }
    # A buffer of libhdfs, which is not here.
    given.drop("buffer_size", *_FSSPEC)
    config_directory = given.text("config_dir")
    config = {**given.mapping("extra_conf"), **given.mapping("config"), **given.properties()}
    if host and port is None:
        config[f"{_FAILOVER}.{host}"] = _ACTIVE_ONLY
    permissions = given.permissions(config.get(UMASK))
    server = (f"hdfs://{host}:{port}" if port else f"hdfs://{host}") if host else None
    given.check_used("hdfs-native")
    try:
        given_kerberos = {name: value for name, value in kerberos.items() if value is not None}
        client = client_of(server, config, config_directory, given_kerberos)
    except (RuntimeError, OSError, TypeError) as error:
        raise given.invalid(_why_not_opened(host, error)) from None
    return NativeRequests(
        client,
        server or "hdfs://",
        **limits,
        how_to_write=how_to_write,
        address=(host, port) if host and port else None,
        permissions=permissions,
    )


def _web(
    given: "_Options", host: str, port: int | None, user: str | None, limits: "_Limits"
) -> Requests:
    try:
        from fsspec.implementations.webhdfs import WebHDFS
        from requests.adapters import HTTPAdapter

        from fsspec_commit_stores.hdfs.web import WebRequests
    except ModuleNotFoundError as error:
        message = f"webhdfs:// is served through requests ({error}): pip install requests"
        raise ImportError(message) from error

    if not host:
        raise given.invalid("the URL names no host: webhdfs://namenode:9870/directory")
    permissions = given.permissions(given.text(UMASK))
    try:
        filesystem = WebHDFS(
            host=host,
            port=port or _WEB_PORT,
            user=user,
            skip_instance_cache=True,
            use_listings_cache=False,
            **given.rest(),
        )
    except (TypeError, ValueError, ImportError) as error:
        raise given.invalid(str(error)) from None
    for scheme in ("http://", "https://"):
        pool = limits["threads"]
        adapter = HTTPAdapter(pool_connections=pool, pool_maxsize=pool, max_retries=0)
        filesystem.session.mount(scheme, adapter)
    return WebRequests(filesystem, **limits, permissions=permissions)


def _native_user() -> str:
    return os.environ.get("HADOOP_USER_NAME") or getpass.getuser()


def _why_not_opened(host: str, error: Exception) -> str:
    if "No NameNode hosts found" in str(error):
        return (
            f"nobody says where the nameservice {host!r} is: set HADOOP_CONF_DIR, give config_dir= "
            "or dfs.ha.namenodes.*, or name a NameNode with its port"
        )
    return f"hdfs-native does not accept it ({type(error).__name__}); check host and options"


class _Limits(TypedDict):
    """How long an answer is waited for, and how many requests are made at a time."""

    timeout_s: float
    threads: int


@dataclass(slots=True)
class _Options:
    """The user's options, each taken once."""

    url: str
    left: dict[str, object] = field(repr=False)

    def text(self, name: str) -> str | None:
        value = self.left.pop(name, None)
        if value is None or isinstance(value, str):
            return value or None
        if isinstance(value, int | os.PathLike) and not isinstance(value, bool):
            return str(value)
        raise self.invalid(f"{name}= takes a text")

    def number(self, name: str) -> int | None:
        value = self.left.pop(name, None)
        try:
            return int(str(value)) if value else None
        except ValueError:
            raise self.invalid(f"{name}= takes a number") from None

    def drop(self, *names: str) -> None:
        for name in names:
            self.left.pop(name, None)

    def mapping(self, name: str) -> dict[str, str]:
        value = self.left.pop(name, None) or {}
        if not isinstance(value, Mapping):
            raise self.invalid(f"{name}= takes a mapping")
        return {str(key): str(held) for key, held in value.items()}

    def properties(self) -> dict[str, str]:
        """Hadoop's own properties, given as options: they have a dot in their names."""
        names = [name for name in self.left if "." in name]
        return {name: str(self.left.pop(name)) for name in names}

    def permissions(self, umask: str | None) -> Permissions:
        """The permissions under the umask that the user names, or under Hadoop's."""
        try:
            return Permissions.under(umask or UMASK_DEFAULT)
        except ValueError as error:
            raise self.invalid(str(error)) from None

    def rest(self) -> dict[str, Any]:
        """All that was not taken."""
        left, self.left = self.left, {}
        return left

    def check_used(self, client: str) -> None:
        """Refuse what nobody has taken."""
        if self.left:
            names = ", ".join(sorted(f"{name}=" for name in self.left))
            raise self.invalid(f"{names}: {client} does not know it")

    def invalid(self, why: str) -> RequestError:
        return invalid_option(self.url, why)
