"""S3's directory buckets rename objects: both contracts, on our own server, which has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

import fsspec_commit as fc
from fsspec_commit.store import OpenOptions
from fsspec_commit.testing import assert_committed
from fsspec_commit.testing.committer_contract import CommitterContract
from fsspec_commit.testing.committer_contract.given import Given
from fsspec_commit.testing.committer_contract.lifecycle import LifecycleContract
from fsspec_commit.testing.store_contract import OpenAgain, ReadRaw, StoreContract, WriteRaw
from fsspec_commit_stores.s3 import S3Store
from tests.servers.faults import AnswerInstead, Rule
from tests.servers.proxy import FaultProxy
from tests.servers.slow_s3.server import SlowS3

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator, Mapping

# Without it each store that is opened reads all the certificates of the system.
pytestmark = pytest.mark.usefixtures("s3_environment")


@pytest.fixture(scope="module")
def server() -> Iterator[SlowS3]:
    with SlowS3() as server:
        yield server


@pytest.fixture(scope="module")
def bucket(server: SlowS3) -> str:
    return server.new_bucket(of_directories=True)


@pytest.fixture
def client(server: SlowS3) -> Any:
    return server.client


@pytest.fixture
def url(bucket: str) -> str:
    return f"s3://{bucket}/top/{uuid4().hex}"


@pytest.fixture
def options(server: SlowS3) -> OpenOptions:
    return OpenOptions(storage_options=server.storage_options)


class TestDirectoryBucket(StoreContract):
    """Races run as tasks of one loop: it is the server, a process, that decides them.

    Readers beside a writer are threads: a loop would take turns between them.
    """

    page_entries = 100

    @pytest.fixture
    def options(self, server: SlowS3) -> OpenOptions:
        """Short pages: to fill one of S3's is a thousand requests."""
        short = {"MaxKeys": self.page_entries}
        return OpenOptions(
            storage_options={**server.storage_options, "s3_additional_kwargs": short}
        )

    @pytest.fixture
    def open_again(
        self, request: pytest.FixtureRequest, url: str, options: OpenOptions
    ) -> OpenAgain | None:
        if request.node.originalname != "test_put_is_whole":
            return None
        return lambda: S3Store.open(url, options)

    @pytest.fixture
    def store(self, runner: asyncio.Runner, url: str, options: OpenOptions) -> Iterator[S3Store]:
        store = runner.run(S3Store.open(url, options))
        yield store
        runner.run(store.close())

    @pytest.fixture
    def read_raw(self, client: Any) -> ReadRaw:
        def read(path: str) -> bytes | None:
            name, _, key = path.partition("/")
            try:
                data: bytes = client.get_object(Bucket=name, Key=key)["Body"].read()
            except ClientError:
                return None
            return data

        return read

    @pytest.fixture
    def write_raw(self, client: Any) -> WriteRaw:
        def write(path: str, data: bytes) -> None:
            name, _, key = path.partition("/")
            client.put_object(Bucket=name, Key=key, Body=data)

        return write


class OnServer(Given):
    """A directory of a directory bucket."""

    @pytest.fixture
    def destination(self, url: str, server: SlowS3) -> str:
        # Its calls are the first job's only: every later one of a process knows the answer.
        assert fc.explain(url, storage_options=server.storage_options).committer == "manifest"
        return url

    @pytest.fixture
    def storage_options(self, server: SlowS3) -> Mapping[str, object]:
        return server.storage_options


class TestDirectoryBucketJobs(OnServer, LifecycleContract):
    """By day; the rest by night, as that of other buckets on other servers."""


@pytest.mark.slow
class TestDirectoryBucketCommits(OnServer, CommitterContract):
    """Everything; faults at some calls, as on the other stores that `manifest` is for."""

    @pytest.fixture
    def every(self) -> int:
        return 9


def test_the_committer_is_manifest(url: str, server: SlowS3) -> None:
    selection = fc.explain(url, storage_options=server.storage_options)
    assert selection.committer == "manifest", selection.reasons
    assert selection.capabilities.exclusive_rename is True
    assert selection.capabilities.evidence["exclusive_rename"] == "probed"


def test_a_file_costs_one_rename(url: str, server: SlowS3) -> None:
    """And where an upload is not needed, none is begun."""
    # Probes, if no test before this one has.
    fc.explain(url, storage_options=server.storage_options)
    before = server.statistics().requests
    with fc.Job(url, storage_options=server.storage_options) as job, job.task() as task:
        for number in range(20):
            with task.open(f"{number}.txt", "w") as file:
                file.write("1")
    made = server.statistics().requests - before
    assert made["RenameObject"] == 20 + 1  # the marker
    assert made["CreateMultipartUpload"] == made["CopyObject"] == 0


def test_a_denied_rename_says_what_to_allow(url: str, server: SlowS3) -> None:
    """After the decision: the job is finished by whoever may rename."""
    with FaultProxy(server.endpoint_url) as proxy:
        options = {**server.storage_options, "endpoint_url": proxy.endpoint_url}
        fc.explain(url, storage_options=options)  # probes
        denied = AnswerInstead(403, "AccessDenied")
        proxy.add(Rule(denied, where=lambda one: "renameObject" in one.query, times=None))
        with (
            pytest.raises(fc.PartialCommitError, match="s3express:CreateSession") as caught,
            fc.Job(url, storage_options=options) as job,
            job.task() as task,
            task.open("a.txt", "w") as file,
        ):
            file.write("1")
    assert caught.value.job_id is not None
    fc.resume(url, caught.value.job_id, storage_options=server.storage_options)
    assert_committed(url, file_count=1, storage_options=server.storage_options)
