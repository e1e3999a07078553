"""What stands between a client and its NameNode: redirections, login pages, who is not HDFS yet."""

from __future__ import annotations

import itertools
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from fsspec_commit.errors import Reply, RequestError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, OpenOptions, Token
from fsspec_commit_stores.hdfs import HdfsStore
from tests.sweeps import some_by_day
from tests.unit.stores.responder import Answer, Received, Responder
from tests.unit.stores.verbs import all_of

if TYPE_CHECKING:
    import asyncio

    from fsspec_commit.testing.sweeps import Sweep
    from tests.unit.stores.hdfs.scripted import ScriptedHdfs

ROOT = StorePath("/out")
PATH = StorePath("/out/a b")
OTHER = StorePath("/out/c")
DIRECTORY_PATH = StorePath("/out/directory")
NEW = StorePath("/out/new")
REFUSED, UNKNOWN = Reply.REFUSED, Reply.UNKNOWN
Verb: TypeAlias = Callable[[HdfsStore], Awaitable[Any]]
LOGIN_PAGE = Answer(200, b"<html>please log in</html>", {"Content-Type": "text/html"})
DIRECTORY = {"type": "DIRECTORY", "length": 0, "modificationTime": 1}
FILE = {"type": "FILE", "length": 7, "modificationTime": 1}
MISSING = {"exception": "FileNotFoundException", "message": "it is not there"}
OCTETS = {"Content-Type": "application/octet-stream"}
CONTENT = Answer(200, b"content", OCTETS)
HTML = {"Content-Type": "text/html"}
IMPOSTORS = [
    *(Answer(200, body) for body in (b"", b"{}", b"[]", b"{", b"null", b'{"boolean": 1}')),
    *(Answer(200, body) for body in (b'{"FileStatus": {}}', b'{"DirectoryListing": {}}')),
    *(Answer(200, b"<html>please log in</html>", kind) for kind in (HTML, OCTETS)),
    *(Answer(status) for status in (201, 202, 204, 206)),
    *(
        Answer(status, body)
        for status in (400, 401, 403, 404, 409, 412, 429, 500, 502, 503, 504, 599)
        for body in (b"", b"<html>Oops</html>", b'{"RemoteException": "no"}')
    ),
]
"""What gateways, login pages and proxies answer; redirections have tests of their own."""


async def rename(store: HdfsStore) -> None:
    assert store.files is not None
    await store.files.rename(OTHER, PATH, token=Token("1-7"), expecting=Expect.ABSENT, within=ROOT)


async def rename_directory(store: HdfsStore) -> None:
    assert store.directories is not None
    await store.directories.rename_directory(DIRECTORY_PATH, NEW, within=ROOT)


VERBS: dict[str, Verb] = {
    "stat": lambda s: s.stat(PATH),
    "read": lambda s: s.read(PATH, limit_bytes=9),
    "range": lambda s: s.read_range(PATH, start=0, length=9),
    "children": lambda s: all_of(s.list_children(PATH)),
    "tree": lambda s: all_of(s.list_tree(PATH)),
    "put": lambda s: s.put(PATH, b"1", expecting=Expect.ANYTHING, within=None),
    "put nothing": lambda s: s.put(PATH, b"", expecting=Expect.ABSENT, within=None),
    "delete": lambda s: s.delete(PATH, expecting=Expect.ANYTHING),
    "delete tree": lambda s: s.delete_tree(DIRECTORY_PATH),
    "rename": rename,
    "rename directory": rename_directory,
}

# Of exactly what stands there, so that HDFS's own answers are a success.
HEALTHY: dict[str, Verb] = {
    **VERBS,
    "range": lambda s: s.read_range(PATH, start=0, length=7),
    "put": lambda s: s.put(PATH, b"content", expecting=Expect.ANYTHING, within=None),
    "make a directory": lambda s: s.directory_creation.make_directory(NEW, within=ROOT),
}


def there(request: Received) -> Answer | None:
    """What is looked at is there, so that what counts is what is asked next."""
    if request.query.get("op") != "GETFILESTATUS":
        return None
    if request.path.endswith(NEW):
        return Answer(404, json.dumps({"RemoteException": MISSING}).encode())
    status = DIRECTORY if request.path.endswith((ROOT, DIRECTORY_PATH)) else FILE
    return Answer(200, json.dumps({"FileStatus": status}).encode())


def after_a_look(answer: Answer) -> Callable[[Received], Answer]:
    return lambda request: there(request) or answer


