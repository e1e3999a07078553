"""The contract of uploads, on a store that has them: memory, with S3's way of uploading."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, cast
from uuid import uuid4

import fsspec
import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import OpenOptions, Part, PendingUpload, Store, Token
from fsspec_commit.testing.store_contract import OpenAgain, ReadRaw, StoreContract, WriteRaw
from fsspec_commit_stores.memory import CAPABILITIES, MemoryStore

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator

    from fsspec_commit.ids import Nonce
    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Expectation

_uploads: dict[str, tuple[StorePath, dict[int, bytes]]] = {}
_upload_ids = count()


class MemoryUploads:
    """What S3 does: parts are invisible, an upload completes once, an id is its own."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def start(self, path: StorePath, nonce: Nonce) -> PendingUpload:
        upload_id = f"upload-{next(_upload_ids)}"
        _uploads[upload_id] = (path, {})
        return PendingUpload(path=path, upload_id=upload_id, nonce=nonce)

    async def put_part(self, upload: PendingUpload, number: int, data: bytes) -> Part:
        _uploads[upload.upload_id][1][number] = data
        return Part(number, Token(f"{len(data)}-{hash(data)}"), len(data))

    async def complete(self, upload: PendingUpload, *, expecting: Expectation) -> None:
        if upload.upload_id not in _uploads:
            raise StoreError("no such upload", reply=Reply.REFUSED, path=upload.path)
        parts = _uploads[upload.upload_id][1]
        data = b"".join(parts[part.number] for part in upload.parts)
        await self.store.put(upload.path, data, expecting=expecting, within=None)
        del _uploads[upload.upload_id]

    async def abort(self, upload: PendingUpload) -> None:
        _uploads.pop(upload.upload_id, None)

    async def pending(self, prefix: StorePath) -> AsyncIterator[PendingUpload]:
        for upload_id, (path, _) in list(_uploads.items()):
            if path.startswith(f"{prefix}/"):
                yield PendingUpload(path=path, upload_id=upload_id, nonce=cast("Nonce", ""))


class UploadingStore(MemoryStore):
    """Memory that can be uploaded to."""

    capabilities = replace(
        CAPABILITIES, multipart=True, upload_keyed_by="upload_id", uploads_listable=True
    )

    @property
    def uploads(self) -> MemoryUploads:  # type: ignore[override]  # memory has none
        return MemoryUploads(self)


class TestUploads(StoreContract):
    @pytest.fixture
    def url(self) -> str:
        return f"memory://uploads-{uuid4().hex}"

    @pytest.fixture
    def store(self, runner: asyncio.Runner, url: str) -> UploadingStore:
        return runner.run(UploadingStore.open(url, OpenOptions()))

    @pytest.fixture
    def read_raw(self) -> ReadRaw:
        plain = fsspec.filesystem("memory")
        return lambda path: plain.cat_file(path) if plain.isfile(path) else None

    @pytest.fixture
    def write_raw(self) -> WriteRaw:
        return cast("WriteRaw", fsspec.filesystem("memory").pipe_file)

    @pytest.fixture
    def open_again(self, url: str) -> OpenAgain:
        return lambda: UploadingStore.open(url, OpenOptions())
