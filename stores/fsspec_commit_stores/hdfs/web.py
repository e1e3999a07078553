"""`webhdfs://`: the REST API of the NameNode, over the session of the user's own fsspec WebHDFS.

The session carries the credentials; the requests are ours, because fsspec's verbs lose what the
server says: its `mv` takes a "no" for a "yes", its writes always overwrite. The session is a
synchronous one, so every request is a call in a thread, with a timeout, sent once.

https://hadoop.apache.org/docs/r3.5.0/hadoop-project-dist/hadoop-hdfs/WebHDFS.html
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import requests

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
from fsspec_commit_stores.hdfs.threads import Threads
from fsspec_commit_stores.hdfs.upload import Upload
from fsspec_commit_stores.hdfs.web_answers import (
    Listed,
    ListedInPart,
    Looked,
    Said,
    check_created,
    check_empty,
    data_node_of,
    data_of,
    said_in,
    value_of,
)
from fsspec_commit_stores.hdfs.web_session import NotSentError, WebSession
from fsspec_commit_stores.http.requests import unless_missing

T = TypeVar("T")

_DATA_NODES_MAX = 3
_OCTETS = {"content-type": "application/octet-stream"}


class WebRequests:
    """The requests of one opened store."""

    creates_at_once = False
    lists_at_once = True

    def __init__(
        self,
        filesystem: Any,
        *,
        timeout_s: float,
        threads: int,
        permissions: Permissions = USUAL,
    ) -> None:
        """Send through *filesystem*, a private one of fsspec's."""
        self.server = "{0.scheme}://{0.netloc}".format(urlsplit(filesystem.url))
        self._threads = Threads(threads, "webhdfs")
        self._permissions = permissions
        self._url: str = filesystem.url
        self._contact = ClusterContact(self.server)
        self._session = WebSession(filesystem, self._contact, timeout_s=timeout_s)
        # Data nodes that did not take a connection: the NameNode goes on naming them for minutes.
        self._shunned: dict[str, None] = {}

    async def status(self, path: StorePath) -> Status | None:
        """What stands at *path*."""
        asking = self._value("GET", "GETFILESTATUS", path, "look at", Looked)
        looked = await unless_missing(asking)
        return None if looked is None else looked.file_status.status

    def children(self, path: StorePath) -> "WebPages":
        """What stands directly in *path*."""
        return WebPages(self, path)

    async def read(self, path: StorePath, start: int, length: int) -> bytes:
        """At most *length* bytes from *start*, by way of a DataNode."""
        where: dict[str, object] = {"offset": start, "length": length}
        return await self._threads.run(lambda: self._open(path, where))

    async def create(self, path: StorePath) -> Upload:
        """Create the file *path* exclusively, in a directory that must be there.

        A DataNode creates it, and answers only after the last byte: so the directory is looked for
        first, and can be made if it is missing.
        """
        await self._must_be_there(StorePath(path.rpartition("/")[0]), "create", path)
        return Upload(lambda body: self._upload(path, body))

    async def make_directory(self, path: StorePath) -> None:
        """Make one directory, after a check that the one above it is there.

        `MKDIRS` always makes what is above as well.
        """
        await self._must_be_there(StorePath(path.rpartition("/")[0]), "make the directory", path)
        await self.make_directories(path)

    async def make_directories(self, path: StorePath) -> None:
        """Make a directory and all above it; it may be there already."""
        verb = "make the directory"
        how = {
            "permission": f"{self._permissions.directory:o}",
            "unmaskedpermission": f"{self._permissions.directory_unmasked:o}",
        }
        if not (await self._value("PUT", "MKDIRS", path, verb, Said, **how)).boolean:
            asked = RequestDescription(verb, path, self.server)
            raise self._contact.answered(asked, Told(EXISTS, "the NameNode said no"))

    async def rename(self, source: StorePath, target: StorePath, *, replacing: bool) -> None:
        """Rename with options, which never moves into a directory and answers without a body.

        Raises:
            RequestFailedError: Also when the answer has one: then the options were not heeded.
        """
        how = "OVERWRITE" if replacing else "NONE"
        asked = self._contact.begin(f"rename {source!r} to", target)

        def renamed() -> None:
            parameters = {"destination": target, "renameoptions": how}
            answer = self._request(asked, "PUT", "RENAME", source, parameters)
            said = said_in(answer)
            if said is not None:
                raise self._not_heeded(asked, is_done=said)
            check_empty(asked, answer)

        await self._threads.run(renamed)

    async def delete(self, path: StorePath, *, recursive: bool) -> None:
        """Delete; a missing path, for which the answer is "no", is no error."""
        how = str(recursive).lower()
        await self._value("DELETE", "DELETE", path, "delete", Said, recursive=how)

    async def close(self) -> None:
        """Close the connections; threads end with the calls that are still running."""
        self._threads.close()
        self._session.close()

    async def _list(
        self, op: str, path: StorePath, form: type[T], **parameters: object
    ) -> T | None:
        """One page; ``None`` where there is no directory."""
        return await unless_missing(self._value("GET", op, path, "list", form, **parameters))

    async def _must_be_there(self, directory: StorePath, verb: str, path: StorePath) -> None:
        if directory and await self.status(directory) is None:
            asked = RequestDescription(verb, path, self.server)
            raise self._contact.answered(asked, Told(MISSING, f"there is no {directory!r}"))

    def _not_heeded(self, asked: RequestDescription, *, is_done: bool) -> RequestFailedError:
        why = (
            f"{self.server} does not heed renameoptions, as an HttpFS gateway does not; use the "
            "NameNode's own address, or hdfs://"
        )
        return RequestFailedError(
            store_error(asked, why, Reply.UNKNOWN if is_done else Reply.REFUSED)
        )

    def _upload(self, path: StorePath, body: bytes | Iterable[bytes]) -> None:
        asked = self._contact.begin("create", path)
        how: dict[str, object] = {
            "overwrite": "false",
            "createparent": "false",
            "permission": f"{self._permissions.file:o}",
            "unmaskedpermission": f"{self._permissions.file_unmasked:o}",
        }
        answer = self._by_data_node(asked, "PUT", "CREATE", how, data=body, headers=_OCTETS)
        check_created(asked, answer)

    def _open(self, path: StorePath, where: dict[str, object]) -> bytes:
        asked = self._contact.begin("read", path)
        return data_of(asked, self._by_data_node(asked, "GET", "OPEN", where))

    def _by_data_node(
        self,
        asked: RequestDescription,
        method: str,
        op: str,
        parameters: dict[str, object],
        **how: Any,
    ) -> requests.Response:
        """Ask the NameNode for a DataNode and send to that; if it cannot be reached, to another."""
        tries = 0
        while True:
            tries += 1
            location = self._located(asked, method, op, parameters)
            try:
                answer = self._session.send(asked, method, location, **how)
            except NotSentError as error:
                self._shunned[urlsplit(location).netloc] = None
                if tries == _DATA_NODES_MAX:
                    raise error.failure from None
            else:
                self._contact.has_answered = True
                return answer

    def _located(
        self, asked: RequestDescription, method: str, op: str, parameters: dict[str, object]
    ) -> str:
        """Where the NameNode sends us for data."""
        shunned = {"excludedatanodes": ",".join(self._shunned)} if self._shunned else {}
        try:
            answer = self._request(asked, method, op, asked.path, {**parameters, **shunned})
            location = data_node_of(asked, answer)
        except RequestFailedError:
            self._shunned.clear()  # There may be no other one, and one of these may be back.
            raise
        return self._session.proxied(location)

    async def _value(
        self,
        method: str,
        op: str,
        path: StorePath,
        verb: str,
        form: type[T],
        **parameters: object,
    ) -> T:
        """What the NameNode answers, in this form."""
        asked = self._contact.begin(verb, path)
        return await self._threads.run(
            lambda: value_of(asked, self._request(asked, method, op, path, parameters), form)
        )

    def _request(
        self,
        asked: RequestDescription,
        method: str,
        op: str,
        path: str,
        parameters: Mapping[str, object],
    ) -> requests.Response:
        url = self._session.proxied(f"{self._url}{quote(path)}")
        sent = {**parameters, **self._session.parameters, "op": op}
        try:
            answer = self._session.send(asked, method, url, params=sent)
        except NotSentError as error:
            raise error.failure from None
        self._contact.has_answered = True
        return answer


