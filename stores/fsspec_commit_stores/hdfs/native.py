"""`hdfs://`: hdfs-native's client, which needs no Java, in threads of ours.

The client sends a request again by itself when a connection that was kept turns out to be dead, and
to the other NameNode of a nameservice; the NameNode's retry cache is keyed by call, so a rename
that is sent again comes back as a refusal, which is looked at like any other.
"""

import re
import socket
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from hdfs_native import Client, WriteOptions

from fsspec_commit.errors import Reply
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.hdfs.failures import (
    EXISTS,
    MISSING,
    ClusterContact,
    RequestDescription,
    RequestFailedError,
    Told,
    store_error,
)
from fsspec_commit_stores.hdfs.permissions import USUAL, Permissions
from fsspec_commit_stores.hdfs.requests import Status
from fsspec_commit_stores.hdfs.threads import NotBegunError, Threads
from fsspec_commit_stores.http.requests import unless_missing

T = TypeVar("T")

# Rust's, when the client has a bug: it is not an `Exception`, and cannot be imported.
_PANIC = "PanicException"
_LISTED_AT_ONCE = 1000
_KNOCK_S = 10.0
_REMOTE = re.compile(r'(?:Fatal)?RPCError\("([^"]*)", "(.*)"\)', re.DOTALL)
# The name of one of its errors; no other word of its texts is passed on.
_OWN = re.compile(r"([A-Z][A-Za-z]*)(?:\(|$)")
# Found out by the client itself, before anything was asked or from a plain "no".
_CERTAIN = {
    "GSSAPIError": "AuthenticationException",
    "InvalidArgument": "IllegalArgumentException",
    "InvalidPath": "InvalidPathException",
    "NoSASLMechanism": "AuthenticationException",
    "SASLError": "AuthenticationException",
}
_BY_TYPE: dict[type[Exception], str] = {
    FileNotFoundError: MISSING,
    FileExistsError: EXISTS,
    IsADirectoryError: "PathIsDirectoryException",
    NotImplementedError: "UnsupportedOperationException",
}
_NEVER_SENT = re.compile(
    r"connection refused|no route to host|lookup address|unreachable", re.IGNORECASE
)
# A system call of the client's own failed: nobody on the cluster has said anything.
_OF_THE_SYSTEM = re.compile(r"\(os error \d+\)")


class NativeRequests:
    """The requests of one opened store; one loop's own."""

    creates_at_once = True
    lists_at_once = False

    def __init__(
        self,
        client: Client,
        server: str,
        *,
        timeout_s: float,
        threads: int,
        how_to_write: dict[str, Any],
        address: tuple[str, int] | None = None,
        permissions: Permissions = USUAL,
    ) -> None:
        """Send through *client*.

        Args:
            client: hdfs-native's.
            server: Of the cluster, for messages.
            timeout_s: How long an answer is waited for.
            threads: How many calls are made at a time.
            how_to_write: Replication and block size, where the user says them.
            address: Of the only NameNode there is; ``None`` for a nameservice.
            permissions: Of what is made; this client can ask only for those under the umask.
        """
        self.server = server
        self._client = client
        self._timeout_s = timeout_s
        self._how_to_write = {"permission": permissions.file, **how_to_write}
        self._of_directories = permissions.directory
        self._contact = ClusterContact(server)
        self._threads = Threads(threads, "hdfs")
        self._address = address
        self._is_doubtful = True

    async def status(self, path: StorePath) -> Status | None:
        """What stands at *path*."""
        found = await unless_missing(
            self._call("look at", path, lambda: self._client.get_file_info(path))
        )
        return None if found is None else _status(found)

    def children(self, path: StorePath) -> "NativePages":
        """What stands directly in *path*."""
        return NativePages(self, path)

    async def read(self, path: StorePath, start: int, length: int) -> bytes:
        """At most *length* bytes from *start*."""

        def read() -> bytes:
            reader = self._client.read(path)
            # The client panics when it is asked for what is past the end.
            there = max(0, min(length, len(reader) - start))
            return bytes(reader.read_range(start, there)) if there else b""

        return await self._call("read", path, read)

    async def create(self, path: StorePath) -> "NativeFile":
        """Create the file *path* exclusively, in a directory that must be there."""
        options = WriteOptions(overwrite=False, create_parent=False, **self._how_to_write)
        # By the inner client: the class around its writer closes, and so completes, a dropped file.
        writer = await self._call("create", path, lambda: self._client.inner.create(path, options))
        return NativeFile(self, writer, path)

    async def make_directory(self, path: StorePath) -> None:
        """Make one directory in one that must be there."""
        await self._call(
            "make the directory", path, lambda: self._client.mkdirs(path, self._of_directories)
        )

    async def make_directories(self, path: StorePath) -> None:
        """Make a directory and all above it; it may be there already."""
        await self._call(
            "make the directory",
            path,
            lambda: self._client.mkdirs(path, self._of_directories, create_parent=True),
        )

    async def rename(self, source: StorePath, target: StorePath, *, replacing: bool) -> None:
        """Rename by `rename2`, which never moves into a directory."""
        await self._call(
            f"rename {source!r} to", target, lambda: self._client.rename(source, target, replacing)
        )

    async def delete(self, path: StorePath, *, recursive: bool) -> None:
        """Delete; a missing path is no error."""
        await self._call("delete", path, lambda: self._client.delete(path, recursive))

    async def close(self) -> None:
        """Do nothing: the client is kept for the next store (`clients`)."""

    async def _call(self, verb: str, path: StorePath, request: Callable[[], T]) -> T:
        asked = self._contact.begin(verb, path)
        try:
            if self._is_doubtful:
                await self._knock(asked)
            answer = await self._threads.run(
                lambda: _without_panic(request), timeout_s=self._timeout_s
            )
        except RequestFailedError:
            raise
        except NotBegunError:
            failure = self._contact.refused(asked, "busy")
        except Exception as error:  # noqa: BLE001  # there is no list of what the client may raise
            failure = self._failed(asked, error)
        else:
            self._contact.has_answered = True
            self._is_doubtful = False
            return answer
        # Outside, so that the client's exception, with its text, is not its context.
        raise failure

    async def _knock(self, asked: RequestDescription) -> None:
        """Check that somebody takes connections: the client itself would go on trying for minutes.

        Raises:
            RequestFailedError: Nobody takes a connection; nothing was sent.
        """
        if self._address is None:
            return
        address, wait_s = self._address, min(self._timeout_s, _KNOCK_S)
        try:
            await self._threads.run(
                lambda: socket.create_connection(address, timeout=wait_s).close(),
                timeout_s=self._timeout_s,
            )
        except OSError as error:
            failure = self._contact.refused(asked, type(error).__name__)
        else:
            return
        raise failure

    def _failed(self, asked: RequestDescription, error: Exception) -> RequestFailedError:
        if type(error) is TimeoutError:
            self._is_doubtful = True
            return self._contact.timed_out(asked)
        told = _told_by(error)
        if told is not None:
            answered = self._contact.answered(asked, told)
            if self._address is None and answered.failure.reply is Reply.NOT_DONE:
                # Another NameNode may have done it before, on a connection that broke.
                answered.failure.reply = Reply.UNKNOWN
            return answered
        never_sent = isinstance(error, OSError) and _NEVER_SENT.search(str(error)) is not None
        if never_sent and not self._contact.has_answered:
            # Later it can be the second try that was not sent, and the first one that was.
            return self._contact.refused(asked, type(error).__name__)
        self._is_doubtful = True
        name = _OWN.match(str(error)) if isinstance(error, RuntimeError) else None
        return self._contact.broke(asked, name.group(1) if name else type(error).__name__)


