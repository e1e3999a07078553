"""What a job asks of GCS within its limits, counted by the proxy; and who is served at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.store import AtomicRename
from tests.scenes.attempts import learn, write
from tests.scenes.costs import ONE_FILE, TEN_TASKS, requests_of
from tests.scenes.gcs_places import GcsPlace, gcs_places
from tests.servers.gcs.kinds_of_buckets import HIERARCHICAL, ZONAL

if TYPE_CHECKING:
    from tests.servers.gcs.plugin import GcsBucket
    from tests.servers.gcs.server import GcsServer
    from tests.servers.proxy import FaultProxy

strict = pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)


@strict
class TestWhatItCosts:
    @pytest.fixture
    def place(self, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy) -> GcsPlace:
        """A destination by the proxy, once it is known what the server does."""
        place = gcs_places(gcs_bucket, endpoint_url=gcs_proxy.endpoint_url)("one")
        assert isinstance(place, GcsPlace)
        learn(place, "manifest")
        return place

    def test_no_job_writes_a_name_twice(
        self, place: GcsPlace, gcs_proxy: FaultProxy, gcs_server: GcsServer
    ) -> None:
        """The service takes one write a second of each name, and a job stays within that."""
        gcs_server.control.set(write_interval_s=60.0)
        requests_of(place, gcs_proxy, TEN_TASKS, success="json", idempotency_key="k")
        assert refused(gcs_proxy) == []

    def test_a_server_that_does_not_mark_its_answers_costs_a_look_for_each_deletion(
        self, place: GcsPlace, gcs_proxy: FaultProxy, gcs_server: GcsServer
    ) -> None:
        """And none more: Google's own mark is asked of nobody else, and nothing is believed."""
        tasks = [["part.txt"], ["other.txt"]]
        requests_of(place, gcs_proxy, tasks)
        usual = gcs_proxy.operations()
        gcs_server.control.set(is_marked=False)
        requests_of(place, gcs_proxy, tasks, mode="overwrite")
        unmarked = gcs_proxy.operations()
        looks = unmarked["objects.get"] - usual["objects.get"]
        assert 0 < looks <= unmarked["objects.delete"] + 2
        assert len(place.data().keys() - {"_SUCCESS"}) == len(tasks)

    def test_jobs_in_quick_succession_wait_for_the_marker(
        self, place: GcsPlace, gcs_proxy: FaultProxy, gcs_server: GcsServer
    ) -> None:
        """It is the one name that each of them writes anew."""
        gcs_server.control.set(write_interval_s=1.0)
        for _ in range(3):
            requests_of(place, gcs_proxy, ONE_FILE)
            # And not many times: it is known how long it takes.
            assert refused(gcs_proxy) in [[], ["objects.move"], ["objects.move"] * 2]

    @pytest.mark.parametrize("mode", ["overwrite", "overwrite_partitions"])
    def test_jobs_where_deletions_count_as_well(
        self, place: GcsPlace, gcs_proxy: FaultProxy, gcs_server: GcsServer, mode: str
    ) -> None:
        """The stale marker goes before the new one comes, and what replaces is replaced."""
        gcs_server.control.set(write_interval_s=1.0, deletions_count=True)
        for names in ("unique", "exact", "exact"):
            requests_of(
                place, gcs_proxy, [["day=1/a.txt"], ["day=1/b.txt"]], mode=mode, names=names
            )
        assert fc.jobs(place.url, **place.how) == []
        assert set(refused(gcs_proxy)) <= {"objects.move", "objects.delete", "batch"}

    @pytest.mark.parametrize("counts", [False, True], ids=["writes", "deletions as well"])
    def test_a_probe(self, place: GcsPlace, gcs_server: GcsServer, counts: bool) -> None:
        """It creates a name and replaces it, as often as the service lets it."""
        gcs_server.control.set(write_interval_s=1.0, deletions_count=counts)
        report = fc.probe(place.url, **place.how)
        assert report.ok, report
        for fact in ("exclusive_create", "replace_if_match", "delete_if_match"):
            assert report.capabilities.evidence[fact] == "probed"
            assert getattr(report.capabilities, fact) is True

    @pytest.mark.slow
    def test_a_slow_bucket_gets_no_more_than_it_takes(
        self, place: GcsPlace, gcs_proxy: FaultProxy, gcs_server: GcsServer
    ) -> None:
        """A new bucket takes a thousand writes a second and no more; this one takes fewer."""
        with fc.Job(place.url, mode="append", **place.how) as job:
            with job.task() as task:
                for number in range(200):
                    write(task, f"part-{number}.txt", str(number))
            gcs_server.control.set_load(rate_per_s=250, latency_s=0.02)
            before = len(gcs_proxy.exchanges)
            job.commit()
        commit = gcs_proxy.exchanges[before:]
        # The first 64 come at once, all the same.
        assert len([one for one in commit if one.status == 429]) < len(commit) * 0.4