class WebPages:
    """The names in a directory, each page from the last name of the one before."""

    def __init__(self, requests: WebRequests, path: StorePath) -> None:
        self._requests = requests
        self._path = path
        self._first: Sequence[tuple[str, Status]] = ()
        self._last = ""
        self._lasts = set[str]()
        self.is_whole = False

    async def following(self) -> Sequence[tuple[str, Status]]:
        """Names that were not given yet.

        The parameter is spelled as the server reads it: Hadoop 3.5 puts all parameter names in
        lower case before it looks for ``startAfter``, and would give the first page for ever. A
        server that gives that page again is asked for all names at once. No order is relied on: the
        NameNode's is that of signed bytes, where "é" comes before "a".
        """
        if self.is_whole:
            return ()
        after = {"startafter": self._last} if self._last else {}
        part = await self._requests._list(  # noqa: SLF001  # its own
            "LISTSTATUS_BATCH", self._path, ListedInPart, **after
        )
        if part is None:
            self.is_whole = True
            return ()
        found = part.directory_listing.partial_listing.names
        are_left = part.directory_listing.remaining_entries > 0
        if are_left and not found:
            raise self._doubt("gives none")  # Taken for the end, it would hide the rest.
        given = {name for name, _ in self._first}
        if found and found[0][0] in given and len(self._lasts) == 1:
            whole = await self._requests._list("LISTSTATUS", self._path, Listed)  # noqa: SLF001  # its own
            self.is_whole = True
            return [one for one in whole.names if one[0] not in given] if whole else ()
        if found and (found[-1][0] in self._lasts or found[0][0] in given):
            raise self._doubt("gives the same ones again")  # It would do so for ever.
        self.is_whole = not are_left
        self._first = self._first or found
        self._last = found[-1][0] if found else ""
        self._lasts.add(self._last)
        return found

    def _doubt(self, what: str) -> RequestFailedError:
        server = self._requests.server
        why = f"{server} says that there are more names, and {what}"
        return RequestFailedError(
            store_error(RequestDescription("list", self._path, server), why, Reply.UNKNOWN)
        )
