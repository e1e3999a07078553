"""`webhdfs://`: the REST API of the NameNode, over the session of the user's own fsspec WebHDFS.

The session carries the credentials; the requests are ours, because fsspec's verbs lose what the
server says: its `mv` takes a "no" for a "yes", its writes always overwrite. The session is a
synchronous one, so that every request is a call in a thread, with a timeout, sent once.

https://hadoop.apache.org/docs/r3.5.0/hadoop-project-dist/hadoop-hdfs/WebHDFS.html
"""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import requests

from fsspec_commit.errors import Reply
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.hdfs.failures import (
    EXISTS,
    MISSING,
    NO_DIRECTORY,
    Asked,
    Contact,
    RequestFailedError,
    Told,
    made,
)
from fsspec_commit_stores.hdfs.requests import Status
from fsspec_commit_stores.hdfs.threads import Threads
from fsspec_commit_stores.hdfs.upload import Upload
from fsspec_commit_stores.hdfs.web_answers import data_node_of, failure_of, object_of
from fsspec_commit_stores.http.redirections import origin_of

_DATA_NODES_MAX = 3
_OCTETS = {"content-type": "application/octet-stream"}


class WebRequests:
    """The requests of one opened store."""

    creates_at_once = False

    def __init__(self, filesystem: Any, *, timeout_s: float, threads: int) -> None:
        """Send through *filesystem*, a private one of fsspec's."""
        self.server = "{0.scheme}://{0.netloc}".format(urlsplit(filesystem.url))
        self._threads = Threads(threads, "webhdfs")
        self._filesystem = filesystem
        self._session: requests.Session = filesystem.session
        self._session_elsewhere = _without_credentials(self._session)
        self._timeout_s = timeout_s
        self._contact = Contact(self.server)
        # Data nodes that did not take a connection: the NameNode goes on naming them for minutes.
        self._shunned: dict[str, None] = {}

    async def status(self, path: StorePath) -> Status | None:
        """What stands at *path*."""
        try:
            answer = await self._ask("GET", "GETFILESTATUS", path, "look at", holding="FileStatus")
        except RequestFailedError as error:
            if error.says(MISSING, NO_DIRECTORY):
                return None
            raise
        return _status(answer["FileStatus"])

    def children(self, path: StorePath) -> "WebPages":
        """What stands directly in *path*."""
        return WebPages(self, path)

    async def read(self, path: StorePath, start: int, length: int) -> bytes:
        """At most *length* bytes from *start*, by way of a DataNode."""
        where: dict[str, object] = {"offset": start, "length": length}
        return await self._threads.run(lambda: self._open(path, where))

    async def create(self, path: StorePath) -> Upload:
        """Create the file *path* exclusively, in a directory that must be there.

        A DataNode creates it, and answers only after the last byte: so the directory is looked at
        first, in order to be made.
        """
        await self._must_be_there(StorePath(path.rpartition("/")[0]), "create", path)
        return Upload(lambda body: self._upload(path, body))

    async def make_directory(self, path: StorePath) -> None:
        """Make one directory; that the one above is there is looked at just before.

        `MKDIRS` always makes what is above as well.
        """
        await self._must_be_there(StorePath(path.rpartition("/")[0]), "make the directory", path)
        await self.make_directories(path)

    async def make_directories(self, path: StorePath) -> None:
        """Make a directory and all above it; one that is there is done."""
        answer = await self._ask("PUT", "MKDIRS", path, "make the directory", holding="boolean")
        self._check(answer, "make the directory", path)

    async def rename(self, source: StorePath, target: StorePath, *, replacing: bool) -> None:
        """Rename with options, which never moves into a directory and answers without a body.

        Raises:
            RequestFailedError: Also when the answer has one: then the options were not heeded.
        """
        how = "OVERWRITE" if replacing else "NONE"
        verb = f"rename {source!r} to"
        answer = await self._ask(
            "PUT",
            "RENAME",
            source,
            verb,
            holding="",
            about=target,
            destination=target,
            renameoptions=how,
        )
        if answer:
            asked = Asked(verb, target, self.server)
            why = (
                f"{self.server} does not heed renameoptions, as an HttpFS gateway does not; use "
                "the NameNode's own address, or hdfs://"
            )
            done = answer.get("boolean") is not False
            raise RequestFailedError(made(asked, why, Reply.UNKNOWN if done else Reply.REFUSED))

    async def delete(self, path: StorePath, *, recursive: bool) -> None:
        """Delete; a missing path, to which the answer is "no", is done."""
        how = str(recursive).lower()
        await self._ask("DELETE", "DELETE", path, "delete", holding="boolean", recursive=how)

    async def close(self) -> None:
        """Close the connections; threads end with the calls that are still running."""
        self._threads.close()
        self._session.close()
        self._session_elsewhere.close()

    async def _list(
        self, op: str, path: StorePath, holding: str, **parameters: object
    ) -> dict[str, Any]:
        """One page; an empty answer where there is no directory."""
        try:
            return await self._ask(
                "GET", op, path, "list", holding=holding, about=None, **parameters
            )
        except RequestFailedError as error:
            if error.says(MISSING, NO_DIRECTORY):
                return {}
            raise

    async def _must_be_there(self, directory: StorePath, verb: str, path: StorePath) -> None:
        if directory and await self.status(directory) is None:
            asked = Asked(verb, path, self.server)
            raise self._contact.answered(asked, Told(MISSING, f"there is no {directory!r}"))

    def _upload(self, path: StorePath, body: bytes | Iterable[bytes]) -> None:
        asked = self._contact.begin("create", path)
        how: dict[str, object] = {"overwrite": "false", "createparent": "false"}
        self._by_data_node(asked, "PUT", "CREATE", how, data=body, headers=_OCTETS)

    def _open(self, path: StorePath, where: dict[str, object]) -> bytes:
        asked = self._contact.begin("read", path)
        return bytes(self._by_data_node(asked, "GET", "OPEN", where).content)

    def _by_data_node(
        self, asked: Asked, method: str, op: str, parameters: dict[str, object], **how: Any
    ) -> requests.Response:
        """Ask the NameNode for a DataNode, and that; for another one where it cannot be reached."""
        tries = 0
        while True:
            tries += 1
            location = self._located(asked, method, op, parameters)
            try:
                answer = self._send(asked, method, location, **how)
            except _NotSentError as error:
                self._shunned[urlsplit(location).netloc] = None
                failure = error.failure
            else:
                return self._checked(asked, answer)
            if tries == _DATA_NODES_MAX:
                raise failure

    def _located(self, asked: Asked, method: str, op: str, parameters: dict[str, object]) -> str:
        """Where the NameNode sends us for data."""
        shunned = {"excludedatanodes": ",".join(self._shunned)} if self._shunned else {}
        try:
            answer = self._request(asked, method, op, asked.path, {**parameters, **shunned})
            location = data_node_of(asked, answer)
        except RequestFailedError:
            self._shunned.clear()  # There may be no other one, and one of these may be back.
            raise
        return self._proxied(location)

    def _proxied(self, url: str) -> str:
        return str(self._filesystem._apply_proxy(url))  # noqa: SLF001  # it has no other name

    def _session_for(self, url: str) -> requests.Session:
        """Who asks, a DataNode is told by the NameNode's own words: no password is for it."""
        is_named = origin_of(url) == origin_of(self._proxied(self._filesystem.url))
        return self._session if is_named else self._session_elsewhere

    async def _ask(
        self,
        method: str,
        op: str,
        path: StorePath,
        verb: str,
        *,
        holding: str,
        about: StorePath | None = None,
        **parameters: object,
    ) -> dict[str, Any]:
        asked = self._contact.begin(verb, about or path)

        def answer() -> dict[str, Any]:
            told = self._request(asked, method, op, path, parameters)
            return object_of(asked, self._checked(asked, told), holding)

        return await self._threads.run(answer)

    def _request(
        self, asked: Asked, method: str, op: str, path: str, parameters: dict[str, object]
    ) -> requests.Response:
        url = self._proxied(f"{self._filesystem.url}{quote(path)}")
        sent = {**parameters, **self._filesystem.pars, "op": op}
        try:
            answer = self._send(asked, method, url, params=sent)
        except _NotSentError as error:
            failure = error.failure
        else:
            self._contact.heard()
            return answer
        raise failure

    def _send(self, asked: Asked, method: str, url: str, **how: Any) -> requests.Response:
        """Send once and follow nothing.

        Raises:
            _NotSentError: There was no connection.
            RequestFailedError: There was no answer.
        """
        failure: Exception
        try:
            return self._session_for(url).request(
                method, url, allow_redirects=False, timeout=self._timeout_s, **how
            )
        except requests.ConnectTimeout:
            failure = _NotSentError(self._contact.refused(asked, "ConnectTimeout"))
        except requests.Timeout:
            failure = self._contact.timed_out(asked)
        except requests.RequestException as error:
            kind = _kind_of(error)
            failure = (
                _NotSentError(self._contact.refused(asked, kind))
                if kind in _NEVER_SENT
                else self._contact.broke(asked, kind)
            )
        raise failure

    def _checked(self, asked: Asked, answer: requests.Response) -> requests.Response:
        self._contact.heard()
        failure = failure_of(asked, answer)
        if failure is not None:
            raise failure
        return answer

    def _check(self, answer: dict[str, Any], verb: str, path: StorePath) -> None:
        if answer.get("boolean") is not True:
            asked = Asked(verb, path, self.server)
            raise self._contact.answered(asked, Told(EXISTS, "the NameNode said no"))


