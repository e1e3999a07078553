"""One object of a service and the uploads to it, and somebody who writes it and tries again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit_stores.gcs.checksums import checksum_of
from tests.unit.stores.gcs.answers import MARK, error, resource, said
from tests.unit.stores.gcs.verbs import CHUNK_BYTES
from tests.unit.stores.responder import CLOSED, Answer, Received
from tests.unit.stores.verbs import NONCE, PATH, ROOT

if TYPE_CHECKING:
    from fsspec_commit.store import Entry
    from fsspec_commit_stores.gcs import GcsStore
    from fsspec_commit_stores.gcs.writing import GcsWriter

TARGET = "/upload/storage/v1/b/bucket/o"


class Uploads:
    """One object and the resumable uploads to it, as the service keeps them.

    Attributes:
        faults: Answers to be sent instead of the service's own, by the number of the request.
        lost: Numbers of requests that are carried out and not answered.
        kept_at_once_max: How much of a chunk is kept.
        changing: How many objects are kept otherwise than they were sent.
    """

    def __init__(self) -> None:
        self.generation = 0
        self.content: bytes | None = None
        self.session: bytearray | None = None
        self.condition: str | None = None
        self.faults: dict[int, Answer] = {}
        self.lost: set[int] = set()
        self.kept_at_once_max = 1 << 40
        self.changing = 0
        self.sent: list[str] = []

    def __call__(self, request: Received) -> Answer:
        number = len(self.sent)
        self.sent.append(_shown(request))
        if number in self.faults:
            return self.faults[number]
        answer = self.answered(request)
        return CLOSED if number in self.lost else answer

    def answered(self, request: Received) -> Answer:
        if request.method == "GET":
            return self.looked_at()
        if request.method == "DELETE":
            self.session = None
            return Answer(499)
        if request.method == "PUT":
            return self.chunk(request)
        return self.posted(request)

    def looked_at(self) -> Answer:
        return error(404, "notFound") if self.content is None else said(self.resource)

    def posted(self, request: Received) -> Answer:
        query = request.query
        condition = query.get("ifGenerationMatch")
        if condition not in {None, str(self.generation)}:
            return error(412, "conditionNotMet")
        if query["uploadType"] == "resumable":
            self.session, self.condition = bytearray(), condition
            return Answer(
                200, headers={"Location": f"http://elsewhere.example{TARGET}?upload_id=planted"}
            )
        boundary = request.headers["content-type"].partition("boundary=")[2].encode()
        return self.written(request.body.split(b"--" + boundary)[2].partition(b"\r\n\r\n")[2][:-2])

    def chunk(self, request: Received) -> Answer:
        if self.session is None:
            return said(self.resource) if self.content is not None else error(404, "notFound")
        span, _, total = request.headers["content-range"].removeprefix("bytes ").partition("/")
        if span != "*":
            assert int(span.partition("-")[0]) <= len(self.session)
            del self.session[int(span.partition("-")[0]) :]
            self.session += request.body[: self.kept_at_once_max]
        if total == str(len(self.session)):
            if self.condition not in {None, str(self.generation)}:
                return error(412, "conditionNotMet")
            data, self.session = bytes(self.session), None
            return self.written(data)
        kept = {"Range": f"bytes=0-{len(self.session) - 1}"} if self.session else {}
        return Answer(308, headers={**MARK, **kept})

    def written(self, data: bytes) -> Answer:
        self.generation += 1
        self.content = data
        if self.changing:
            self.changing -= 1
            self.content = b"\x00" + data[1:]
        return said(self.resource)

    @property
    def resource(self) -> Any:
        content = self.content or b""
        return resource(
            generation=self.generation,
            size=len(content),
            crc32c=checksum_of(content),
            metadata={"fsspec-commit-nonce": NONCE},
        )


def _shown(request: Received) -> str:
    """What was asked, in a word or two."""
    if request.method == "PUT":
        return request.headers["content-range"].removeprefix("bytes ")
    if request.method == "POST":
        condition = request.query.get("ifGenerationMatch", "any")
        return f"{request.query['uploadType']} {condition}"
    if request.method == "DELETE":
        return "cancel"
    return "stat"


async def again(writer: GcsWriter, call: str) -> Any:
    """The same once more after a failure that is not a refusal, as often as it takes."""
    for _ in range(9):
        try:
            return await (writer.finish() if call == "finish" else writer.write(b""))
        except StoreError as failed:
            if failed.reply is Reply.REFUSED:
                raise
    raise AssertionError("it does not end")


async def persistent(store: GcsStore, *pieces: bytes) -> Entry:
    """A file written by somebody who tries again."""
    writer = store.writer(PATH, within=ROOT, nonce=NONCE)
    for piece in pieces:
        try:
            await writer.write(piece)
        except StoreError:
            await again(writer, "write")
    finished: Entry = await again(writer, "finish")
    return finished


PIECES = (b"a" * CHUNK_BYTES, b"b" * CHUNK_BYTES, b"c" * 100)
WHOLE = [
    "resumable 0",
    f"0-{CHUNK_BYTES - 1}/*",
    f"{CHUNK_BYTES}-{2 * CHUNK_BYTES - 1}/*",
    f"{2 * CHUNK_BYTES}-{2 * CHUNK_BYTES + 99}/{2 * CHUNK_BYTES + 100}",
]
