"""Files written piece by piece: one request for a small one, blocks for a longer one.

Blocks are put together by name, so several are on their way at once, and whoever writes the file
goes on meanwhile.
"""

import errno

from fsspec_commit.ids import SYSTEM_IDS, Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Expect, Expectation, Token
from fsspec_commit_stores.azure.ahead import BlocksAhead
from fsspec_commit_stores.azure.contents import (
    WRITER_NAME,
    condition_of,
    metadata_of,
    token_of,
)
from fsspec_commit_stores.azure.lookup import look
from fsspec_commit_stores.azure.names import trouble_with
from fsspec_commit_stores.azure.requests import Container, RequestFailedError
from fsspec_commit_stores.azure.uploads import block_id, block_list
from fsspec_commit_stores.http.pieces import Pieces
from fsspec_commit_stores.http.sending import Sending
from fsspec_commit_stores.http.writing import UnfinishedFile, going_on

_BLOCK_BYTES = 8 << 20
"""50,000 of them are 390 GiB."""
_LOOKS_MAX = 3
# What is said where something stands that was not expected, or the blocks have been consumed.
_CONFLICTS = ("BlobAlreadyExists", "ConditionNotMet", "InvalidBlockList", "TargetConditionNotMet")

BLOB = {"x-ms-blob-type": "BlockBlob"}


class BlobWriter:
    """A file that is visible when it is finished, in place of another if one stands there.

    In either kind of account it goes through the endpoint for blobs: at the other one a file is
    there, and empty, from its creation on. What stands is replaced on condition that it is what was
    seen there, so a request that takes effect after it was given up on cannot replace what a
    repeated one has made. A nonce of the writer's own in the metadata says which writer it was.
    """

    def __init__(
        self,
        container: Container,
        ahead: BlocksAhead,
        path: StorePath,
        nonce: Nonce | None,
    ) -> None:
        """Write a file.

        Args:
            container: Where to.
            ahead: How many of its blocks may be on their way beside those of other files.
            path: Its path.
            nonce: What it carries besides, as other files of one attempt do.
        """
        self._container = container
        self._ahead = ahead
        self._file = UnfinishedFile(path)
        self._nonce = nonce
        self._own = SYSTEM_IDS.nonce()
        self._expecting: Expectation = Expect.ABSENT
        self._blocks: list[str] = []
        self._unsent: dict[str, Pieces] = {}
        """Blocks that are on their way, and those that failed."""
        self._failed: list[str] = []
        self._sending = Sending()

    async def write(self, data: bytes) -> None:
        """Append *data*; what is more than a block is sent, while the caller goes on.

        Raises:
            StoreError: A block, perhaps one of an earlier call, was not stored; the next call sends
                it again.
        """
        self._file.append(data)
        with going_on():
            await self._send_again()
            while len(self._file.held) > _BLOCK_BYTES:
                await self._send_block()

    async def finish(self) -> Entry:
        """Send the rest and make the file visible.

        Raises:
            StoreError: It is not visible, or it is not known; it may be called again.
        """
        self._file.check()
        trouble = trouble_with(self._file.path)
        if trouble is not None:
            raise self._container.refusal("Put Blob", self._file.path, trouble, errno.EINVAL)
        with going_on():
            await self._send_again()
            while self._blocks and self._file.held:
                await self._send_block()
            await self._sending.all_sent()
            token = await self._on_what_stands()
        return self._file.finish(token, self._nonce)

    async def discard(self) -> None:
        """Leave nothing of an unfinished file; blocks that were sent expire by themselves."""
        self._file.discard()
        await self._sending.ended()
        self._unsent.clear()
        self._ahead.note(self, 0)

    async def _send_block(self) -> None:
        """Begin to send the next block, once there is room for it."""
        await self._room()
        name = block_id(self._own, len(self._blocks) + 1)
        self._unsent[name] = self._file.held.first(_BLOCK_BYTES)
        self._file.held.drop(_BLOCK_BYTES)
        self._ahead.note(self, len(self._unsent))
        self._blocks.append(name)
        self._sending.begin(self._put(name))

    async def _send_again(self) -> None:
        """Begin to send again every block that failed, as soon as there is room for it."""
        while self._failed:
            await self._room()
            self._sending.begin(self._put(self._failed.pop()))

    async def _room(self) -> None:
        """Wait until one more block may be sent; the file may have been discarded meanwhile."""
        await self._sending.room(lambda: self._ahead.at_once_max(self))
        self._file.check()

    async def _put(self, name: str) -> None:
        try:
            await self._container.send(
                "Put Block", self._file.path, body=self._unsent[name], query={"blockid": name}
            )
        except BaseException:
            self._failed.append(name)
            raise
        del self._unsent[name]
        self._ahead.note(self, len(self._unsent))

    async def _on_what_stands(self) -> Token:
        """Make the file visible; where something unexpected stands, look at it and try again."""
        looks = 0
        while True:
            self._file.check()
            try:
                return await self._show()
            except RequestFailedError as error:
                failure = error.failure
                looks += 1
                if looks == _LOOKS_MAX or not error.has_code(*_CONFLICTS):
                    raise failure from None
            there = await look(self._container, self._file.path, named=WRITER_NAME)
            expecting: Expectation = Expect.ABSENT
            if isinstance(there, Entry):
                if there.nonce == self._own:
                    return there.token
                expecting = there.token
            if expecting == self._expecting:
                raise failure
            self._expecting = expecting

    async def _show(self) -> Token:
        headers = {
            **metadata_of(self._nonce),
            **metadata_of(self._own, named=WRITER_NAME),
            **condition_of(self._expecting),
        }
        if self._blocks:
            headers["Content-Type"] = "text/xml; charset=utf-8"
            operation, body = "Put Block List", Pieces([block_list(self._blocks)])
        else:
            headers.update(BLOB)
            operation, body = "Put Blob", self._file.held.first(len(self._file.held))
        answer = await self._container.request(operation, self._file.path, headers, body=body)
        return token_of(answer.headers["etag"])
