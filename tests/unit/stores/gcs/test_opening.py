"""What URLs and options mean, and that the user's own reach every request."""

from __future__ import annotations

import os
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import aiohttp
import pytest

from fsspec_commit.errors import RequestError, StoreError, UnsafeStoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.selection import choose
from fsspec_commit.store import AtomicRename, Entry, Expect, OpenOptions, Token
from fsspec_commit.store.registry import adapter
from fsspec_commit_stores.gcs import GcsStore
from fsspec_commit_stores.gcs.opening import _session
from tests.unit.stores.gcs.answers import DELETED, NO_BUCKET, bucket, error, resource, said
from tests.unit.stores.gcs.verbs import TARGET, VERBS, files
from tests.unit.stores.responder import Answer
from tests.unit.stores.verbs import PATH, all_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.stores.gcs.scripted import ScriptedGcs


ROOT = StorePath("bucket/out")
ODD = "a b/100%/a%2Fb=1/#x?y&z/[*]/\u00c5\U0001f642"
QUOTED = "a%20b%2F100%25%2Fa%252Fb%3D1%2F%23x%3Fy%26z%2F%5B%2A%5D%2F%C3%85%F0%9F%99%82"


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("gcs://bucket/a", "bucket/a"),
        ("gs://my.bucket-1/with space/100%/a%2Fb/#x", "my.bucket-1/with space/100%/a%2Fb/#x"),
        ("gs://bucket/a#1234567890123456", "bucket/a#1234567890123456"),
    ],
)
def test_a_url_names_a_bucket_and_a_directory(gcs: ScriptedGcs, url: str, root: str) -> None:
    assert gcs.open(url).root == root


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("gs://My Bucket/out", "names no bucket"),
        ("gs://bucket/a\nb", "line break"),
    ],
)
def test_a_url_that_names_nothing_is_refused(gcs: ScriptedGcs, url: str, says: str) -> None:
    with pytest.raises(RequestError, match=says) as caught:
        gcs.run(GcsStore.open(url, OpenOptions()))
    assert caught.value.kind == "invalid_url"


def test_urls_of_both_protocols_are_served() -> None:
    assert adapter("gs") is adapter("gcs") is GcsStore


@pytest.mark.parametrize(
    "options",
    [
        {"access": "planted-secret"},
        {"token": {"planted-secret": 1}},
        {"token": 3},
        {"token": "google_default"},
        {"endpoint_url": "planted-secret"},
        {"endpoint_url": "http://user:planted-secret@127.0.0.1:1"},
        {"requests_timeout": "planted-secret"},
        {"session_kwargs": {"nothing": 1}},
        {"session_kwargs": 7},
    ],
    ids=str,
)
def test_an_option_that_makes_no_sense_is_refused(
    gcs: ScriptedGcs, options: dict[str, Any]
) -> None:
    given = OpenOptions(storage_options={"token": "anon", **options})
    with pytest.raises((RequestError, StoreError)) as caught:
        gcs.run(GcsStore.open("gs://bucket/out", given))
    assert "cannot open" in str(caught.value)
    assert "planted-secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_the_users_options_reach_every_request(gcs: ScriptedGcs) -> None:
    store = gcs.open(
        requester_pays="payer", session_kwargs={"headers": {"X-Mine": "1"}}, block_size=1
    )
    gcs.script(error(403, "forbidden"))
    for call, _, _ in VERBS.values():
        gcs.failure_of(call(store))
    assert len(gcs.received) == len(VERBS)
    assert {one.query["userProject"] for one in gcs.received} == {"payer"}
    assert {one.headers["x-mine"] for one in gcs.received} == {"1"}
    assert {one.headers["authorization"] for one in gcs.received} == {"Bearer planted-token"}
    mine = gcs.open(requester_pays=True, project="my-project")
    gcs.failure_of(mine.stat(PATH))
    assert gcs.received[-1].query["userProject"] == "my-project"


def test_an_emulator_is_named_by_the_environment(
    gcs: ScriptedGcs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs.url.removeprefix("http://"))
    store = gcs.open(endpoint_url=None)
    gcs.script(said(resource()))
    assert isinstance(gcs.run(store.stat(PATH)), Entry)
    assert store.unverified_endpoint == f"{gcs.url}/bucket"