class WebPages:
    """The names in a directory, each page from the last name of the one before."""

    def __init__(self, requests: WebRequests, path: StorePath) -> None:
        self._requests = requests
        self._path = path
        self._first: Sequence[tuple[str, Status]] = ()
        self._last = ""
        self._is_whole = False

    async def following(self) -> Sequence[tuple[str, Status]]:
        """Names that were not given yet.

        The parameter is spelled as the server reads it: Hadoop 3.5 makes every name lower case
        before it looks for ``startAfter``, and would give the first page for ever. Of a server that
        gives it again all is asked at once. No order is relied on: the NameNode's is that of signed
        bytes, where "é" comes before "a".
        """
        if self._is_whole:
            return ()
        after = {"startafter": self._last} if self._last else {}
        answer = await self._requests._list(  # noqa: SLF001  # its own
            "LISTSTATUS_BATCH", self._path, "DirectoryListing", **after
        )
        listing = answer.get("DirectoryListing", {"partialListing": {}, "remainingEntries": 0})
        found = _listed(listing["partialListing"])
        given = {name for name, _ in self._first}
        if found and found[0][0] in given:
            whole = "LISTSTATUS", self._path, "FileStatuses"
            listed = _listed(await self._requests._list(*whole))  # noqa: SLF001  # its own
            self._is_whole = True
            return [(name, status) for name, status in listed if name not in given]
        self._is_whole = not (listing["remainingEntries"] and found)
        self._first = self._first or found
        self._last = found[-1][0] if found else ""
        return found