def healthy(request: Received) -> Answer:
    """What HDFS answers, to the letter."""
    operation = request.query["op"]
    if "of-the-name-node" in request.target:
        return Answer(201, b"", OCTETS) if operation == "CREATE" else CONTENT
    if operation in {"CREATE", "OPEN"}:
        onward = f"http://{request.headers['host']}{request.target}&to=of-the-name-node"
        return Answer(307, headers={"Location": onward})
    if operation == "RENAME":
        return Answer(200, b"", OCTETS)
    if operation == "LISTSTATUS_BATCH":
        listed = {"FileStatuses": {"FileStatus": [{**FILE, "pathSuffix": "child"}]}}
        listing = {"partialListing": listed, "remainingEntries": 0}
        return Answer(200, json.dumps({"DirectoryListing": listing}).encode())
    return there(request) or Answer(200, b'{"boolean": true}')


@some_by_day(3)
@pytest.mark.parametrize("verb", HEALTHY)
def test_only_hdfs_is_believed(hdfs: ScriptedHdfs, verb: str, sweep: Sweep) -> None:
    """Whichever request of a verb somebody else answers: it is not done, and not refused."""
    call = HEALTHY[verb]
    hdfs.answering = healthy
    hdfs.run(call(hdfs.store))
    asked = list(hdfs.received)
    for position, impostor in sweep(itertools.product(range(len(asked)), IMPOSTORS)):
        if impostor.status == 201 and "of-the-name-node" in asked[position].target:
            continue  # What a DataNode says: then the file is looked at.
        hdfs.received.clear()
        hdfs.answering = _healthy_but(hdfs, position, impostor)
        caught = hdfs.failure_of(call(hdfs.store))
        assert caught.reply is not REFUSED, (position, impostor)


def _healthy_but(
    hdfs: ScriptedHdfs, position: int, impostor: Answer
) -> Callable[[Received], Answer]:
    """HDFS, and one answer of somebody else."""
    return lambda request: impostor if len(hdfs.received) == position + 1 else healthy(request)


@pytest.mark.parametrize(("says", "reply"), [(b"true", UNKNOWN), (b"false", REFUSED)])
def test_a_gateway_that_does_not_heed_the_options_of_a_rename_is_named(
    hdfs: ScriptedHdfs, says: bytes, reply: Reply
) -> None:
    hdfs.script(Answer(200, b'{"boolean": ' + says + b"}"))
    caught = hdfs.failure_of(rename(hdfs.store))
    assert caught.reply is reply
    assert "HttpFS" in str(caught)


@pytest.mark.parametrize("verb", VERBS)
def test_a_redirection_that_is_not_of_hdfs_is_not_followed(
    hdfs: ScriptedHdfs, responder: Responder, verb: str
) -> None:
    """A gateway's session has ended: what was asked may have been done or not."""
    location = f"{responder.url}/planted-path?originalUrl=planted"
    for status in (300, 301, 302, 303, 307, 308):
        elsewhere = Answer(status, headers={"Location": location})
        hdfs.script(elsewhere)
        if verb != "stat":
            hdfs.answering = after_a_look(elsewhere)
        caught = hdfs.failure_of(VERBS[verb](hdfs.store))
        assert caught.reply is not REFUSED
        told = f"redirection to {responder.url} (HTTP {status}), which is not followed"
        assert told in str(caught)
        assert "planted" not in str(caught)
    assert responder.received == []


@pytest.mark.parametrize("answer", [Answer(404), Answer(404, b"<html>Not Found</html>")])
@pytest.mark.parametrize("verb", VERBS)
def test_who_is_not_hdfs_yet_does_not_know(hdfs: ScriptedHdfs, verb: str, answer: Answer) -> None:
    """A NameNode that starts answers 404 to everything, without a word: it is asked again."""
    hdfs.answering = (lambda _: answer) if verb == "stat" else after_a_look(answer)
    caught = hdfs.failure_of(VERBS[verb](hdfs.store))
    assert caught.reply is not REFUSED
    assert "answered 404 without saying what is missing: it is starting" in str(caught)


@pytest.mark.parametrize("answer", [LOGIN_PAGE, Answer(200, b"[]"), Answer(200, b"{")])
@pytest.mark.parametrize("verb", ["stat", "children", "tree", "delete", "delete tree", "rename"])
def test_a_page_is_no_answer(hdfs: ScriptedHdfs, verb: str, answer: Answer) -> None:
    """The true answer to a rename has no body: another one is not a yes."""
    hdfs.answering = (lambda _: answer) if verb == "stat" else after_a_look(answer)
    caught = hdfs.failure_of(VERBS[verb](hdfs.store))
    assert caught.reply is UNKNOWN
    assert "answered something that is not of WebHDFS" in str(caught)