def test_a_connector_of_the_user_stays_open(gcs: ScriptedGcs) -> None:
    async def used() -> None:
        async with aiohttp.TCPConnector(limit=1) as connector:
            options = {
                "token": "anon",
                "endpoint_url": gcs.url,
                "session_kwargs": {"connector": connector},
            }
            store = await GcsStore.open("gs://bucket", OpenOptions(storage_options=options))
            gcs.script(said(resource()))
            await store.stat(PATH)
            await store.close()
            assert not connector.closed

    gcs.run(used())


def test_names_are_quoted_to_the_byte(gcs: ScriptedGcs) -> None:
    store = gcs.store
    odd = StorePath(f"bucket/{ODD}")
    answer = said(resource(name=ODD, kind="storage#objects"))
    gcs.answering = lambda one: DELETED if one.method == "DELETE" else answer

    async def all_verbs() -> None:
        await store.stat(odd)
        await store.delete(odd, expecting=Expect.ANYTHING)
        await files(store).rename(odd, TARGET, token=Token("7"), expecting=Token("8"), within=ROOT)
        await store.put(odd, b"1", expecting=Token("9"), within=None)
        await all_of(store.list_tree(odd))

    gcs.run(all_verbs())
    told = [one.target for one in gcs.received]
    fields = "fields=generation"
    assert told == [
        f"/storage/v1/b/bucket/o/{QUOTED}?{fields}%2Csize%2Cmetadata",
        f"/storage/v1/b/bucket/o/{QUOTED}",
        (
            f"/storage/v1/b/bucket/o/{QUOTED}/moveTo/o/out%2Fc"
            f"?ifGenerationMatch=8&ifSourceGenerationMatch=7&{fields}"
        ),
        (
            "/upload/storage/v1/b/bucket/o?uploadType=multipart&ifGenerationMatch=9"
            f"&{fields}%2Csize%2Ccrc32c&name={QUOTED}"
        ),
        (
            f"/storage/v1/b/bucket/o?prefix={QUOTED}%2F"
            "&fields=kind%2CnextPageToken%2Cprefixes%2Citems%28name%2Csize%2Cgeneration%29"
            "&maxResults=1000"
        ),
    ]


def test_a_token_of_another_store_is_no_generation(gcs: ScriptedGcs) -> None:
    """Asked for as a generation that no object has: 0 would say that there is none."""
    gcs.script(error(412, "conditionNotMet"))
    for token in ("0", "0-no-content", "-7", "7 ", "\u0667", "9" * 30, ""):
        gcs.failure_of(gcs.store.delete(PATH, expecting=Token(token)))
    conditions = {one.query["ifGenerationMatch"] for one in gcs.received}
    assert conditions == {str((1 << 63) - 1)}


def test_a_range_of_a_store_that_minds_none(gcs: ScriptedGcs) -> None:
    gcs.script(Answer(200, b"0123456789", {"x-goog-generation": "7"}))
    assert gcs.run(gcs.store.read_range(PATH, start=3, length=4)) == b"3456"
    gcs.script(error(416, "requestedRangeNotSatisfiable"))
    assert gcs.run(gcs.store.read_range(PATH, start=99, length=4)) == b""


class TestChoosing:
    """Whoever is to choose a committer asks what kind of bucket it is; nobody else does."""

    def test_one_request(self, gcs: ScriptedGcs) -> None:
        gcs.script(bucket())
        gcs.open(choosing=True)
        (asked,) = gcs.received
        assert asked.path == "/storage/v1/b/bucket"

    @pytest.mark.parametrize(
        ("told", "says"),
        [
            ({"retentionPolicy": {"retentionPeriod": "60"}}, "retention policy forbids deleting"),
            ({"defaultEventBasedHold": True}, "default event-based hold forbids deleting"),
        ],
        ids=str,
    )
    def test_a_bucket_that_keeps_everything_is_refused(
        self, gcs: ScriptedGcs, told: dict[str, Any], says: str
    ) -> None:
        gcs.script(bucket(**told))
        with pytest.raises(UnsafeStoreError, match=says) as caught:
            gcs.open(choosing=True)
        assert caught.value.kind == "retention"
        gcs.open()  # whoever reads, or goes on with a job

    @pytest.mark.parametrize("denied", [False, True])
    def test_a_zonal_bucket_creates_nothing_exclusively(
        self, gcs: ScriptedGcs, *, denied: bool
    ) -> None:
        zonal = bucket(locationType="zone")
        gcs.script(*([error(403, "forbidden"), zonal] if denied else [zonal]))
        store = gcs.open(choosing=True)
        assert store.capabilities.exclusive_create is False
        chosen = choose(store.capabilities)
        assert chosen.committer is None
        assert "no exclusive create" in chosen.reasons[-1]
        paths = [one.path for one in gcs.received]
        layout = ["/storage/v1/b/bucket/storageLayout"]
        assert paths == ["/storage/v1/b/bucket", *(layout if denied else [])]

    @pytest.mark.parametrize("layout", [error(403, "forbidden"), error(404, "notFound")])
    def test_a_bucket_that_may_not_be_asked_is_one_like_most(
        self, gcs: ScriptedGcs, layout: Answer
    ) -> None:
        gcs.script(error(403, "forbidden"), layout)
        assert gcs.open(choosing=True).capabilities == gcs.open().capabilities

    @pytest.mark.parametrize(
        ("answer", "says"),
        [
            (NO_BUCKET, "there is no such bucket"),
            (error(404, "notFound"), "it is not there"),
            (error(401, "authError"), "have expired"),
            (error(403, "accountDisabled"), "billing account is disabled"),
            (error(403, "userProjectAccessDenied"), "bill"),
        ],
    )
    def test_who_chooses_is_told_at_once_what_is_wrong(
        self, gcs: ScriptedGcs, answer: Answer, says: str
    ) -> None:
        gcs.script(answer)
        with pytest.raises(StoreError, match=says):
            gcs.open(choosing=True)
        assert len(gcs.received) == 1


