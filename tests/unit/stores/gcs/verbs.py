"""The verbs of a GCS store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, RenamesFiles, Token
from tests.unit.stores import verbs
from tests.unit.stores.verbs import NONCE, PATH, ROOT, Verb

if TYPE_CHECKING:
    from fsspec_commit_stores.gcs import GcsStore

TARGET = StorePath("bucket/out/c")
CHUNK_BYTES = 8 << 20


def files(store: GcsStore) -> RenamesFiles:
    assert store.files is not None
    return store.files


async def write(store: GcsStore, *pieces: bytes) -> Any:
    writer = store.writer(PATH, within=ROOT, nonce=NONCE)
    try:
        for piece in pieces:
            await writer.write(piece)
        return await writer.finish()
    finally:
        await writer.discard()


CHANGES = {
    "put": Verb(verbs.put, "write", "storage.objects.create"),
    "write": Verb(lambda s: write(s, b"1"), "write", "storage.objects.create"),
    "begin": Verb(lambda s: write(s, bytes(CHUNK_BYTES + 1)), "write", "storage.objects.create"),
    "delete": Verb(verbs.delete, "delete", "storage.objects.delete"),
    "rename": Verb(
        lambda s: files(s).rename(
            PATH, TARGET, token=Token("7"), expecting=Expect.ABSENT, within=ROOT
        ),
        "rename",
        "storage.objects.move",
    ),
}
VERBS = {
    **CHANGES,
    "stat": Verb(verbs.stat, "look at", "storage.objects.get"),
    "read": Verb(verbs.read, "read", "storage.objects.get"),
    "range": Verb(verbs.read_range, "read", "storage.objects.get"),
    "tree": Verb(verbs.list_tree, "list", "storage.objects.list"),
    "children": Verb(verbs.list_children, "list", "storage.objects.list"),
    "delete tree": Verb(verbs.delete_tree, "list", "storage.objects.list"),
    "delete files": Verb(verbs.delete_files, "delete", "storage.objects.delete"),
}
