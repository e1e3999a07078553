"""The S3 store keeps the contract on real servers of three makers.

Of a server that is not AWS the adapter says nothing that the server alone decides: the contract
would skip what matters. Here it is told what the servers are known to do, and the contract shows
whether it is so; what one of them does not do is a row in `tests/servers/gaps.py`.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect
from fsspec_commit.testing import StoreContract
from fsspec_commit.testing.store_contract.files import FilesContract
from fsspec_commit.testing.store_contract.listings import ListingsContract
from fsspec_commit.testing.store_contract.puts import PutsContract
from fsspec_commit.testing.store_contract.uploads import UploadsContract
from fsspec_commit.testing.store_contract.writers import WritersContract
from fsspec_commit_stores.s3 import S3Store
from fsspec_commit_stores.s3.templates.calls import TemplatedCalls
from tests.contract.on_bucket import OnBucket
from tests.scenes.places import keep_versions
from tests.sweeps import some_tests_by_day
from tests.unit.stores.s3.templates.sent import SentByTemplate

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from fsspec_commit.store import Capabilities
    from tests.servers.plugin import S3Bucket
    from tests.servers.server import Server

SERVED = {
    "consistent_listing": True,
    "delete_if_match": True,
    "exclusive_create": True,
    "replace_if_match": True,
    "uploads_listable": True,
}
RACY = {
    ("seaweedfs", "test_one_of_many_uploads_gets_a_name"): (
        "conditional completions at one moment are all told that they won"
    ),
    ("seaweedfs", "TestS3VersionedStore::test_one_of_many_deletes_a_content"): (
        "where versions are kept, two conditional deletions at one moment may both be told so"
    ),
}
"""Of some classes of tests or of one: what some runs show and others do not."""


class VouchedStore(S3Store):
    """The adapter, with what the tests know of the server."""

    @property
    def capabilities(self) -> Capabilities:
        return super().capabilities.known("assumed", **SERVED)


class OnServer(OnBucket):
    @pytest.fixture(autouse=True)
    def races(self, request: pytest.FixtureRequest, s3_server: Server) -> None:
        """A gap that shows in some runs only cannot be a strict one."""
        test = request.node.originalname
        for name in (test, f"{request.node.cls.__name__}::{test}"):
            if reason := RACY.get((s3_server.name, name)):
                request.applymarker(pytest.mark.xfail(reason=reason, strict=False))

    @pytest.fixture
    def adapter(self) -> type[VouchedStore]:
        return VouchedStore

    @pytest.fixture
    def bucket(self, s3_bucket: S3Bucket) -> S3Bucket:
        return s3_bucket

    @pytest.fixture(autouse=True)
    def no_shape_is_left_to_botocore(self, store: S3Store) -> Iterator[None]:
        """So that what is shown here is shown of requests by template."""
        yield
        calls = store._bucket._call
        if isinstance(calls, TemplatedCalls):
            known = calls._templates._known
            assert [shape for shape, template in known.items() if template is None] == []

    @pytest.fixture(autouse=True)
    def no_page_is_left_to_botocore(self, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
        """So that what is shown here is shown of pages that are read by the adapter."""
        caplog.set_level(logging.DEBUG, "fsspec_commit")
        yield
        told = [one.getMessage() for one in caplog.get_records("call")]
        assert [one for one in told if "read by botocore: one is" in one] == []


class TestFrequentRequests(OnServer):
    """Each goes by template, and once, on each server."""

    @pytest.mark.parametrize("length", [1, 1 << 17, 1 << 20], ids=["short", "long", "asking leave"])
    def test_each_goes_by_template(
        self,
        runner: asyncio.Runner,
        store: S3Store,
        monkeypatch: pytest.MonkeyPatch,
        length: int,
    ) -> None:
        sent = SentByTemplate(monkeypatch)
        path, nonce = StorePath(f"{store.root}/a b/\u00fc+%.parquet"), SYSTEM_IDS.nonce()
        body = bytes(length)

        async def upload() -> None:
            begun = await store.uploads.start(path, nonce)
            part = await store.uploads.put_part(begun, 1, body)
            whole = replace(begun, parts=(part,))
            await store.uploads.complete(whole, expecting=Expect.ABSENT)
            await store.put(path, body, expecting=Expect.ANYTHING, within=None, nonce=nonce)

        runner.run(upload())
        assert sent.count == 4
        found = runner.run(store.read(path, limit_bytes=length))
        assert found is not None
        assert found.data == body
        assert runner.run(store.stat(path)) == found.entry
        runner.run(store.delete(path, expecting=Expect.ANYTHING))
        assert sent.count == 7


@pytest.mark.slow
class TestS3StoreByBotocore(OnServer, StoreContract):
    """All of it once more where nothing goes by template."""

    page_entries = 100

    @pytest.fixture
    def everywhere(self) -> dict[str, Any]:
        short = {"MaxKeys": self.page_entries}
        return {"request_templates": False, "s3_additional_kwargs": short}


@some_tests_by_day(3)
class TestS3Store(OnServer, StoreContract):
    """In a directory of a bucket, with short pages: to fill one of S3's is a thousand requests."""

    page_entries = 100

    @pytest.fixture
    def everywhere(self) -> dict[str, Any]:
        return {"s3_additional_kwargs": {"MaxKeys": self.page_entries}}


@pytest.mark.slow
class TestS3Pages(OnServer, ListingsContract):
    """The pages of a server that is told nothing; by day where versions are kept."""


@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
class TestS3BucketRoot(OnServer, FilesContract, UploadsContract):
    """In a bucket itself: no prefix to be joined with."""

    @pytest.fixture
    def prefix(self) -> str:
        return ""


class Versioned(OnServer):
    """In a bucket that keeps versions: tokens that never come back."""

    @pytest.fixture
    def bucket(self, s3_bucket: S3Bucket) -> S3Bucket:
        keep_versions(s3_bucket)
        return s3_bucket


@some_tests_by_day(3, everywhere=True)
@pytest.mark.parametrize("s3_server", ["ministack", "seaweedfs"], indirect=True)
class TestS3VersionedStore(
    Versioned, FilesContract, PutsContract, ListingsContract, WritersContract, UploadsContract
):
    """Of the two servers on which jobs are served there."""


@some_tests_by_day(6)
@pytest.mark.parametrize("s3_server", ["versitygw"], indirect=True)
class TestS3VersionsInTheWay(Versioned, PutsContract, UploadsContract):
    """Where jobs are refused, for what was deleted is in the way of what is created."""