class TestCapabilities:
    @pytest.fixture
    def opened(self, gcs: ScriptedGcs) -> Callable[..., GcsStore]:
        """At Google, unless a test names another endpoint."""
        return partial(gcs.open, endpoint_url=None, token="anon")

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"endpoint_url": "https://storage.googleapis.com"},
            {"endpoint_url": "https://storage.europe-west3.rep.googleapis.com"},
        ],
        ids=str,
    )
    def test_of_google_all_is_known(
        self, opened: Callable[..., GcsStore], options: dict[str, Any]
    ) -> None:
        store = opened(**options)
        facts = store.capabilities
        assert store.unverified_endpoint is None
        assert choose(facts).committer == "manifest"
        assert facts.facts() == {
            "atomic_rename": AtomicRename.FILE,
            "exclusive_rename": True,
            "consistent_listing": True,
            "paged_listing": True,
            "multipart": False,
            "upload_keyed_by": None,
            "uploads_listable": None,
            "exclusive_create": True,
            "replace_if_match": True,
            "delete_if_match": True,
            "whole_object_publish": True,
            "token_survives_rename": False,
            "unique_tokens": True,
        }

    @pytest.mark.parametrize(
        "endpoint",
        [
            "http://127.0.0.1:4443",
            "https://googleapis.com.example",
            "https://notgoogleapis.com",
            "https://storage.googleapis.com.example/storage.googleapis.com",
        ],
    )
    def test_of_any_other_server_only_the_protocol_is_known(
        self, opened: Callable[..., GcsStore], endpoint: str
    ) -> None:
        store = opened(endpoint_url=endpoint)
        facts = store.capabilities
        assert store.unverified_endpoint is not None
        assert facts.exclusive_create is facts.exclusive_rename is None
        assert facts.consistent_listing is facts.delete_if_match is None
        assert facts.atomic_rename is AtomicRename.FILE
        assert choose(facts).committer is None

    def test_another_universe_is_google(
        self, opened: Callable[..., GcsStore], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GOOGLE_CLOUD_UNIVERSE_DOMAIN", "universe.example")
        assert opened().unverified_endpoint is None

    def test_a_single_writer_needs_less(self, opened: Callable[..., GcsStore]) -> None:
        store = opened(endpoint_url="http://127.0.0.1:4443", single_writer=True)
        assert store.capabilities.consistent_listing is True
        assert store.capabilities.delete_if_match is True
        assert store.capabilities.evidence["delete_if_match"] == "assumed"
        assert store.capabilities.exclusive_create is None


def test_an_older_gcsfs_opens(gcs: ScriptedGcs) -> None:
    """It knows of no certificates of clients; that was told as missing credentials."""

    class Older:
        session_kwargs: ClassVar[dict[str, Any]] = {}

        async def _set_session(self) -> Any:
            return SimpleNamespace(**self.session_kwargs)

    session: Any = gcs.run(_session(Older(), 3))
    assert session.connector.limit == 3
    gcs.run(session.connector.close())


def test_no_test_waits_for_google() -> None:
    """gcsfs looks when it is imported, whichever test is the first to do that."""
    assert os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] == "false"
