"""Uploads in many requests, as the page on resumable uploads has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from tests.servers.gcs.plugin import GcsBucket
    from tests.servers.gcs.raw import Answer, Raw

pytestmark = pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)
UNIT = 256 * 1024


def start(raw: Raw, name: str = "big", **query: Any) -> str:
    path = f"/upload/storage/v1/b/{raw.bucket}/o"
    said = {"uploadType": "resumable", "name": name, **query}
    answer = raw.call("POST", path, {"metadata": {"nonce": "n"}}, **said)
    assert answer.status == 200
    assert answer.headers["Location"].startswith(raw.endpoint_url)
    address = urlsplit(answer.headers["Location"])
    return f"{address.path}?{address.query}"


def put(raw: Raw, session: str, content: bytes, content_range: str) -> Answer:
    return raw.call("PUT", session, content, headers={"Content-Range": f"bytes {content_range}"})


def test_chunks_make_an_object(raw: Raw) -> None:
    session = start(raw)
    question = put(raw, session, b"", "*/*")
    assert (question.status, question.headers["Range"]) == (308, None)
    chunk = put(raw, session, b"1" * UNIT, f"0-{UNIT - 1}/*")
    assert (chunk.status, chunk.headers["Range"]) == (308, f"bytes=0-{UNIT - 1}")
    assert raw.names() == []
    last = put(raw, session, b"234", f"{UNIT}-{UNIT + 2}/{UNIT + 3}")
    assert last.status == 200
    assert last.document["metadata"] == {"nonce": "n"}
    assert raw.object("GET", "big", alt="media").content == b"1" * UNIT + b"234"
    # Whoever did not hear of it may ask.
    assert put(raw, session, b"", f"*/{UNIT + 3}").document == last.document


@pytest.mark.parametrize("whole", ["*", 3 * UNIT])
def test_only_whole_units_come_before_the_last(raw: Raw, whole: object) -> None:
    session = start(raw)
    assert put(raw, session, b"1" * UNIT, f"0-{UNIT - 1}/{whole}").status == 308
    for count in (5, UNIT - 1, UNIT + 5):
        content_range = f"{UNIT}-{UNIT + count - 1}/{whole}"
        assert put(raw, session, b"2" * count, content_range).status == 400
        assert put(raw, session, b"", "*/*").headers["Range"] == f"bytes=0-{UNIT - 1}"


def test_what_has_arrived_is_not_taken_again(raw: Raw) -> None:
    session = start(raw)
    put(raw, session, b"1" * UNIT, f"0-{UNIT - 1}/*")
    again = put(raw, session, b"2" * UNIT + b"3", f"0-{UNIT}/{UNIT + 1}")
    assert again.status == 200
    assert raw.object("GET", "big", alt="media").content == b"1" * UNIT + b"3"


def test_a_gap_is_refused(raw: Raw) -> None:
    session = start(raw)
    assert put(raw, session, b"1" * UNIT, f"{UNIT}-{2 * UNIT - 1}/*").status == 400
    assert put(raw, session, b"12", "0-0/*").status == 400
    assert put(raw, session, b"12", "nonsense").status == 400


def test_an_empty_object_is_uploaded(raw: Raw) -> None:
    assert put(raw, start(raw), b"", "*/0").document["size"] == "0"


def test_all_may_come_at_once(raw: Raw) -> None:
    assert raw.call("PUT", start(raw), b"one").document["size"] == "3"


def test_a_cancelled_upload_is_over(raw: Raw) -> None:
    session = start(raw)
    assert raw.call("DELETE", session).status == 499
    assert raw.call("DELETE", session).status == 499
    assert put(raw, session, b"1", "0-0/1").status == 499
    assert raw.names() == []


def test_the_precondition_is_for_the_end(raw: Raw) -> None:
    session = start(raw, ifGenerationMatch=0)
    raw.insert("big", b"other")
    assert put(raw, session, b"one", "0-2/3").reason == "conditionNotMet"
    assert raw.object("GET", "big", alt="media").content == b"other"


def test_a_session_of_nobody_is_not_found(raw: Raw) -> None:
    path = f"/upload/storage/v1/b/{raw.bucket}/o"
    assert raw.call("PUT", path, b"", upload_id="none").status == 404


def test_a_kill_loses_no_upload(gcs_bucket: GcsBucket, raw: Raw) -> None:
    session = start(raw)
    put(raw, session, b"1" * UNIT, f"0-{UNIT - 1}/*")
    gcs_bucket.server.kill()
    gcs_bucket.server.restart()
    assert put(raw, session, b"", "*/*").headers["Range"] == f"bytes=0-{UNIT - 1}"
    assert put(raw, session, b"2", f"{UNIT}-{UNIT}/{UNIT + 1}").status == 200
    assert raw.object("GET", "big", alt="media").content == b"1" * UNIT + b"2"
