"""When a request is made by template, and when botocore makes it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest
from aiobotocore.client import AioBaseClient
from aiobotocore.session import AioSession

from fsspec_commit.client_pool import ClientPool
from fsspec_commit.errors import RequestError
from fsspec_commit.store import Expect, OpenOptions
from fsspec_commit_stores.s3 import S3Store, sending
from fsspec_commit_stores.s3.templates import calls, known, learning
from fsspec_commit_stores.s3.templates.samples import Shape
from tests.unit.stores.responder import Answer
from tests.unit.stores.s3.answers import MARK, xml
from tests.unit.stores.s3.templates.outcomes import FREQUENT
from tests.unit.stores.s3.templates.sent import SentByTemplate
from tests.unit.stores.verbs import PATH, all_of, put

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsspec_commit_stores.s3.rehearsals import Rehearsals
    from tests.unit.stores.s3.scripted import ScriptedS3

GOOD = FREQUENT["put"].success
LEFT = "are left to botocore"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> SentByTemplate:
    caplog.set_level(logging.DEBUG, "fsspec_commit")
    return SentByTemplate(monkeypatch)


@pytest.fixture(autouse=True)
def good(s3: ScriptedS3) -> None:
    s3.answering = lambda _: GOOD


def why_left(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if LEFT in one.getMessage()]


def test_from_the_first_one_on(s3: ScriptedS3, sent: SentByTemplate, caplog: Any) -> None:
    for times in range(1, 4):
        s3.run(put(s3.store))
        assert sent.count == times
    assert len(s3.received) == 3
    assert why_left(caplog) == []


def test_what_is_not_frequent_is_botocores(s3: ScriptedS3, sent: SentByTemplate) -> None:
    s3.always(xml("ListBucketResult"))
    s3.run(all_of(s3.store.list_tree(PATH)))
    s3.answering = lambda _: Answer(
        206, b"c", {"ETag": '"e"', "Content-Range": "bytes 0-0/9", **MARK}
    )
    for start in range(40):
        s3.failure_of(s3.store.read_range(PATH, start=start + 1, length=1))
    assert sent.count == 0
    assert len(s3.received) == 42
    assert s3.store._bucket._call._templates._known == {}  # type: ignore[attr-defined]


def test_the_user_can_turn_it_off(s3: ScriptedS3, sent: SentByTemplate, caplog: Any) -> None:
    store = s3.open(request_templates=False)
    s3.run(put(store))
    assert sent.count == 0
    assert why_left(caplog) == ["S3: all requests are left to botocore: request_templates=False"]


def test_neither_on_nor_off_is_refused(s3: ScriptedS3) -> None:
    with pytest.raises(RequestError, match="request_templates= takes True or False") as caught:
        s3.open(request_templates="no")
    assert caught.value.kind == "invalid_option"


async def opened(s3: ScriptedS3, url: str = "s3://bucket/out", **options: Any) -> S3Store:
    given = {"client_kwargs": {"region_name": "eu-west-1"}, "endpoint_url": s3.url, **options}
    return await S3Store.open(url, OpenOptions(storage_options=given))


@pytest.mark.parametrize(
    ("url", "options", "why"),
    [
        ("s3://bucket/out", {"anon": True}, "all requests are left to botocore: nobody signs them"),
        ("s3://b--use1-az4--x-s3/out", {}, "by the keys of a session"),
    ],
    ids=["anonymous", "directory bucket"],
)
def test_what_is_signed_otherwise_is_botocores(
    s3: ScriptedS3, caplog: Any, url: str, options: dict[str, Any], why: str
) -> None:
    caplog.set_level(logging.DEBUG, "fsspec_commit")
    account = {} if options else {"key": "AKIAPLANTED", "secret": "planted-secret"}
    store = s3.run(opened(s3, url, **account, **options))
    [told] = why_left(caplog)
    assert why in told
    assert type(store._bucket._call) is calls.Calls
    s3.run(store.close())


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            {"config_kwargs": {"signature_version": "s3"}},
            "it is not signed by version 4 for S3",
        ),
        (
            {"s3_additional_kwargs": {"ChecksumAlgorithm": "SHA256"}},
            "the second sample has other headers: authorization, x-amz-checksum-sha256",
        ),
    ],
    ids=["version 2", "another checksum"],
)
def test_a_shape_that_cannot_be_shown_to_be_the_same_is_botocores(
    s3: ScriptedS3, sent: SentByTemplate, caplog: Any, options: dict[str, Any], why: str
) -> None:
    store = s3.open(**options)
    for _ in range(3):
        s3.run(put(store))
    assert sent.count == 0
    assert len(s3.received) == 3
    [told] = why_left(caplog)
    assert told.startswith("S3: requests of the shape put_object(Body, Bucket, ")
    assert told.endswith(f" are left to botocore: {why}")


def test_one_of_an_invocation_of_a_function_is_botocores(
    s3: ScriptedS3, sent: SentByTemplate, caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next invocation has another trace, and would be shown with the first one's."""
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "writer")
    store = s3.open()
    for trace in ("Root=1", "Root=2"):
        monkeypatch.setenv("_X_AMZN_TRACE_ID", trace)
        s3.run(put(store))
        assert s3.received[-1].headers["x-amzn-trace-id"] == trace
    assert sent.count == 0
    [told] = why_left(caplog)
    assert told.endswith("it has a header of its own: x-amzn-trace-id")


