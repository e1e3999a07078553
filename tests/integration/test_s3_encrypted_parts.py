"""A part that stands under another etag than was answered, on real servers.

With a key of KMS an etag is not that of the bytes, so a request that is carried out twice leaves
another one than the second was answered. No server of the tests encrypts so: here it is the answer
that is changed, on its way to the job.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import fsspec_commit as fc
from fsspec_commit.store import Part, Token
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore
from tests.integration.users import write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store
    from tests.servers.plugin import S3Bucket

T = TypeVar("T")


class OtherEtags:
    """Changes the etag of each part that is answered; of those of a probe none."""

    def __init__(self) -> None:
        self.changed = 0

    def wrapped(self, store: Store) -> Store:
        return WrappedStore(store, self._carry)

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        answer = await call()
        if not isinstance(answer, Part) or "/_commit/" in path:
            return answer
        self.changed += 1
        _, _, checksum = answer.token.partition(";")
        assert checksum
        changed: T = replace(answer, token=Token(f"{'0' * 32};{checksum}"))
        return changed


def test_p8_a_part_under_another_etag_loses_no_file(s3_bucket: S3Bucket) -> None:
    url, options = f"{s3_bucket.url}/out", s3_bucket.storage_options
    other = OtherEtags()
    with wrapping(other.wrapped):
        result = write(url, options, mode="append")
    assert result.warnings == ()
    assert other.changed == 2, "of the file and of the marker"
    client = s3_bucket.server.client
    listed = client.list_objects_v2(Bucket=s3_bucket.name, Prefix="out/")["Contents"]
    names = sorted(one["Key"].rpartition("/")[2] for one in listed if "/_commit/" not in one["Key"])
    assert names[0] == "_SUCCESS"
    assert len(names) == 2
    assert fc.jobs(url, storage_options=options) == []
    assert not client.list_multipart_uploads(Bucket=s3_bucket.name).get("Uploads")
