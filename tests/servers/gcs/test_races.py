"""Of several at once one wins; what was acknowledged outlives the server."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from tests.servers.faults import AnswerAfterwards, AnswerInstead, LoseReply, Rule
from tests.servers.gcs.raw import Raw
from tests.servers.races import RACERS, ROUNDS, race

if TYPE_CHECKING:
    from tests.servers.gcs.plugin import GcsBucket
    from tests.servers.proxy import FaultProxy

strict = pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)


def test_one_of_many_inserts_wins(raw: Raw) -> None:
    for number in range(ROUNDS):
        name = f"decision-{number}"

        def insert(racer: int, name: str = name) -> int:
            return raw.insert(name, b"%d" % racer, ifGenerationMatch=0).status

        statuses = race(insert)
        assert sorted(statuses) == [200] + [412] * (RACERS - 1)
        assert raw.object("GET", name, alt="media").content == b"%d" % statuses.index(200)


@strict
def test_one_of_many_moves_to_a_name_wins(raw: Raw) -> None:
    for number in range(ROUNDS):
        for racer in range(RACERS):
            raw.insert(f"{number}/from-{racer}", b"%d" % racer)
        place = f"{number}/to"

        def move(racer: int, number: int = number, place: str = place) -> int:
            return raw.move(f"{number}/from-{racer}", place, ifGenerationMatch=0).status

        statuses = race(move)
        assert sorted(statuses) == [200] + [412] * (RACERS - 1)
        assert raw.object("GET", place, alt="media").content == b"%d" % statuses.index(200)
        assert len(raw.names(prefix=f"{number}/from-")) == RACERS - 1


@strict
def test_one_of_many_moves_of_an_object_wins(raw: Raw) -> None:
    generation = int(raw.insert("from").document["generation"])
    statuses = race(
        lambda racer: raw.move("from", f"to-{racer}", ifSourceGenerationMatch=generation).status
    )
    assert sorted(statuses) == [200] + [404] * (RACERS - 1)
    assert raw.names() == [f"to-{statuses.index(200)}"]


def test_a_kill_loses_no_object(gcs_bucket: GcsBucket) -> None:
    server = gcs_bucket.server
    blob = server.client.bucket(gcs_bucket.name).blob("kept")
    blob.metadata = {"nonce": "n1"}
    blob.upload_from_string(b"one")
    address = server.endpoint_url
    server.kill()
    assert not server.running
    server.restart()
    assert server.endpoint_url == address
    again = server.client.bucket(gcs_bucket.name).get_blob("kept")
    assert again.download_as_bytes() == b"one"
    assert again.metadata == {"nonce": "n1"}
    assert again.generation == blob.generation


@strict
def test_a_kill_takes_nothing_back(gcs_bucket: GcsBucket, raw: Raw) -> None:
    server = gcs_bucket.server
    for name in ("moved", "deleted"):
        raw.insert(name, name.encode())
    moved = raw.move("moved", "there").document
    raw.object("DELETE", "deleted")
    server.kill()
    server.restart()
    assert raw.names() == ["there"]
    assert raw.object("GET", "there").document["generation"] == moved["generation"]
    assert raw.object("GET", "there", alt="media").content == b"moved"
    later = raw.insert("later").document["generation"]
    assert int(later) > int(moved["generation"])


@strict
def test_the_proxy_names_what_passes(gcs_bucket: GcsBucket, gcs_proxy: FaultProxy) -> None:
    raw = Raw(gcs_proxy.endpoint_url, gcs_bucket.name)
    raw.insert("a b/c", b"one")
    raw.object("GET", "a b/c")
    raw.object("GET", "a b/c", alt="media")
    raw.names()
    lost = gcs_proxy.add(Rule(LoseReply(), operation="objects.move", path="/a b/c"))
    with pytest.raises(ConnectionError):
        raw.move("a b/c", "d")
    assert lost.met
    # It has happened all the same.
    assert raw.names() == ["d"]
    raw.object("DELETE", "d")
    assert gcs_proxy.operations() == {
        "objects.insert": 1,
        "objects.get": 1,
        "objects.download": 1,
        "objects.list": 2,
        "objects.move": 1,
        "objects.delete": 1,
    }


def test_the_proxy_fails_as_gcs_does(gcs_bucket: GcsBucket, gcs_proxy: FaultProxy) -> None:
    raw = Raw(gcs_proxy.endpoint_url, gcs_bucket.name)
    gcs_proxy.add(Rule(AnswerInstead(429, retry_after_s=3), operation="objects.insert"))
    gcs_proxy.add(Rule(AnswerAfterwards(), operation="objects.insert", nth=2))
    busy, late = raw.insert("a"), raw.insert("b")
    assert (busy.status, busy.reason, busy.headers["Retry-After"]) == (
        429,
        "rateLimitExceeded",
        "3",
    )
    assert (late.status, late.reason) == (500, "backendError")
    assert raw.names() == ["b"]


def test_uploads_stay_behind_the_proxy(gcs_bucket: GcsBucket, gcs_proxy: FaultProxy) -> None:
    client = gcs_bucket.server.client_through(gcs_proxy.endpoint_url)
    blob = client.bucket(gcs_bucket.name).blob("big", chunk_size=256 * 1024)
    blob.upload_from_file(io.BytesIO(b"x" * (256 * 1024 + 1)))
    client.close()
    counted = gcs_proxy.operations()
    assert (counted["uploads.start"], counted["uploads.put"]) == (1, 2)