class NativePages:
    """The names in a directory; the client pages by itself, and begins only at the front."""

    is_whole = False

    def __init__(self, requests: NativeRequests, path: StorePath) -> None:
        self._requests = requests
        self._path = path
        self._listing: Iterator[Any] | None = None
        self._last: str | None = None

    async def following(self) -> Sequence[tuple[str, Status]]:
        """Names that were not given yet; a listing that broke off begins again after the last.

        Raises:
            RequestFailedError: Also when it broke off and its last name has gone since.
        """
        try:
            found = await self._requests._call("list", self._path, self._page)  # noqa: SLF001  # its own
        except RequestFailedError as error:
            self._listing = None
            if error.is_missing:
                return ()
            raise
        if found:
            self._last = found[-1].path
        return [(child.path.rpartition("/")[2], _status(child)) for child in found]

    def _page(self) -> list[Any]:
        if self._listing is None:
            self._listing = self._begin()
        return list(islice(self._listing, _LISTED_AT_ONCE))

    def _begin(self) -> Iterator[Any]:
        listed: Iterator[Any] = self._requests._client.list_status(self._path)  # noqa: SLF001  # its own
        # A file is listed as itself.
        listing = (child for child in listed if child.path != self._path)
        if self._last is not None and not any(child.path == self._last for child in listing):
            asked = RequestDescription("list", self._path, self._requests.server)
            why = "it changes while it is listed, and the listing broke off"
            raise RequestFailedError(store_error(asked, why, Reply.NOT_DONE))
        return listing


class NativeFile:
    """A file being written; the client sends blocks to DataNodes meanwhile."""

    def __init__(self, requests: NativeRequests, writer: Any, path: StorePath) -> None:
        self._requests = requests
        self._writer = writer
        self._path = path

    async def write(self, data: bytes) -> None:
        """Append *data*."""
        await self._requests._call("write", self._path, lambda: self._writer.write(data))  # noqa: SLF001  # its own

    async def close(self) -> None:
        """Have all of it acknowledged."""
        await self._requests._call("write", self._path, self._writer.close)  # noqa: SLF001  # its own

    async def drop(self) -> None:
        """Let go of the writer, which then sends nothing more; its lease runs out."""
        self._writer = None


def _without_panic(request: Callable[[], T]) -> T:
    """What *request* returns; a panic as an error among others.

    Raises:
        RuntimeError: The client has panicked.
    """
    try:
        return request()
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
    raise RuntimeError(_PANIC)


def _status(found: Any) -> Status:
    return Status(found.isdir, found.length, found.modification_time)


def _told_by(error: Exception) -> Told | None:
    """What a server answered, by what the client makes of it; ``None`` when none did."""
    text = str(error)
    if isinstance(error, OSError) and _OF_THE_SYSTEM.search(text):
        return None
    for kind, name in _BY_TYPE.items():
        if isinstance(error, kind):
            return Told.of(name, text)
    if not isinstance(error, RuntimeError):
        return None
    remote = _REMOTE.fullmatch(text)
    if remote is not None:
        return Told.of(remote[1], remote[2].replace("\\n", "\n"))
    own = _OWN.match(text)
    certain = _CERTAIN.get(own[1]) if own is not None else None
    return None if certain is None else Told.of(certain, text)
