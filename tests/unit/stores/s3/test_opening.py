"""What URLs and options mean, and that the user's own reach every request."""

from __future__ import annotations

import base64
from functools import partial
from typing import TYPE_CHECKING, Any

import fsspec
import pytest
import s3fs

from fsspec_commit.errors import Reply, RequestError, StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.selection import choose
from fsspec_commit.store import AtomicRename, Expect, OpenOptions
from fsspec_commit.store.registry import adapter
from fsspec_commit_stores.s3 import S3Store
from fsspec_commit_stores.s3.renaming import S3Renames
from tests.unit.stores.responder import Answer, Received
from tests.unit.stores.s3.answers import MARK, error, tag, xml

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.stores.s3.scripted import ScriptedS3


PATH = StorePath("bucket/out/a")
NONCE = Nonce("a" * 32)
ACCOUNT = {"key": "k", "secret": "s"}


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("s3a://bucket/a", "bucket/a"),
        ("s3://my.bucket-1/with space/100%/a%2Fb/#x", "my.bucket-1/with space/100%/a%2Fb/#x"),
        ("s3://name-123-s3alias/out", "name-123-s3alias/out"),
        ("s3://name--use1-az4--x-s3/out", "name--use1-az4--x-s3/out"),
    ],
)
def test_a_url_names_a_bucket_and_a_directory(s3: ScriptedS3, url: str, root: str) -> None:
    assert s3.open(url).root == root


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("s3://bucket/a?versionId=7", "one version"),
        ("s3://arn:aws:s3:eu-west-1:123456789012:accesspoint/name/out", "alias"),
    ],
)
def test_a_url_that_names_nothing_is_refused(s3: ScriptedS3, url: str, says: str) -> None:
    with pytest.raises(RequestError, match=says) as caught:
        s3.run(S3Store.open(url, OpenOptions()))
    assert caught.value.kind == "invalid_url"


def test_urls_of_both_protocols_are_served() -> None:
    assert adapter("s3") is adapter("s3a") is S3Store


@pytest.mark.parametrize(
    "options",
    [
        {"endpont_url": "http://planted-secret"},
        {"config_kwargs": 3},
        {"client_kwargs": {"nothing": 1}},
        {"config_kwargs": {"nothing": 1}},
        {"key": "k", "username": "planted-secret"},
        {"profile": "nobody"},
        {"endpoint_url": "planted-secret"},
        {"max_concurrency": 0},
    ],
    ids=str,
)
def test_an_option_that_makes_no_sense_is_refused(s3: ScriptedS3, options: dict[str, Any]) -> None:
    with pytest.raises((RequestError, StoreError)) as caught:
        s3.run(S3Store.open("s3://bucket/out", OpenOptions(storage_options=options)))
    assert "cannot open" in str(caught.value)
    assert "planted-secret" not in str(caught.value)


def test_who_chooses_asks_for_versions(s3: ScriptedS3) -> None:
    """Only then: a worker goes by a choice that was made."""
    for status, unique in (("Enabled", True), ("Suspended", False)):
        s3.script(xml("VersioningConfiguration", tag("Status", status)))
        assert s3.open(choosing=True).capabilities.unique_tokens is unique
    assert s3.operations() == ["GET versioning", "GET versioning"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (error(404, "NoSuchBucket"), "there is no such bucket"),
        (error(403, "InvalidAccessKeyId"), "does not know the access key"),
        (error(404, "XAdminUserNotFound"), "does not know the access key"),
        (error(403, "SignatureDoesNotMatch"), "check the secret key"),
        (error(400, "ExpiredToken"), "renew the credentials"),
        (error(403, "RequestTimeTooSkewed"), "clock"),
    ],
)
def test_who_chooses_is_told_at_once_what_is_wrong(
    s3: ScriptedS3, answer: Answer, says: str
) -> None:
    s3.script(answer)
    with pytest.raises(StoreError, match=says):
        s3.open(choosing=True)
    assert len(s3.received) == 1


def test_the_filesystem_is_private(s3: ScriptedS3) -> None:
    """The user's own instance is neither taken, changed nor closed."""
    options: dict[str, Any] = {"key": "k", "secret": "s", "endpoint_url": s3.url}
    mine = fsspec.filesystem("s3", **options)
    store = s3.open(**options)
    assert store._client.made.filesystem is not mine
    assert fsspec.filesystem("s3", **options) is mine
    assert store._client.made.filesystem.asynchronous
    assert not store._client.made.filesystem.dircache.use_listings_cache
    s3fs.S3FileSystem.clear_instance_cache()