def refused(proxy: FaultProxy) -> list[str]:
    """What the server was asked too soon."""
    return [one.operation for one in proxy.exchanges if one.status == 429]


class TestWhoIsServed:
    def test_by_what_a_probe_shows(self, gcs_bucket: GcsBucket) -> None:
        """The strict server does all that is declared of Google; the other one moves nothing."""
        how: dict[str, Any] = {"storage_options": gcs_bucket.storage_options}
        url = f"{gcs_bucket.url}/out"
        selection, report = fc.explain(url, **how), fc.probe(url, **how)
        facts = report.capabilities
        assert facts.exclusive_create is facts.consistent_listing is facts.replace_if_match is True
        assert facts.evidence["exclusive_create"] == "probed"
        if gcs_bucket.server.is_strict:
            assert report.ok, report
            assert selection.committer == "manifest"
            assert facts.delete_if_match is facts.exclusive_rename is True
            assert facts.atomic_rename is AtomicRename.FILE
        else:
            assert facts.atomic_rename is AtomicRename.NONE
            assert facts.delete_if_match is False
            assert selection.committer is None
            assert "renames neither files nor directories" in selection.reasons[-1]
            with pytest.raises(fc.UnsafeStoreError):
                fc.Job(url, mode="append", **how).start()
        bucket = gcs_bucket.server.client.bucket(gcs_bucket.name)
        assert list(bucket.list_blobs()) == []

    @strict
    def test_a_bucket_with_folders_is_served(self, gcs_server: GcsServer) -> None:
        url = f"gs://{gcs_server.new_bucket(**HIERARCHICAL)}/out"
        how: dict[str, Any] = {"storage_options": gcs_server.storage_options}
        assert fc.explain(url, **how).committer == "manifest"
        with fc.Job(url, mode="append", **how) as job, job.task() as task:
            write(task, "day=1/a.txt", "a")
        assert job.result is not None
        assert job.result.warnings == ()

    @strict
    def test_a_zonal_bucket_is_refused(self, gcs_server: GcsServer) -> None:
        url = f"gs://{gcs_server.new_bucket(**ZONAL)}/out"
        how: dict[str, Any] = {"storage_options": gcs_server.storage_options}
        with pytest.raises(fc.CommitError) as caught:
            fc.Job(url, mode="append", **how).start()
        assert caught.value.outcome == "not_committed"

    @strict
    @pytest.mark.parametrize(
        ("resource", "says"),
        [
            ({"retentionPolicy": {"retentionPeriod": "3600"}}, "retention policy"),
            ({"defaultEventBasedHold": True}, "default event-based hold"),
        ],
        ids=["retention", "hold"],
    )
    def test_a_bucket_that_keeps_everything_is_refused_at_start(
        self, gcs_server: GcsServer, resource: dict[str, Any], says: str
    ) -> None:
        url = f"gs://{gcs_server.new_bucket(**resource)}/out"
        how: dict[str, Any] = {"storage_options": gcs_server.storage_options}
        for mode in ("append", "overwrite"):
            with pytest.raises(fc.UnsafeStoreError, match=says):
                fc.Job(url, mode=mode, **how).start()
