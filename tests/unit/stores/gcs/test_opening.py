"""What URLs and options mean, and that the user's own reach every request."""

from __future__ import annotations

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
from tests.unit.stores.gcs.verbs import CHANGES, PATH, TARGET, VERBS, all_of, failure_of, files
from tests.unit.stores.s3.responder import Answer, Responder

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from tests.unit.stores.gcs.conftest import Opening

ROOT = StorePath("bucket/out")
ODD = "a b/100%/a%2Fb=1/#x?y&z/[*]/\u00c5\U0001f642"
QUOTED = "a%20b%2F100%25%2Fa%252Fb%3D1%2F%23x%3Fy%26z%2F%5B%2A%5D%2F%C3%85%F0%9F%99%82"


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("gs://bucket", "bucket"),
        ("gs://bucket/", "bucket"),
        ("gs://bucket/a/b/", "bucket/a/b"),
        ("gcs://bucket/a", "bucket/a"),
        ("GS://bucket/a", "bucket/a"),
        ("gs://my.bucket-1/with space/100%/a%2Fb/#x", "my.bucket-1/with space/100%/a%2Fb/#x"),
        ("gs://bucket/a#1234567890123456", "bucket/a#1234567890123456"),
    ],
)
def test_a_url_names_a_bucket_and_a_directory(opening: Opening, url: str, root: str) -> None:
    assert opening(url).root == root


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("gs://", "names no bucket"),
        ("gs:///out", "names no bucket"),
        ("gs://My Bucket/out", "names no bucket"),
        ("gs://bucket//out", "components name nothing"),
        ("gs://bucket/a//b", "components name nothing"),
        ("gs://bucket/../b", "components name nothing"),
        ("gs://bucket/a\nb", "line break"),
    ],
)
def test_a_url_that_names_nothing_is_refused(runner: asyncio.Runner, url: str, says: str) -> None:
    with pytest.raises(RequestError, match=says) as caught:
        runner.run(GcsStore.open(url, OpenOptions()))
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
    runner: asyncio.Runner, options: dict[str, Any]
) -> None:
    given = OpenOptions(storage_options={"token": "anon", **options})
    with pytest.raises((RequestError, StoreError)) as caught:
        runner.run(GcsStore.open("gs://bucket/out", given))
    assert "cannot open" in str(caught.value)
    assert "planted-secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_opening_sends_nothing(responder: Responder, opening: Opening) -> None:
    opening()
    assert responder.received == []