class TestHandlers:
    """Whoever wants to be told of requests, or to change them, is told of each."""

    def test_one_of_the_users_session(
        self, s3: ScriptedS3, sent: SentByTemplate, caplog: Any
    ) -> None:
        seen: list[str] = []

        def see(event_name: str, **_: Any) -> None:
            seen.append(event_name)

        session = AioSession()
        session.register("before-sign.s3", see)
        session.register("before-sign.s3.UploadPart", see)
        store = s3.open(session=session)
        for _ in range(2):
            s3.run(put(store))
        assert seen == ["before-sign.s3.PutObject"] * 2
        assert sent.count == 0
        [told] = why_left(caplog)
        assert told.endswith(f"a handler of {__name__} is called for them")

    def test_one_that_comes_later(self, s3: ScriptedS3, sent: SentByTemplate) -> None:
        seen: list[str] = []
        s3.run(put(s3.store))
        assert sent.count == 1

        def see(event_name: str, **_: Any) -> None:
            seen.append(event_name)

        events = s3.store._bucket._call._client.meta.events
        events.register("after-call.s3.PutObject", see)
        s3.run(put(s3.store))
        assert seen == ["after-call.s3.PutObject"]
        events.unregister("after-call.s3.PutObject", see)
        s3.run(put(s3.store))
        assert len(seen) == 1
        assert sent.count == 2

    def test_one_of_another_operation_does_not_matter(
        self, s3: ScriptedS3, sent: SentByTemplate
    ) -> None:
        events = s3.store._bucket._call._client.meta.events
        events.register("before-send.s3.GetObject", lambda **_: None)
        s3.run(put(s3.store))
        assert sent.count == 1

    def test_who_wraps_all_calls_sees_all_calls(
        self, s3: ScriptedS3, sent: SentByTemplate, caplog: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """So tracers do."""
        seen = traced(monkeypatch)
        s3.run(put(s3.open()))
        assert seen == ["PutObject"]
        assert sent.count == 0
        [told] = why_left(caplog)
        assert "calls of the client are watched" in told

    def test_who_begins_to_trace_between_two_jobs_sees_all_of_the_second(
        self, s3: ScriptedS3, runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Which could go on with the client of the first."""
        pool = ClientPool(runner.get_loop())
        seen: list[str] = []
        for is_traced in (False, True):
            seen = traced(monkeypatch) if is_traced else seen
            store = s3.open(clients=pool)
            s3.run(put(store))
            s3.run(store.close())
        assert seen == ["PutObject"]
        assert len(s3.received) == len(pool) == 2
        s3.run(pool.end())


def traced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all calls from now on, as a tracer sees them."""
    seen: list[str] = []

    class Traced:
        def __init__(self, wrapped: Callable[..., Any]) -> None:
            self._wrapped = wrapped

        def __get__(self, client: Any, _: object = None) -> Any:
            def call(name: str, parameters: Any) -> Any:
                seen.append(name)
                return self._wrapped(client, name, parameters)

            return call

    monkeypatch.setattr(AioBaseClient, "_make_api_call", Traced(AioBaseClient._make_api_call))
    return seen


class TestLearning:
    def test_all_who_want_one_wait_for_one(
        self, s3: ScriptedS3, sent: SentByTemplate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store, learnt = s3.open(), []
        learn = learning.template_of

        def counted(*given: Any) -> Any:
            learnt.append(1)
            return learn(*given)

        monkeypatch.setattr("fsspec_commit_stores.s3.templates.known.template_of", counted)

        async def many() -> None:
            await asyncio.gather(*(put(store) for _ in range(8)))

        s3.run(many())
        assert len(learnt) == 1
        assert sent.count == len(s3.received) == 8

    def test_there_are_not_too_many(
        self, s3: ScriptedS3, sent: SentByTemplate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(known, "SHAPES_MAX", 1)
        s3.run(put(s3.store))
        for _ in range(2):
            s3.run(s3.store.put(PATH, b"1", expecting=Expect.ANYTHING, within=None))
        assert sent.count == 1
        s3.run(put(s3.store))
        assert sent.count == 2
        assert len(s3.store._bucket._call._templates._known) == 1  # type: ignore[attr-defined]

    def test_what_cannot_be_compared_has_none(self, s3: ScriptedS3) -> None:
        templates = s3.store._bucket._call._templates  # type: ignore[attr-defined]
        odd: Any = (("Tagging", ["a"]),)
        assert templates.are_declined(Shape("put_object", (), (), False, odd))

    def test_a_sample_that_cannot_be_made_is_given_up(
        self, s3: ScriptedS3, sent: SentByTemplate, caplog: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tried: list[int] = []

        async def fail(_: Rehearsals, method: str, parameters: Any) -> Any:
            tried.append(1)
            raise ValueError("planted-secret")

        monkeypatch.setattr("fsspec_commit_stores.s3.rehearsals.Rehearsals.catch", fail)
        for _ in range(5):
            s3.run(put(s3.store))
        assert len(tried) == 3
        assert sent.count == 0
        assert len(s3.received) == 5
        [told] = why_left(caplog)
        assert told.endswith("the client fails to make a sample (ValueError)")

    def test_nothing_of_a_sample_is_ever_sent(
        self, s3: ScriptedS3, sent: SentByTemplate, caplog: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Not by a client that asks nobody before it sends: that is tried by a look."""
        store = s3.open()
        monkeypatch.setattr(sending.Sending, "note", lambda *_: None)
        for _ in range(2):
            s3.run(put(store))
        assert [one.method for one in s3.received] == ["HEAD", "PUT", "PUT"]
        assert {one.path for one in s3.received if one.method == "PUT"} == {"/bucket/out/a%20b"}
        assert sent.count == 0
        [told] = why_left(caplog)
        assert told.endswith("what the client sends is not caught")

    def test_a_store_that_sends_nothing_learns_nothing(
        self, s3: ScriptedS3, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def learn(*_: Any) -> Any:
            raise AssertionError

        monkeypatch.setattr(known, "samples_of", learn)
        s3.run(s3.open().close())


def test_a_long_body_is_botocores(s3: ScriptedS3, sent: SentByTemplate, monkeypatch: Any) -> None:
    monkeypatch.setattr(calls, "BODY_BYTES_MAX", 3)
    for length, count in ((3, 1), (4, 1), (3, 2)):
        s3.run(s3.store.put(PATH, bytes(length), expecting=Expect.ANYTHING, within=None))
        assert sent.count == count


def test_nothing_secret_is_shown_of_what_is_kept(s3: ScriptedS3, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG, "fsspec_commit")
    store = s3.open(**s3.secret_options()[0])
    s3.run(put(store))
    kept = store._bucket._call._templates._known  # type: ignore[attr-defined]
    [(shape, template)] = kept.items()
    for shown in (repr(shape), str(shape), repr(template), repr(kept), caplog.text):
        assert not any(secret in shown for secret in s3.secrets)
    assert "SSECustomerKey" in repr(shape)


def test_there_are_no_more_connections_than_the_user_wants(
    s3: ScriptedS3, sent: SentByTemplate
) -> None:
    store = s3.open(config_kwargs={"max_pool_connections": 1})

    async def many() -> None:
        await asyncio.gather(*(put(store) for _ in range(8)))

    s3.run(many())
    assert sent.count == 8
    assert s3.connections == 1
