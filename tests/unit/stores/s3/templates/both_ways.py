"""One request made twice, by botocore and by template, and nothing of it sent."""

from __future__ import annotations

import asyncio
import calendar
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from fsspec_commit.errors import StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, OpenOptions, Part, PendingUpload, Token
from fsspec_commit_stores.s3 import S3Store
from fsspec_commit_stores.s3.templates.calls import TemplatedCalls
from fsspec_commit_stores.s3.templates.samples import shape_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit_stores.s3.sending import Sending
    from fsspec_commit_stores.s3.templates.template import Template

UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
INVOCATION = "amz-sdk-invocation-id"


@dataclass(frozen=True)
class Made:
    """A request, but for the id that each has of its own; names of headers are in lower case."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Content:
    """What differs from request to request."""

    key: str = "out/part-1"
    upload_id: str = "u1"
    number: int = 1
    etag: str = "e1"
    checksum: str = "AAAAAA=="
    body: bytes = field(default=b"1", repr=False)
    nonce: str = "0" * 32
    size_bytes: int = 3


class _RecordedError(Exception):
    pass


class BothWays:
    """A store, of which the parameters of each call are made into requests in both ways.

    Attributes:
        asked: The client's method and its parameters, of the call before.
    """

    def __init__(self, store: S3Store) -> None:
        calls = store._bucket._call
        assert isinstance(calls, TemplatedCalls)
        self.store = store
        self.calls = calls
        self.asked: tuple[str, dict[str, Any]] = ("", {})
        store._bucket._call = self._record  # type: ignore[assignment]

    @classmethod
    async def open(cls, url: str = "s3://bucket/out", **options: Any) -> Self:
        given = {"key": "AKIAPLANTED", "secret": "planted+/secret", **options}
        given.setdefault("client_kwargs", {"region_name": "eu-west-1"})
        return cls(await S3Store.open(url, OpenOptions(storage_options=given)))

    async def close(self) -> None:
        await self.store.close()

    async def ask(self, verb: Callable[[S3Store], Awaitable[Any]]) -> None:
        """Note what a verb of the store wants to be sent."""
        with suppress(StoreError):
            await verb(self.store)

    async def _record(self, method: str, parameters: Mapping[str, Any], _: Sending) -> Any:
        self.asked = method, dict(parameters)
        raise _RecordedError

    async def template(self) -> Template | None:
        """That for what was asked."""
        shape = shape_of(*self.asked)
        if self.calls._templates.are_declined(shape):
            return None
        return await self.calls._templates.get(shape, await self.credentials())

    async def credentials(self) -> Any:
        signing = await self.calls._signer.get_auth_instance("s3", "eu-west-1", "s3v4")
        return signing.credentials

    async def by_botocore(self) -> tuple[Made, int]:
        """What botocore makes of it, and when."""
        caught = await self.calls._rehearsals.catch(*self.asked)
        headers = {name.lower(): value for name, value in caught.headers.items()}
        assert len(headers) == len(caught.headers)
        when = calendar.timegm(time.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ"))
        assert UUID.fullmatch(headers.pop(INVOCATION))
        assert caught.body is not None
        return Made(caught.method, caught.url, headers, caught.body), when

    async def by_template(self, second: int) -> Made | None:
        """What the template makes of it in that *second*: as a session, and on a connection."""
        template = await self.template()
        if template is None:
            return None
        signed = template.signer.at(second, await self.credentials())
        filled = template.fill(self.asked[1], signed)
        if filled is None:
            return None
        url = template.url % filled.values
        headers = {name.lower(): text % filled.values for name, text in template.headers.items()}
        assert UUID.fullmatch(headers.pop(INVOCATION))
        if template.exchanges is not None:
            check_message(template.message % filled.values, template.method, url, headers)
        return Made(template.method, url, headers, filled.body)


def check_message(message: str, method: str, url: str, headers: Mapping[str, str]) -> None:
    """See that *message* says that, and else only what aiohttp says of itself."""
    first, *lines = message.removesuffix("\r\n\r\n").split("\r\n")
    scheme, _, rest = url.partition("://")
    host, slash, target = rest.partition("/")
    assert first == f"{method} {slash}{target} HTTP/1.1"
    said = [line.partition(": ") for line in lines]
    told = {name.lower(): value for name, _, value in said}
    assert len(told) == len(said)
    assert UUID.fullmatch(told.pop(INVOCATION))
    port = ":443" if scheme == "https" else ":80"
    assert told.pop("host") == host.removesuffix(port)
    assert told.pop("accept") == "*/*"
    assert told == headers


PATH = StorePath("bucket/out/part-1")


def verbs_of(content: Content, bucket: str = "bucket") -> dict[str, Callable[[S3Store], Any]]:
    """Each frequent request, by a name."""
    path = StorePath(f"{bucket}/{content.key}")
    nonce = Nonce(content.nonce)
    token = Token(f"{content.etag};CRC32={content.checksum}")
    part = Part(content.number, token, content.size_bytes)
    upload = PendingUpload(path=path, upload_id=content.upload_id, nonce=nonce, parts=(part,))
    two = replace(upload, parts=(part, replace(part, number=content.number + 1)))
    return {
        "complete": lambda s: s.uploads.complete(upload, expecting=Expect.ANYTHING),
        "complete two": lambda s: s.uploads.complete(two, expecting=Expect.ABSENT),
        "complete in place": lambda s: s.uploads.complete(upload, expecting=Token(content.etag)),
        "create": lambda s: s.uploads.start(path, nonce),
        "create a record": lambda s: s.uploads.start(path, nonce, as_record=True),
        "part": lambda s: s.uploads.put_part(upload, content.number, content.body),
        "put": lambda s: s.put(path, content.body, expecting=Expect.ABSENT, within=None),
        "put with nonce": lambda s: s.put(
            path, content.body, expecting=Token(content.etag), within=None, nonce=nonce
        ),
        "write": lambda s: write(s, path, content.body),
        "delete": lambda s: s.delete(path, expecting=Token(content.etag)),
        "delete any": lambda s: s.delete(path, expecting=Expect.ANYTHING),
        "look": lambda s: s.stat(path),
        "read": lambda s: s.read(path, limit_bytes=9),
    }


async def write(store: S3Store, path: StorePath, body: bytes) -> None:
    writer = store.writer(path, within=store.root, nonce=Nonce("0" * 32))
    await writer.write(body)
    try:
        await writer.finish()
    finally:
        await writer.discard()


def run(call: Awaitable[Any]) -> Any:
    async def awaited() -> Any:
        return await call

    return asyncio.run(awaited())