class TestCapabilities:
    @pytest.fixture
    def opened(self, s3: ScriptedS3) -> Callable[..., S3Store]:
        """At AWS, unless a test names another endpoint."""
        return partial(s3.open, endpoint_url=None)

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"client_kwargs": {"region_name": "eu-north-1"}},
            {"client_kwargs": {"region_name": "cn-north-1"}},
            {"endpoint_url": "https://s3.dualstack.eu-west-1.amazonaws.com"},
            {"endpoint_url": "https://bucket.vpce-1-2.s3.us-east-1.vpce.amazonaws.com"},
        ],
        ids=str,
    )
    def test_of_aws_all_is_known(
        self, opened: Callable[..., S3Store], options: dict[str, Any]
    ) -> None:
        store = opened(**options)
        facts = store.capabilities
        assert store.unverified_endpoint is None
        assert choose(facts).committer == "magic"
        assert facts.facts() == {
            "atomic_rename": AtomicRename.NONE,
            "exclusive_rename": False,
            "consistent_listing": True,
            "paged_listing": True,
            "multipart": True,
            "upload_keyed_by": "upload_id",
            "uploads_listable": True,
            "exclusive_create": True,
            "replace_if_match": True,
            "delete_if_match": True,
            "whole_object_publish": True,
            "token_survives_rename": False,
            "unique_tokens": None,
        }

    @pytest.mark.parametrize(
        "endpoint",
        ["http://127.0.0.1:9000", "https://amazonaws.com.example", "https://notamazonaws.com"],
    )
    def test_of_any_other_server_only_the_protocol_is_known(
        self, opened: Callable[..., S3Store], endpoint: str
    ) -> None:
        store = opened(endpoint_url=endpoint)
        facts = store.capabilities
        assert store.unverified_endpoint == f"{endpoint}/bucket"
        assert choose(facts).committer is None
        for name in (
            *("exclusive_create", "replace_if_match", "delete_if_match"),
            *("uploads_listable", "consistent_listing", "unique_tokens"),
        ):
            assert facts.facts()[name] is None, name

    def test_an_endpoint_of_the_environment_counts(
        self, opened: Callable[..., S3Store], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9000")
        assert opened().capabilities.exclusive_create is None

    def test_a_directory_bucket_renames_objects(self, opened: Callable[..., S3Store]) -> None:
        """And no other bucket does; of another's server it is to be found out how well."""
        assert opened().files is None
        store = opened("s3://name--use1-az4--x-s3/out")
        assert store.files is not None
        assert store.capabilities.atomic_rename is AtomicRename.FILE
        assert store.capabilities.exclusive_rename is True
        assert store.capabilities.token_survives_rename is None
        assert store.capabilities.unique_tokens is False

    def test_a_single_writer_promises_what_only_concurrency_needs(
        self, opened: Callable[..., S3Store]
    ) -> None:
        facts = opened(endpoint_url="http://127.0.0.1:9000", single_writer=True).capabilities
        for name in ("consistent_listing", "unique_tokens", "delete_if_match"):
            assert facts.facts()[name] is True
            assert facts.evidence[name] == "assumed"
        assert facts.exclusive_create is None


class TestRequests:
    def test_the_pool_is_as_wide_as_what_is_in_flight(self, s3: ScriptedS3) -> None:
        def config(store: S3Store) -> Any:
            return store._client.made.sdk.meta.config

        store = s3.open()
        assert config(store).max_pool_connections == store.in_flight_max
        mine = s3.open(config_kwargs={"max_pool_connections": 7})
        assert config(mine).max_pool_connections == mine.in_flight_max == 7
        options = OpenOptions(storage_options=ACCOUNT, concurrency=200)
        wide = s3.run(S3Store.open("s3://bucket/out", options))
        assert config(wide).max_pool_connections == 200
        s3.run(wide.close())

    def test_what_the_user_wants_is_in_every_request_that_knows_it(self, s3: ScriptedS3) -> None:
        store = s3.open(
            requester_pays=True,
            s3_additional_kwargs={
                "SSECustomerAlgorithm": "AES256",
                "SSECustomerKey": "k" * 32,
                "StorageClass": "STANDARD_IA",
                "Metadata": {"team": "blue", "fsspec-commit-nonce": "not ours"},
            },
        )
        uploads = store.uploads
        assert uploads is not None
        headers = {"ETag": '"e1"'}

        def answering(request: Received) -> Answer:
            if "uploads" in request.query and request.method == "POST":
                return xml("InitiateMultipartUploadResult", tag("UploadId", "u1"))
            if request.method == "POST":
                return xml("CompleteMultipartUploadResult", tag("ETag", '"e1"'))
            if request.method == "DELETE":
                return Answer(204, headers=MARK)
            return Answer(200, b"", headers | MARK if request.method != "PUT" else headers)

        s3.answering = answering

        async def everything() -> None:
            await store.put(PATH, b"1", expecting=Expect.ABSENT, within=None, nonce=NONCE)
            upload = await uploads.start(PATH, NONCE)
            part = await uploads.put_part(upload, 1, b"1")
            whole = type(upload)(path=PATH, upload_id=upload.upload_id, nonce=NONCE, parts=(part,))
            await uploads.complete(whole, expecting=Expect.ABSENT)
            await store.stat(PATH)
            await store.read(PATH, limit_bytes=9)
            await store.delete(PATH, expecting=Expect.ANYTHING)

        s3.run(everything())
        assert len(s3.received) == 7
        key = base64.b64encode(b"k" * 32).decode()
        for request in s3.received:
            assert request.headers["x-amz-request-payer"] == "requester"
            secret = request.headers.get("x-amz-server-side-encryption-customer-key")
            assert secret == (None if request.method == "DELETE" else key)
        put, start, *_ = s3.received
        # A record that is archived, as data may be, is one that nobody reads.
        assert "x-amz-storage-class" not in put.headers
        assert start.headers["x-amz-storage-class"] == "STANDARD_IA"
        for request in (put, start):
            assert request.headers["x-amz-meta-team"] == "blue"
            assert request.headers["x-amz-meta-fsspec-commit-nonce"] == NONCE

    def test_a_condition_is_never_left_out(self, s3: ScriptedS3) -> None:
        """A botocore that is too old for it says so; nothing is sent unconditionally."""
        bucket = s3.store._bucket
        known = bucket._parameters("put_object")
        bucket._known["put_object"] = known - {"IfNoneMatch"}
        with pytest.raises(StoreError, match="does not know IfNoneMatch; upgrade it"):
            s3.run(s3.store.put(PATH, b"1", expecting=Expect.ABSENT, within=None))
        assert s3.received == []

    def test_small_bodies_do_not_wait_for_leave(self, s3: ScriptedS3) -> None:
        s3.script(Answer(200, b"", {"ETag": '"e1"'}))
        for size in (0, 1000, 1 << 20):
            s3.run(s3.store.put(PATH, b"1" * size, expecting=Expect.ABSENT, within=None))
        assert ["expect" in request.headers for request in s3.received] == [
            False,
            False,
            True,
        ]

    def test_a_missing_package_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import sys

        for name in [name for name in sys.modules if name.startswith("fsspec_commit_stores.s3")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "s3fs", None)
        with pytest.raises(ImportError, match=r"pip install 'fsspec-commit\[s3\]'"):
            adapter("s3")


class TestReading:
    def test_a_file_is_read_by_one_request(self, s3: ScriptedS3) -> None:
        headers = {"ETag": '"e1"', "x-amz-meta-fsspec-commit-nonce": NONCE}
        s3.script(Answer(200, b"123", headers))
        content = s3.run(s3.store.read(PATH, limit_bytes=3))
        assert content is not None
        assert (content.data, content.entry.token, content.entry.nonce) == (b"123", "e1", NONCE)
        assert s3.operations() == ["GET"]

    def test_a_foreign_nonce_is_none(self, s3: ScriptedS3) -> None:
        headers = {"ETag": '"e1"', **MARK, "x-amz-meta-fsspec-commit-nonce": "../evil"}
        s3.script(Answer(200, b"", headers))
        found = s3.run(s3.store.stat(PATH))
        assert found is not None
        assert getattr(found, "nonce", "") is None

    def test_a_file_without_an_etag_is_none_to_rely_on(self, s3: ScriptedS3) -> None:
        s3.script(Answer(200, b""))
        with pytest.raises(StoreError, match="not S3 has answered") as caught:
            s3.run(s3.store.stat(PATH))
        assert caught.value.reply is Reply.UNKNOWN

    def test_a_file_costs_one_request_and_what_is_none_two(self, s3: ScriptedS3) -> None:
        s3.script(Answer(200, b"", {"ETag": '"e1"', **MARK}))
        s3.run(s3.store.stat(PATH))
        assert s3.operations() == ["HEAD"]
        s3.received.clear()
        s3.script(Answer(404, headers=MARK), Answer(200, b"<ListBucketResult/>", MARK))
        assert s3.run(s3.store.stat(PATH)) is None
        assert s3.operations() == ["HEAD", "GET list-type max-keys"]


def test_a_client_that_knows_no_renames_renames_nothing(
    s3: ScriptedS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    """botocore learnt of them in 1.38. What it says of an older one left the adapter as it was."""
    bucket = s3.store._bucket
    operations = bucket._model._service_description["operations"]
    monkeypatch.delitem(operations, "RenameObject", raising=False)
    source, target = bucket.path("out/a"), bucket.path("out/b")
    renamed = S3Renames(bucket).rename(
        source, target, token=None, expecting=Expect.ABSENT, within=s3.store.root
    )
    caught = s3.failure_of(renamed)
    assert caught.reply is Reply.REFUSED
    assert "the installed botocore does not know RenameObject; upgrade it" in str(caught)
    assert s3.received == []