class _NotSentError(Exception):
    """There was no connection to send on."""

    def __init__(self, failure: RequestFailedError) -> None:
        super().__init__(str(failure))
        self.failure = failure


_NEVER_SENT = frozenset({"NewConnectionError", "NameResolutionError", "ConnectTimeoutError"})


def _kind_of(error: requests.RequestException) -> str:
    """The name of what is behind it: the text holds the URL, and so the token."""
    cause: object = error.args[0] if error.args else error
    cause = getattr(cause, "reason", cause)
    return type(cause).__name__


def _without_credentials(session: requests.Session) -> requests.Session:
    """A session with the connections of *session*: no password, ticket or cookie of its own.

    Saying how to authenticate keeps it from the user's netrc as well.
    """
    other = requests.Session()
    other.verify, other.cert = session.verify, session.cert
    other.auth = _nobody
    other.adapters = session.adapters
    return other


def _nobody(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _listed(listing: dict[str, Any]) -> list[tuple[str, Status]]:
    """Names and statuses; a file is listed as itself, without a name."""
    found = listing.get("FileStatuses", {}).get("FileStatus", ())
    return [(child["pathSuffix"], _status(child)) for child in found if child["pathSuffix"]]


def _status(found: dict[str, Any]) -> Status:
    return Status(
        found["type"] == "DIRECTORY", int(found["length"]), int(found["modificationTime"])
    )
