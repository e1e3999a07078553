"""The probe tells the servers apart: who is served, who is refused and why, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from tests.integration.users import told, write
from tests.scenes.places import keep_versions
from tests.servers.kinds import NIGHTLY
from tests.servers.survey import COLUMNS, page, row_of, table

if TYPE_CHECKING:
    from tests.servers.plugin import S3Bucket
    from tests.servers.proxy import FaultProxy
    from tests.servers.server import Server

by_night = pytest.mark.parametrize("s3_server", [kind.name for kind in NIGHTLY], indirect=True)
REQUESTS_MAX = 33


def probed(proxy: FaultProxy) -> list[str]:
    """The requests that have tried something out."""
    return [
        one.operation
        for one in proxy.exchanges
        if "/_commit/probe-" in one.path or "/_commit/probe-" in one.query.get("prefix", "")
    ]


class TestServed:
    def test_everything_is_found(self, s3_bucket: S3Bucket) -> None:
        url, options = f"{s3_bucket.url}/out", s3_bucket.storage_options
        selection = fc.explain(url, storage_options=options)
        assert selection.committer == "magic"
        facts = selection.capabilities
        assert {name: facts.facts()[name] for name in COLUMNS} == dict.fromkeys(COLUMNS, True)
        assert {facts.evidence[name] for name in COLUMNS} == {"probed"}
        assert facts.upload_keyed_by == "upload_id"
        report = fc.probe(url, storage_options=options)
        assert report.ok
        assert s3_bucket.server.client.list_objects_v2(Bucket=s3_bucket.name)["KeyCount"] == 0

    @pytest.mark.checkout
    def test_the_table_says_so(self, s3_server: Server) -> None:
        assert row_of(s3_server) == table()[s3_server.name]


@pytest.mark.parametrize("s3_server", ["versitygw"], indirect=True)
class TestVersionsInTheWay:
    """Its marker of a deletion counts as a file: `test_deleted_names.py` shows what would be."""

    @pytest.mark.parametrize("status", ["Enabled", "Suspended"])
    def test_p8_jobs_are_refused_before_any_work(self, s3_bucket: S3Bucket, status: str) -> None:
        keep_versions(s3_bucket, status)
        url, options = f"{s3_bucket.url}/out", s3_bucket.storage_options
        text = told(lambda: write(url, options, single_writer=True))
        assert "refuses to create a file where another was deleted" in text
        assert "without versioning" in text
        selection = fc.explain(url, storage_options=options)
        assert selection.committer is None
        assert selection.reasons[-1] in text
        assert fc.probe(url, storage_options=options).remarks == selection.reasons
        client = s3_bucket.server.client
        assert client.list_objects_v2(Bucket=s3_bucket.name)["KeyCount"] == 0
        assert not client.list_multipart_uploads(Bucket=s3_bucket.name).get("Uploads")


@pytest.mark.slow
@by_night
class TestByNight:
    @pytest.mark.checkout
    def test_the_table_says_so(self, s3_server: Server) -> None:
        assert row_of(s3_server) == table()[s3_server.name]

    def test_who_is_not_refused_commits(self, s3_bucket: S3Bucket) -> None:
        """And nothing is left of one who is."""
        url, options = f"{s3_bucket.url}/out", s3_bucket.storage_options
        client = s3_bucket.server.client
        if s3_bucket.server.name in {"rclone", "s3s-fs"}:
            text = told(lambda: write(url, options))
            why = {"rclone": "no exclusive create", "s3s-fs": ""}[s3_bucket.server.name]
            assert why in text
            assert client.list_objects_v2(Bucket=s3_bucket.name).get("Contents", []) == []
            return
        for mode in ("append", "overwrite"):
            assert write(url, options, mode=mode).warnings == ()
        listed = client.list_objects_v2(Bucket=s3_bucket.name, Prefix="out/")["Contents"]
        assert len([one for one in listed if one["Key"].endswith(".csv")]) == 1


@pytest.mark.checkout
def test_the_table_is_whole() -> None:
    from tests.servers.survey import NAMES, PAGE

    assert table().keys() == NAMES.keys()
    assert PAGE.read_text("utf-8") == page(table())


@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
class TestWhatItCosts:
    @pytest.fixture
    def options(self, s3_server: Server, s3_proxy: FaultProxy) -> dict[str, Any]:
        return s3_server.storage_options_through(s3_proxy.endpoint_url)

    def test_a_bucket_is_probed_once_in_a_process(
        self, s3_bucket: S3Bucket, s3_proxy: FaultProxy, options: dict[str, Any]
    ) -> None:
        write(f"{s3_bucket.url}/one", options)
        assert 0 < len(probed(s3_proxy)) <= REQUESTS_MAX
        s3_proxy.clear()
        for directory in ("one", "two"):
            write(f"{s3_bucket.url}/{directory}", options)
            fc.explain(f"{s3_bucket.url}/{directory}", storage_options=options)
        assert probed(s3_proxy) == []

    def test_another_bucket_is_another_matter(
        self, s3_bucket: S3Bucket, s3_proxy: FaultProxy, options: dict[str, Any]
    ) -> None:
        fc.explain(s3_bucket.url, storage_options=options)
        s3_proxy.clear()
        fc.explain(f"s3://{s3_bucket.server.new_bucket()}", storage_options=options)
        assert probed(s3_proxy)

    def test_a_job_that_has_begun_needs_none(
        self, s3_bucket: S3Bucket, s3_proxy: FaultProxy, options: dict[str, Any]
    ) -> None:
        """Its record says what was chosen: workers and resumers take its word."""
        url, other = f"{s3_bucket.url}/out", s3_bucket.storage_options
        job = fc.Job(url, mode="append", storage_options=other).start()
        with (
            fc.Task.from_spec(job.spec, 0, storage_options=options) as task,
            task.open("a.csv", "w") as file,
        ):
            file.write("1\n")
        assert task.message is not None
        again = fc.Job.from_spec(job.spec, storage_options=options)
        assert again.commit([task.message]).file_count == 1
        assert probed(s3_proxy) == []
        with pytest.raises(fc.JobNotActiveError):
            job.abort()

    def test_who_forbids_it_is_refused(
        self, s3_bucket: S3Bucket, s3_proxy: FaultProxy, options: dict[str, Any]
    ) -> None:
        url = f"{s3_bucket.url}/out"
        text = told(lambda: write(url, options, probe=False))
        assert "nothing declares what" in text
        assert s3_proxy.endpoint_url in text
        assert "allow the probe" in text
        assert probed(s3_proxy) == []
        assert {one.method for one in s3_proxy.exchanges} <= {"GET", "HEAD"}
        selection = fc.explain(url, probe=False, storage_options=options)
        assert selection.committer is None
        assert "allow the probe" in selection.reasons[-1]
