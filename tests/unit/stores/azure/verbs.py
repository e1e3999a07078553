"""The verbs of an Azure store, of either kind of account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsspec_commit.store import Expect, Part, PendingUpload, Token
from tests.unit.stores import verbs
from tests.unit.stores.verbs import NONCE, OTHER, PATH, ROOT, Verb, uploads

if TYPE_CHECKING:
    from fsspec_commit_stores.azure import AzureStore

UPLOAD = PendingUpload(path=PATH, upload_id=NONCE, nonce=NONCE, parts=(Part(1, Token("aWQ="), 3),))
EMPTY = PendingUpload(path=PATH, upload_id=NONCE, nonce=NONCE, parts=(Part(1, Token("aWQ="), 0),))
# A signature allows the same by letters, which the message tells behind.
READ, WRITE, DELETE, MOVE = (
    f"blobs/{action} (of a signature:" for action in ("read", "write", "delete", "move/action")
)


async def rename(store: AzureStore) -> None:
    assert store.files is not None
    await store.files.rename(OTHER, PATH, token=Token("e1"), expecting=Expect.ABSENT, within=ROOT)


async def rename_directory(store: AzureStore) -> None:
    assert store.directories is not None
    await store.directories.rename_directory(OTHER, PATH, within=ROOT)


OF_BOTH = {
    "put": Verb(verbs.put, "write", WRITE),
    "delete": Verb(verbs.delete, "delete", DELETE),
    "stat": Verb(verbs.stat, "look at", READ),
    "read": Verb(verbs.read, "read", READ),
    "range": Verb(verbs.read_range, "read", READ),
    "tree": Verb(verbs.list_tree, "list", READ),
    "children": Verb(verbs.list_children, "list", READ),
}
GEN2 = {
    **OF_BOTH,
    "rename": Verb(rename, "rename", MOVE),
    "delete tree": Verb(verbs.delete_tree, "delete all below", DELETE),
}
FLAT = {
    **OF_BOTH,
    "part": Verb(lambda s: uploads(s).put_part(UPLOAD, 1, b"1"), "upload a part of", WRITE),
    "complete": Verb(
        lambda s: uploads(s).complete(UPLOAD, expecting=Expect.ABSENT),
        "complete the upload of",
        WRITE,
    ),
    "complete nothing": Verb(
        lambda s: uploads(s).complete(EMPTY, expecting=Expect.ABSENT),
        "look at the upload of",
        READ,
    ),
}
