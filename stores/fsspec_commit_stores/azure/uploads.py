"""Uploads to a flat account that any process completes from plain data: block lists.

Blocks belong to the name of a blob. An upload is told from another of the same name by the ids of
its blocks, which begin with its nonce; but completing one drops the blocks of all others, so names
must be those of one attempt. Completing names uncommitted blocks only, and so consumes them: a
second completion finds none.

Nothing drops blocks but a write that shows something under the name. So an aborted upload is let go
of: it never becomes visible, costs what it holds, and the service drops it a week after its last
block ("Put Block").
"""

import errno
from base64 import b64encode
from collections.abc import AsyncIterator

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expectation, Part, PendingUpload, Token
from fsspec_commit_stores.azure.contents import condition_of, metadata_of, token_of
from fsspec_commit_stores.azure.names import trouble_with
from fsspec_commit_stores.azure.requests import Container
from fsspec_commit_stores.http.documents import xml_root

_PLACEHOLDER = b"\0"
_LIST = "text/xml; charset=utf-8"


def block_id(nonce: str, number: int) -> str:
    """The id of a block: all of one blob must be of one length, of at most 64 bytes."""
    return b64encode(f"{nonce}-{number:05d}".encode()).decode()


def block_list(ids: list[str]) -> bytes:
    """The body that puts a blob together out of uncommitted blocks."""
    named = "".join(f"<Uncommitted>{one}</Uncommitted>" for one in ids)
    return f'<?xml version="1.0" encoding="utf-8"?><BlockList>{named}</BlockList>'.encode()


class BlockUploads:
    """`CompletesUploads` in one container."""

    part_bytes = None
    adopting = None

    def __init__(self, container: Container) -> None:
        self._container = container
        self._let_go = set[tuple[StorePath, str]]()

    async def start(self, path: StorePath, nonce: Nonce) -> PendingUpload:
        """Begin an upload of *path*: nothing is sent.

        Raises:
            StoreError: The name is not one that the service keeps as it is.
        """
        trouble = trouble_with(path)
        if trouble is not None:
            raise self._container.refusal("Put Block", path, trouble, errno.EINVAL)
        return PendingUpload(path=path, upload_id=str(nonce), nonce=nonce)

    async def put_part(self, upload: PendingUpload, number: int, data: bytes) -> Part:
        """Store part *number*; of two with the same number, the later one stands.

        An empty part is stored as a block of one byte that is never put into a blob: there are no
        empty blocks, and completing an upload must consume what it is completed from.

        Raises:
            StoreError: It was not stored, or it is not known; storing it again is harmless.
        """
        name = block_id(upload.upload_id, number)
        await self._container.send(
            "Put Block", upload.path, body=data or _PLACEHOLDER, query={"blockid": name}
        )
        return Part(number, Token(name), len(data))

    async def complete(self, upload: PendingUpload, *, expecting: Expectation) -> None:
        """Make the blob visible, whole, on condition of *expecting*.

        Raises:
            StoreError: It was not done, or it is not known. "The blocks are gone" is a refusal: it
                is also what is answered when the upload has been completed before.
        """
        await self.finish(upload, expecting=expecting)

    async def finish(self, upload: PendingUpload, *, expecting: Expectation) -> Token:
        """Make the blob visible, like :meth:`complete`, and return its token."""
        if (upload.path, upload.upload_id) in self._let_go or not upload.parts:
            why = "the upload was aborted" if upload.parts else "it has no parts"
            raise self._container.refusal("Put Block List", upload.path, why, errno.ENOENT)
        parts = sorted(upload.parts, key=lambda part: part.number)
        named = [str(part.token) for part in parts if part.size_bytes != 0]
        if not named:
            await self._check_placeholders(upload)
        answer = await self._container.send(
            "Put Block List",
            upload.path,
            {
                "Content-Type": _LIST,
                "x-ms-blob-content-type": "application/octet-stream",
                **condition_of(expecting),
                **metadata_of(upload.nonce),
            },
            body=block_list(named),
        )
        return token_of(answer.headers["etag"])

    async def abort(self, upload: PendingUpload) -> None:
        """Let go of the upload: this store completes it no more, and its blocks will expire."""
        self._let_go.add((upload.path, upload.upload_id))

    async def pending(self, prefix: StorePath) -> AsyncIterator[PendingUpload]:  # noqa: ARG002  # see below
        """Yield nothing: only a listing of every blob would show uploads, and nothing ends them."""
        nothing: tuple[PendingUpload, ...] = ()
        for upload in nothing:
            yield upload

    async def _check_placeholders(self, upload: PendingUpload) -> None:
        """Refuse to complete an upload of no bytes whose blocks are gone.

        Its block list names no block, so the service would not refuse it. Between this look and
        that request another process may complete the same upload, and if that takes long, a later
        job may delete the file: then it is there again, empty.

        Raises:
            StoreError: They are gone; or the store did not answer.
        """
        answer = await self._container.send("Get Block List", upload.path)
        found = xml_root(answer.body)
        if found is None or found.tag != "BlockList":
            why = "the store's answer is no list of blocks"
            raise self._container.doubt("Get Block List", upload.path, why)
        ids = {name.text for name in found.iter("Name")}
        if not ids.issuperset(part.token for part in upload.parts):
            why = "its blocks are gone: they were committed, replaced, or older than 7 days"
            raise self._container.refusal("Put Block List", upload.path, why, errno.ENOENT)