def test_the_users_options_reach_every_request(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    store = opening(
        requester_pays="payer", session_kwargs={"headers": {"X-Mine": "1"}}, block_size=1
    )
    responder.script(error(403, "forbidden"))
    for call, _, _ in VERBS.values():
        runner.run(failure_of(call(store)))
    assert len(responder.received) == len(VERBS)
    assert {one.query["userProject"] for one in responder.received} == {"payer"}
    assert {one.headers["x-mine"] for one in responder.received} == {"1"}
    assert {one.headers["authorization"] for one in responder.received} == {"Bearer planted-token"}
    mine = opening(requester_pays=True, project="my-project")
    runner.run(failure_of(mine.stat(PATH)))
    assert responder.received[-1].query["userProject"] == "my-project"


def test_an_emulator_is_named_by_the_environment(
    runner: asyncio.Runner,
    responder: Responder,
    opening: Opening,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", responder.url.removeprefix("http://"))
    store = opening(endpoint_url=None)
    responder.script(said(resource()))
    assert isinstance(runner.run(store.stat(PATH)), Entry)
    assert store.unverified_endpoint == f"{responder.url}/bucket"


def test_a_connector_of_the_user_stays_open(runner: asyncio.Runner, responder: Responder) -> None:
    async def used() -> None:
        async with aiohttp.TCPConnector(limit=1) as connector:
            options = {
                "token": "anon",
                "endpoint_url": responder.url,
                "session_kwargs": {"connector": connector},
            }
            store = await GcsStore.open("gs://bucket", OpenOptions(storage_options=options))
            responder.script(said(resource()))
            await store.stat(PATH)
            await store.close()
            assert not connector.closed

    runner.run(used())


def test_names_are_quoted_to_the_byte(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    odd = StorePath(f"bucket/{ODD}")
    answer = said(resource(name=ODD, kind="storage#objects"))
    responder.answering = lambda one: DELETED if one.method == "DELETE" else answer

    async def all_verbs() -> None:
        await store.stat(odd)
        await store.delete(odd, expecting=Expect.ANYTHING)
        await files(store).rename(odd, TARGET, token=Token("7"), expecting=Token("8"), within=ROOT)
        await store.put(odd, b"1", expecting=Token("9"), within=None)
        await all_of(store.list_tree(odd))

    runner.run(all_verbs())
    told = [one.target for one in responder.received]
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
        ),
    ]


def test_a_token_of_another_store_is_no_generation(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    """Asked for as a generation that no object has: 0 would say that there is none."""
    responder.script(error(412, "conditionNotMet"))
    for token in ("0", "0-no-content", "-7", "7 ", "\u0667", "9" * 30, ""):
        runner.run(failure_of(store.delete(PATH, expecting=Token(token))))
    conditions = {one.query["ifGenerationMatch"] for one in responder.received}
    assert conditions == {str((1 << 63) - 1)}


def test_a_range_of_a_store_that_minds_none(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    responder.script(Answer(200, b"0123456789", {"x-goog-generation": "7"}))
    assert runner.run(store.read_range(PATH, start=3, length=4)) == b"3456"
    responder.script(error(416, "requestedRangeNotSatisfiable"))
    assert runner.run(store.read_range(PATH, start=99, length=4)) == b""


def test_no_more_is_read_than_was_asked(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    responder.script(Answer(200, b"0123456789", {"x-goog-generation": "7"}))
    caught = runner.run(failure_of(store.read(PATH, limit_bytes=9)))
    assert "it has 10 bytes, and at most 9 are read" in str(caught)
    found = runner.run(store.read(PATH, limit_bytes=10))
    assert found is not None
    assert found.entry == Entry(path=PATH, size_bytes=10, token=Token("7"))


class TestChoosing:
    """Whoever is to choose a committer asks what kind of bucket it is; nobody else does."""

    def test_one_request(self, responder: Responder, opening: Opening) -> None:
        responder.script(bucket())
        opening(choosing=True)
        (asked,) = responder.received
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
        self, responder: Responder, opening: Opening, told: dict[str, Any], says: str
    ) -> None:
        responder.script(bucket(**told))
        with pytest.raises(UnsafeStoreError, match=says) as caught:
            opening(choosing=True)
        assert caught.value.kind == "retention"
        opening()  # whoever reads, or goes on with a job

    @pytest.mark.parametrize("denied", [False, True])
    def test_a_zonal_bucket_creates_nothing_exclusively(
        self, responder: Responder, opening: Opening, *, denied: bool
    ) -> None:
        zonal = bucket(locationType="zone")
        responder.script(*([error(403, "forbidden"), zonal] if denied else [zonal]))
        store = opening(choosing=True)
        assert store.capabilities.exclusive_create is False
        chosen = choose(store.capabilities)
        assert chosen.committer is None
        assert "no exclusive create" in chosen.reasons[-1]
        paths = [one.path for one in responder.received]
        layout = ["/storage/v1/b/bucket/storageLayout"]
        assert paths == ["/storage/v1/b/bucket", *(layout if denied else [])]

    @pytest.mark.parametrize("layout", [error(403, "forbidden"), error(404, "notFound")])
    def test_a_bucket_that_may_not_be_asked_is_one_like_most(
        self, responder: Responder, opening: Opening, layout: Answer
    ) -> None:
        responder.script(error(403, "forbidden"), layout)
        assert opening(choosing=True).capabilities == opening().capabilities

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
        self, responder: Responder, opening: Opening, answer: Answer, says: str
    ) -> None:
        responder.script(answer)
        with pytest.raises(StoreError, match=says):
            opening(choosing=True)
        assert len(responder.received) == 1


class TestCapabilities:
    @pytest.fixture
    def opened(self, runner: asyncio.Runner) -> Iterator[Any]:
        stores = []

        def open_store(**options: Any) -> GcsStore:
            single = options.pop("single_writer", False)
            options = {"token": "anon", **options}
            given = OpenOptions(storage_options=options, single_writer=single)
            stores.append(runner.run(GcsStore.open("gs://bucket/out", given)))
            return stores[-1]

        yield open_store
        for store in stores:
            runner.run(store.close())

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"endpoint_url": "https://storage.googleapis.com"},
            {"endpoint_url": "https://storage.europe-west3.rep.googleapis.com"},
        ],
        ids=str,
    )
    def test_of_google_all_is_known(self, opened: Any, options: dict[str, Any]) -> None:
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
        self, opened: Any, endpoint: str
    ) -> None:
        store = opened(endpoint_url=endpoint)
        facts = store.capabilities
        assert store.unverified_endpoint is not None
        assert facts.exclusive_create is facts.exclusive_rename is None
        assert facts.consistent_listing is facts.delete_if_match is None
        assert facts.atomic_rename is AtomicRename.FILE
        assert choose(facts).committer is None

    def test_another_universe_is_google(self, opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GOOGLE_CLOUD_UNIVERSE_DOMAIN", "universe.example")
        assert opened().unverified_endpoint is None

    def test_a_single_writer_needs_less(self, opened: Any) -> None:
        store = opened(endpoint_url="http://127.0.0.1:4443", single_writer=True)
        assert store.capabilities.consistent_listing is True
        assert store.capabilities.delete_if_match is True
        assert store.capabilities.evidence["delete_if_match"] == "assumed"
        assert store.capabilities.exclusive_create is None


@pytest.mark.parametrize("verb", CHANGES)
def test_a_closed_store_can_be_closed_again(
    runner: asyncio.Runner, opening: Opening, verb: str
) -> None:
    store = opening()
    runner.run(store.close())
    runner.run(store.close())
    with pytest.raises(RuntimeError, match="closed"):
        runner.run(CHANGES[verb][0](store))


def test_an_older_gcsfs_opens(runner: asyncio.Runner) -> None:
    """It knows of no certificates of clients; that was told as missing credentials."""

    class Older:
        session_kwargs: ClassVar[dict[str, Any]] = {}

        async def _set_session(self) -> Any:
            return SimpleNamespace(**self.session_kwargs)

    session: Any = runner.run(_session(Older(), 3))
    assert session.connector.limit == 3
    runner.run(session.connector.close())
