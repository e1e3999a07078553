"""What goes wrong before a job has begun: while the store is opened, and while it is tried out.

One failure of any single request is got over there as anywhere else; what will not get better by
waiting is said soon, and nothing besides.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from tests.integration.users import leftovers, soon, told, write
from tests.scenes.places import s3_places
from tests.servers.faults import AnswerInstead, Fault, LoseReply, ResetRequest, Rule

if TYPE_CHECKING:
    from fsspec_commit.testing.sweeps import Sweep
    from tests.servers.plugin import S3Bucket
    from tests.servers.proxy import FaultProxy
    from tests.servers.server import Server

FAULTS: dict[str, Fault] = {
    "503": AnswerInstead(503, "SlowDown"),
    "429": AnswerInstead(429, "TooManyRequests"),
    "500": AnswerInstead(500, "InternalError"),
    "reset": ResetRequest(),
    "reply lost": LoseReply(),
}
every_fault = pytest.mark.parametrize("fault", FAULTS)
on_ministack = pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
# With the question whether versions are kept.
REQUESTS_LEAST = 20
# As often as any question is put.
TRIES_MOST = 8


@pytest.fixture
def options(s3_server: Server, s3_proxy: FaultProxy) -> dict[str, Any]:
    return s3_server.storage_options_through(s3_proxy.endpoint_url)


def new_url(server: Server) -> tuple[str, str]:
    """A bucket that no probe knows, and a destination in it."""
    bucket = server.new_bucket()
    return bucket, f"s3://{bucket}/out"


@pytest.mark.parametrize(
    ("s3_server", "shift", "every"),
    [
        ("ministack", 0, 3),
        *(pytest.param("ministack", n, 1, marks=pytest.mark.slow) for n in range(len(FAULTS))),
        *(pytest.param(name, 0, 1, marks=pytest.mark.slow) for name in ("seaweedfs", "versitygw")),
    ],
    indirect=["s3_server"],
)
def test_one_fault_at_any_request(
    s3_server: Server, s3_proxy: FaultProxy, options: dict[str, Any], shift: int, sweep: Sweep
) -> None:
    """Each request meets one fault, by *shift* another one, and nothing is found differently.

    By day every third: each is a whole probe of a bucket that nobody knows.
    """
    _, url = new_url(s3_server)
    plain = fc.explain(url, storage_options=options)
    assert plain.committer == "magic"
    count = len(s3_proxy.exchanges)
    assert count >= REQUESTS_LEAST
    for nth in sweep(range(1, count + 1)):
        fault = list(FAULTS)[(nth + shift) % len(FAULTS)]
        bucket, url = new_url(s3_server)
        s3_proxy.clear()
        rule = Rule(FAULTS[fault], nth=nth)
        s3_proxy.add(rule)
        where = f"{fault} at request {nth}"
        try:
            selection = fc.explain(url, storage_options=options)
        except fc.CommitError as error:
            error.add_note(f"{where} of {s3_proxy.operations()}")
            raise
        assert rule.met
        assert selection.committer == "magic", where
        assert selection.capabilities == plain.capabilities, where
        client = s3_server.client
        assert client.list_objects_v2(Bucket=bucket).get("Contents", []) == [], where
        assert client.list_multipart_uploads(Bucket=bucket).get("Uploads", []) == [], where


@on_ministack
@every_fault
def test_a_job_begins_all_the_same(
    s3_bucket: S3Bucket, s3_proxy: FaultProxy, options: dict[str, Any], fault: str
) -> None:
    """Whoever is known is asked whether versions are kept, and no more."""
    url = f"{s3_bucket.url}/out"
    fc.explain(url, storage_options=options)
    s3_proxy.clear()
    rule = Rule(FAULTS[fault], operation="GetBucketVersioning")
    s3_proxy.add(rule)
    assert write(url, options).file_count == 1
    assert rule.met
    assert fc.probe(url, storage_options=options).ok


@on_ministack
def test_a_store_that_stays_busy_is_named(
    s3_bucket: S3Bucket, s3_proxy: FaultProxy, options: dict[str, Any]
) -> None:
    url = f"{s3_bucket.url}/out"
    s3_proxy.add(Rule(FAULTS["503"], times=None))
    text = told(lambda: write(url, options))
    assert "asked to try again later (SlowDown)" in text
    assert len(s3_proxy.exchanges) <= TRIES_MOST


@pytest.mark.parametrize("known", [False, True], ids=["unknown", "known"])
def test_wrong_credentials_are_all_that_is_said(
    s3_server: Server, s3_bucket: S3Bucket, caplog: pytest.LogCaptureFixture, known: bool
) -> None:
    """No second sentence of what could not be removed: nothing was ever there."""
    place = s3_places(s3_bucket)("one")
    ministack = s3_server.name == "ministack"
    right = s3_server.storage_options_without() if ministack else s3_server.storage_options
    if known:
        fc.explain(place.url, storage_options=right)
    wrong = {**right, "secret": "not-the-secret"}
    with caplog.at_level(logging.WARNING, "fsspec_commit"):
        text = told(lambda: write(place.url, wrong))
    assert "signature does not match" in text
    assert caplog.messages == []
    assert leftovers(place) == []


@on_ministack
def test_what_cannot_be_removed_is_said(
    s3_bucket: S3Bucket,
    s3_proxy: FaultProxy,
    options: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    for operation in ("DeleteObjects", "CreateMultipartUpload"):
        s3_proxy.add(Rule(AnswerInstead(403, "AccessDenied"), operation=operation, times=None))
    place = s3_places(s3_bucket)("one")
    with caplog.at_level(logging.WARNING, "fsspec_commit"), pytest.raises(fc.CommitError):
        soon(lambda: fc.explain(place.url, storage_options=options))
    [line] = caplog.messages
    assert "was not removed; `fsspec-commit clean` removes it" in line
    assert leftovers(place) != []


@pytest.mark.slow
@pytest.mark.parametrize("s3_server", ["s3s-fs"], indirect=True)
def test_a_server_without_a_request_is_refused_with_the_reason(s3_bucket: S3Bucket) -> None:
    """It does not list uploads, which would be got over; that it lists no etags is not."""
    url, options = f"{s3_bucket.url}/out", s3_bucket.storage_options
    selection = fc.explain(url, storage_options=options)
    assert selection.committer is None
    whys = ("no exclusive create", "its listing is of no use")
    assert any(why in selection.reasons[-1] for why in whys), selection.reasons
    assert selection.capabilities.uploads_listable is False
    text = told(lambda: write(url, options))
    assert any(why in text for why in whys), text
    assert s3_bucket.server.client.list_objects_v2(Bucket=s3_bucket.name)["KeyCount"] == 0
