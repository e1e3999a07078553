"""Every lie about multipart uploads is found out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from fsspec_commit.store import (
    AtomicRename,
    Capabilities,
    Expect,
    Expectation,
    Part,
    PendingUpload,
    Token,
)
from fsspec_commit_stores.memory import MemoryStore
from tests.unit.store.probing import found, refuse, root

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fsspec_commit.ids import Nonce
    from fsspec_commit.layout import StorePath

MIB = 1 << 20


class Uploads:
    """Multipart uploads into memory, as honest as it is told to be."""

    def __init__(self, store: MemoryStore, lie: str = "", part_bytes: int | None = None) -> None:
        self.store, self.lie, self.part_bytes = store, lie, part_bytes
        self.adopting = None
        self.begun: dict[str, PendingUpload] = {}
        self.parts: dict[tuple[str, int], bytes] = {}
        self.completed: set[StorePath] = set()

    async def start(self, path: StorePath, nonce: Nonce) -> PendingUpload:
        key = path if self.lie == "one a path" else uuid4().hex
        self.begun[key] = PendingUpload(path=path, upload_id=key, nonce=nonce)
        return self.begun[key]

    async def put_part(self, upload: PendingUpload, number: int, data: bytes) -> Part:
        if len(data) > MIB and self.lie == "takes no long body":
            raise refuse(upload.path)
        self.parts[upload.upload_id, number] = data
        if self.lie == "visible":
            await self.store.put(upload.path, data, expecting=Expect.ANYTHING, within=None)
        return Part(number, Token(data[:32].hex()), len(data))

    async def complete(self, upload: PendingUpload, *, expecting: Expectation) -> None:
        if upload.upload_id not in self.begun or self.lie == "never completes":
            raise refuse(upload.path)
        if upload.path in self.completed and self.lie == "once a name":
            raise refuse(upload.path)
        lengths = {part.size_bytes for part in upload.parts[:-1]}
        if len(lengths) > 1 and self.lie == "parts of one length only":
            raise refuse(upload.path)
        del self.begun[upload.upload_id]
        if self.lie == "loses a part":
            upload = replace(upload, parts=(upload.parts[0], *upload.parts[2:]))
        data = b"".join(self.parts[upload.upload_id, part.number] for part in upload.parts)
        await self.store.put(upload.path, data, expecting=expecting, within=None)
        self.completed.add(upload.path)

    async def abort(self, upload: PendingUpload) -> None:
        self.begun.pop(upload.upload_id, None)

    async def pending(self, prefix: StorePath) -> AsyncIterator[PendingUpload]:
        for upload in list(self.begun.values()):
            if upload.path.startswith(f"{prefix}/") and self.lie != "lists none":
                yield upload


class MultipartStore(MemoryStore):
    """An object store, in memory."""

    uploads: Uploads | None = None  # type: ignore[assignment]
    files = None
    directories = None
    capabilities = Capabilities(
        atomic_rename=AtomicRename.NONE,
        consistent_listing=True,
        delete_if_match=True,
        exclusive_create=True,
        exclusive_rename=False,
        multipart=True,
        paged_listing=True,
        replace_if_match=True,
        upload_keyed_by="upload_id",
        uploads_listable=True,
        whole_object_publish=True,
    )

    def __init__(self, path: StorePath, lie: str, part_bytes: int | None = None) -> None:
        super().__init__(path)
        self.files = self.directories = None
        self.uploads = Uploads(self, lie, part_bytes)


@pytest.mark.parametrize(
    ("lie", "lies"),
    [
        ("", set[str]()),
        ("lists none", {"uploads_listable"}),
        ("one a path", {"upload_keyed_by"}),
        ("visible", {"multipart"}),
        ("never completes", {"multipart"}),
        ("once a name", {"exclusive_create"}),
    ],
)
def test_lies_about_uploads_are_found_out(lie: str, lies: set[str]) -> None:
    store = MultipartStore(root(), lie)
    assert found(store) == lies
    assert store.uploads is not None
    assert store.uploads.begun == {}, "the probe leaves no upload behind"


@pytest.mark.parametrize(
    ("lie", "part_bytes", "lies"),
    [
        ("", None, set[str]()),
        ("", 2 * MIB, set[str]()),
        ("parts of one length only", None, {"multipart"}),
        ("parts of one length only", 2 * MIB, set[str]()),
        ("takes no long body", 2 * MIB, {"multipart"}),
        ("loses a part", 2 * MIB, {"multipart"}),
        ("never completes", 2 * MIB, {"multipart"}),
    ],
)
def test_who_asks_for_a_probe_has_a_file_of_three_parts_tried(
    lie: str, part_bytes: int | None, lies: set[str]
) -> None:
    """Of parts as a task makes them: a job would hear of it when it is decided already."""
    store = MultipartStore(root(), lie, part_bytes)
    assert found(store, long=True) == lies
    assert store.uploads is not None
    assert store.uploads.begun == {}, "the probe leaves no upload behind"


def test_the_probe_of_a_job_sends_no_long_part() -> None:
    store = MultipartStore(root(), "takes no long body", 2 * MIB)
    assert found(store) == set()
