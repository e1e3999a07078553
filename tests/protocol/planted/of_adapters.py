"""Planted bugs: what adapters once got wrong of their services, disks and clients."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from azure.core.pipeline.policies import AsyncBearerTokenCredentialPolicy

from fsspec_commit_stores.azure.credentials import AccessTokens
from fsspec_commit_stores.gcs import listing as gcs
from fsspec_commit_stores.hdfs import failures as hdfs
from fsspec_commit_stores.http.listings import below
from fsspec_commit_stores.local import opening, tokens
from fsspec_commit_stores.s3 import listing as s3
from fsspec_commit_stores.s3 import store
from fsspec_commit_stores.s3.deletions import Deletions
from fsspec_commit_stores.s3.requests import Bucket

if TYPE_CHECKING:
    import pytest

    from fsspec_commit.layout import StorePath

FOR_EVER = 100
"""How often something is done that once was done for ever: a test has to end."""


def lets_parts_grow_everywhere(patch: pytest.MonkeyPatch) -> None:
    """Also where all must be of one length, as on Cloudflare R2: it says so after the decision."""
    patch.setattr(store, "PART_BYTES", None)


def takes_an_empty_page_of_s3_for_an_empty_directory(patch: pytest.MonkeyPatch) -> None:
    async def is_directory(self: s3.Listing, path: StorePath) -> bool:
        prefix = below(self._bucket.key(path))
        page = await self._page("list_objects_v2", path, {"Prefix": prefix, "MaxKeys": 1}, {})
        return bool(page.get("Contents"))

    patch.setattr(s3.Listing, "is_directory", is_directory)


def deletes_from_the_first_page_of_s3_only(patch: pytest.MonkeyPatch) -> None:
    """Where that is empty, and not the last, it is asked for again at once, and again."""

    async def delete_tree(self: Deletions, path: StorePath) -> None:
        prefix = below(self._bucket.key(path))
        for _ in range(FOR_EVER):
            page = await self._page("list_objects_v2", path, {"Prefix": prefix}, {})
            keys = [str(listed["Key"]) for listed in page.get("Contents") or ()]
            if keys:
                await self._delete(path, keys, [])
            if not page.get("IsTruncated"):
                return

    patch.setattr(Deletions, "delete_tree", delete_tree)


def takes_an_empty_page_of_gcs_for_an_empty_directory(patch: pytest.MonkeyPatch) -> None:
    async def is_directory(self: gcs.Listing, path: StorePath) -> bool:
        prefix = below(self._bucket.key(path))
        page = await self._page(path, prefix=prefix, fields=gcs._NAMES, maxResults=1)
        return bool(page.get("items"))

    patch.setattr(gcs.Listing, "is_directory", is_directory)


def deletes_from_the_first_page_of_gcs_only(patch: pytest.MonkeyPatch) -> None:
    """Where that is empty, and not the last, it is asked for again at once, and again."""

    async def delete_tree(self: gcs.Listing, path: StorePath) -> None:
        prefix = below(self._bucket.key(path))
        for _ in range(FOR_EVER):
            page = await self._page(path, prefix=prefix, fields=gcs._NAMES)
            await self._delete(path, [one["name"] for one in page.get("items", ())])
            if not page.get("nextPageToken"):
                return

    patch.setattr(gcs.Listing, "delete_tree", delete_tree)


def lets_azure_core_meet_challenges(patch: pytest.MonkeyPatch) -> None:
    """It sends the same request again, whose body was read to its end by the first one."""
    patch.setattr(AccessTokens, "on_challenge", AsyncBearerTokenCredentialPolicy.on_challenge)


def looks_for_words_in_what_hdfs_says(patch: pytest.MonkeyPatch) -> None:
    """Of any exception; and a path that reads like one of them is among the words."""
    words = r".*(?:safe mode|startup mode|not replicated yet|could only be written to).*"
    patch.setattr(hdfs, "_NOT_DONE_TEXT", re.compile(words, re.IGNORECASE))
    patch.setattr(hdfs, "_NAMELESS", hdfs._NAMELESS | hdfs._NUMBERS.keys())


def lets_out_that_credentials_have_expired(patch: pytest.MonkeyPatch) -> None:
    """As botocore says it: by an error of no class of its own, which says nothing of an outcome."""
    real = Bucket._failed

    def failed(self: Bucket, request: Any, error: BaseException, **how: Any) -> Any:
        if type(error) is RuntimeError:
            raise error
        return real(self, request, error, **how)

    patch.setattr(Bucket, "_failed", failed)


def asks_for_no_generation(patch: pytest.MonkeyPatch) -> None:
    """On a disk of whole seconds a file has the token of the one that it replaced."""
    patch.setattr(tokens, "_generation_at", lambda *_: None)
    patch.setattr(tokens, "_generation_of", lambda _: None)


def takes_tokens_of_whole_seconds_for_unique(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(opening, "keeps_whole_seconds", lambda _: False)


def asks_in_each_process_whether_versions_are_kept(patch: pytest.MonkeyPatch) -> None:
    """Who may not ask then has tokens of another form than the driver wrote down."""
    patch.setattr(store.S3Store, "go_by", lambda *_: None)
