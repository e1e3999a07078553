"""What a job asks of S3 alone, counted by the proxy; and what others see meanwhile."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow.csv
import pytest

from tests.demo.flights import FLIGHTS, all_flights
from tests.integration.cli.command import command
from tests.protocol.invariants import raw_visible
from tests.scenes.attempts import learn
from tests.scenes.costs import ONE_FILE, TEN_TASKS, exchanged, requests_of
from tests.scenes.places import keep_versions, s3_places
from tests.servers.faults import Rule
from tests.servers.kinds import EVERY_RUN
from tests.sweeps import WHOLE_ON

if TYPE_CHECKING:
    from pathlib import Path

    from tests.scenes.places import S3Place
    from tests.servers.http_messages import Request
    from tests.servers.plugin import S3Bucket
    from tests.servers.proxy import FaultProxy

PER_JOB = 22
PER_COMMIT = 18
DAYS = 365
LISTINGS = {"ListObjectsV2", "ListObjects", "ListObjectVersions"}


def proxied(bucket: S3Bucket, proxy: FaultProxy) -> S3Place:
    """A destination by the proxy, once it is known what the server does."""
    place: S3Place = s3_places(bucket, endpoint_url=proxy.endpoint_url)("one")
    learn(place)
    proxy.clear()
    return place


one_server_by_day = pytest.mark.parametrize(
    "s3_server",
    [
        pytest.param(kind.name, marks=() if kind.name == WHOLE_ON["s3"] else pytest.mark.slow)
        for kind in EVERY_RUN
    ],
    indirect=True,
)
"""What a job asks is its own; what else a server lets it ask is found by night."""


@one_server_by_day
def test_an_append_asks_for_uploads_once_and_for_a_marker_s_key_once(
    s3_bucket: S3Bucket, s3_proxy: FaultProxy
) -> None:
    """Whether a marker stands is asked of its name: where none does, also of one key below it."""
    place = proxied(s3_bucket, s3_proxy)
    names = [f"day={day}/part.txt" for day in range(20)]
    for first in (True, False):
        requests_of(place, s3_proxy, [names, names])
        listings = [one for one in s3_proxy.exchanges if one.operation in LISTINGS]
        of_marker = [one for one in listings if one.query["prefix"].endswith("/_SUCCESS/")]
        assert [one.query["max-keys"] for one in of_marker] == (["1"] if first else [])
        assert s3_proxy.operations()["ListMultipartUploads"] == 1
        asked_of = {one.path + one.query.get("prefix", "") for one in s3_proxy.exchanges}
        assert not any("__magic" in path for path in asked_of)  # Nobody else writes for it.


@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
def test_a_key_costs_two_looks_and_a_mark(s3_bucket: S3Bucket, s3_proxy: FaultProxy) -> None:
    """Nobody looks for a directory of the mark's name."""
    place = proxied(s3_bucket, s3_proxy)
    requests_of(place, s3_proxy, ONE_FILE)
    requests_of(place, s3_proxy, ONE_FILE)
    without = len(s3_proxy.exchanges)
    requests_of(place, s3_proxy, ONE_FILE, idempotency_key="k")
    of_marks = [one.operation for one in s3_proxy.exchanges if "/done/" in one.path]
    assert of_marks == ["GetObject", "GetObject", "PutObject"]
    assert len(s3_proxy.exchanges) == without + 3, exchanged(s3_proxy.exchanges)


@one_server_by_day
def test_where_versions_are_kept_it_costs_as_much(
    s3_bucket: S3Bucket, s3_proxy: FaultProxy
) -> None:
    if s3_bucket.server.name == "versitygw":
        return  # No job begins there: see test_p8_jobs_are_refused_before_any_work.
    keep_versions(s3_bucket)
    place = proxied(s3_bucket, s3_proxy)
    tasks = TEN_TASKS
    _, commit = requests_of(place, s3_proxy, tasks)
    assert len(commit) <= 10 + 2 * 10 + PER_COMMIT
    assert len(s3_proxy.exchanges) <= 3 * 10 + 3 * 10 + PER_JOB, exchanged(s3_proxy.exchanges)


class Onlooker:
    """Another client that lists the destination before each request, until the first completion.

    The listing goes past the proxy, so that it is not one of the job's requests.
    """

    def __init__(self, place: S3Place) -> None:
        self._place = place
        self.looks = 0
        self.strangers = set[str]()

    def rule(self) -> Rule:
        return Rule(where=self._looks, times=None, before=self._look)

    def _looks(self, request: Request) -> bool:
        """At the writing of records, files and parts; a look at each of 365 would take long."""
        return request.operation == "PutObject" or "partNumber" in request.query

    def _look(self) -> None:
        names = self._place.names()
        if any(re.fullmatch(r"_commit/[^/]+/decision", name) for name in names):
            return
        self.looks += 1
        self.strangers.update(name for name in names if not name.startswith("_commit/"))


@pytest.fixture
def flights(tmp_path: Path, rows: int) -> Path:
    """A few rows of each day, or all there are."""
    table = all_flights()
    assert table.num_rows == FLIGHTS
    path = tmp_path / "flights.csv"
    pyarrow.csv.write_csv(table.take(list(range(0, FLIGHTS, FLIGHTS // rows))), path)
    return path


@pytest.mark.parametrize("rows", [3_650, pytest.param(FLIGHTS, marks=pytest.mark.slow)])
@one_server_by_day
def test_a_year_of_flights(
    s3_bucket: S3Bucket,
    s3_proxy: FaultProxy,
    flights: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows: int,
) -> None:
    """The command commits 365 partitions; before the decision others see the work area only."""
    straight: S3Place = s3_places(s3_bucket)("one")
    onlooker = Onlooker(straight)
    s3_proxy.add(onlooker.rule())
    account = straight.storage_options
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", account["key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", account["secret"])
    where = f"--storage-option=endpoint_url={s3_proxy.endpoint_url}"
    ran = command("write", flights, straight.url, "--partition-by", "month,day", "--json", where)
    assert ran.status == 0, ran.err
    said = ran.document
    assert (said["committer"], said["rows"]) == ("magic", len(range(0, FLIGHTS, FLIGHTS // rows)))
    assert onlooker.looks >= DAYS
    assert onlooker.strangers == set()
    shown_ = raw_visible(straight.snapshot())
    assert len({name.rpartition("/")[0] for name in shown_}) == DAYS
    assert all(re.match(r"month=\d+/day=\d+/", name) for name in shown_)
    assert straight.pending() == []
