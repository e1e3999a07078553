"""The verbs of an S3 store."""

from __future__ import annotations

from fsspec_commit.store import AdoptsUploads, Expect, Part, PendingUpload, Store, Token
from tests.unit.stores import verbs
from tests.unit.stores.verbs import NONCE, PATH, Verb, all_of, uploads

UPLOAD = PendingUpload(
    path=PATH, upload_id="u1", nonce=NONCE, parts=(Part(1, Token("e1;CRC32=AAAAAA=="), 3),)
)


def adopting(store: Store) -> AdoptsUploads:
    found: AdoptsUploads | None = uploads(store).adopting
    assert found is not None
    return found


CHANGES = {
    "put": Verb(verbs.put, "write", "s3:PutObject"),
    "delete": Verb(verbs.delete, "delete", "s3:DeleteObject"),
    "start": Verb(lambda s: uploads(s).start(PATH, NONCE), "begin an upload of", "s3:PutObject"),
    "part": Verb(
        lambda s: uploads(s).put_part(UPLOAD, 1, b"1"), "upload a part of", "s3:PutObject"
    ),
    "complete": Verb(
        lambda s: uploads(s).complete(UPLOAD, expecting=Expect.ABSENT),
        "complete the upload of",
        "s3:PutObject",
    ),
    "abort": Verb(
        lambda s: uploads(s).abort(UPLOAD), "abort the upload of", "s3:AbortMultipartUpload"
    ),
}
VERBS = {
    **CHANGES,
    "read": Verb(verbs.read, "read", "s3:GetObject"),
    "range": Verb(verbs.read_range, "read", "s3:GetObject"),
    "tree": Verb(verbs.list_tree, "list", "s3:ListBucket"),
    "children": Verb(verbs.list_children, "list", "s3:ListBucket"),
    "delete tree": Verb(verbs.delete_tree, "list", "s3:ListBucket"),
    "delete files": Verb(verbs.delete_files, "delete all below", "s3:DeleteObject"),
    "parts": Verb(
        lambda s: adopting(s).stored_parts(UPLOAD),
        "list the parts of the upload of",
        "s3:ListMultipartUploadParts",
    ),
    "pending": Verb(
        lambda s: all_of(uploads(s).pending(PATH)),
        "list the uploads below",
        "s3:ListBucketMultipartUploads",
    ),
}