@pytest.mark.parametrize("status", [500, 502, 503, 504])
@pytest.mark.parametrize("verb", ["rename", "rename directory", "delete"])
def test_a_failure_without_a_word_leaves_in_doubt(
    hdfs: ScriptedHdfs, verb: str, status: int
) -> None:
    """A gateway says so as well when the request got through, and the answer to it did not."""
    said = b"upstream connect error or disconnect/reset before headers"
    hdfs.answering = after_a_look(Answer(status, said))
    assert hdfs.failure_of(VERBS[verb](hdfs.store)).reply is UNKNOWN


@pytest.mark.parametrize("verb", ["stat", "children"])
def test_an_answer_without_what_was_asked_for_is_none(hdfs: ScriptedHdfs, verb: str) -> None:
    hdfs.script(Answer(200, b'{"boolean": true}'))
    assert hdfs.failure_of(VERBS[verb](hdfs.store)).reply is UNKNOWN


class TestADataNode:
    """The one redirection that is followed, and what goes there."""

    LOCATION = "/webhdfs/v1/out/a%20b?op=OPEN&delegation=of-the-name-node"

    def test_it_is_not_told_the_password(
        self,
        hdfs: ScriptedHdfs,
        responder: Responder,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path_factory: pytest.TempPathFactory,
    ) -> None:
        """Neither the user's, nor the cookie of a ticket, nor what stands in a netrc."""
        netrc = tmp_path_factory.mktemp("home") / "netrc"
        netrc.write_text("machine 127.0.0.1 login me password planted-netrc\n")
        monkeypatch.setenv("NETRC", str(netrc))
        store = hdfs.open(user="me", password="planted-password")
        cookie = {"Set-Cookie": "hadoop.auth=planted-cookie"}
        onward = Answer(307, headers={"Location": responder.url + self.LOCATION, **cookie})
        hdfs.answering = after_a_look(onward)
        responder.script(CONTENT)
        assert hdfs.run(store.read_range(PATH, start=0, length=7)) == b"content"
        for named in hdfs.received:
            assert named.headers["authorization"].startswith("Basic ")
        (elsewhere,) = responder.received
        assert elsewhere.target == self.LOCATION
        assert not {"authorization", "cookie"} & elsewhere.headers.keys()
        assert "planted" not in str(elsewhere)

    def test_a_gateway_that_sends_back_to_itself_is(self, hdfs: ScriptedHdfs) -> None:
        """It is the one that the password is for."""
        store = hdfs.open(user="me", password="planted-password")
        back = Answer(307, headers={"Location": hdfs.url + "/gateway" + self.LOCATION})
        after = after_a_look(back)
        hdfs.answering = lambda request: (
            CONTENT if request.path.startswith("/gateway") else after(request)
        )
        assert hdfs.run(store.read_range(PATH, start=0, length=7)) == b"content"
        assert all("authorization" in one.headers for one in hdfs.received)

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_it_sends_nobody_on(self, hdfs: ScriptedHdfs, status: int) -> None:
        onward = Answer(status, headers={"Location": hdfs.url + self.LOCATION})
        first = after_a_look(Answer(307, headers=onward.headers))
        hdfs.answering = lambda request: onward if "delegation" in request.query else first(request)
        caught = hdfs.failure_of(hdfs.store.read_range(PATH, start=0, length=7))
        assert caught.reply is UNKNOWN
        assert "which is not followed" in str(caught)
        assert len(hdfs.received) == 3

    @pytest.mark.parametrize(
        "location", ["", "https://", "file:///webhdfs/v1/out", "https://login/?to=/webhdfs/v1/out"]
    )
    def test_it_is_named_as_hdfs_names_it(self, hdfs: ScriptedHdfs, location: str) -> None:
        hdfs.answering = after_a_look(Answer(307, headers={"Location": location}))
        assert hdfs.failure_of(hdfs.store.read_range(PATH, start=0, length=7)).reply is UNKNOWN
        assert len(hdfs.received) == 2


def test_a_password_in_the_url_is_not_repeated(runner: asyncio.Runner) -> None:
    with pytest.raises(RequestError) as caught:
        runner.run(HdfsStore.open("webhdfs://me:planted@host/out", OpenOptions()))
    assert "planted" not in str(caught.value)
