"""Credentials that lack one permission: what is missing is named, whatever was to be done.

By the IAM of ministack, for each action that the adapter ever needs; and for each request that it
ever sends, by a proxy that answers as a bucket policy would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit_stores.s3.operations import OPERATIONS
from tests.integration.s3_users import leftovers, settle, soon, told, told_by_the_command, write
from tests.servers.faults import AnswerInstead, Rule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.servers.plugin import S3Bucket
    from tests.servers.proxy import FaultProxy
    from tests.servers.server import Server

# Whose job could not be aborted is warned of it once more when the job is forgotten.
pytestmark = pytest.mark.filterwarnings("ignore:job .* was neither committed:ResourceWarning")
on_ministack = pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
DENIED = AnswerInstead(403, "AccessDenied")
IN_ANY_BUCKET = [method for method in OPERATIONS if method != "rename_object"]
"""The other one is of directory buckets: `tests/contract/test_s3_directory_bucket.py`."""


class MistakeOfTheWorkError(Exception):
    pass


def overwrite(url: str, options: dict[str, Any]) -> fc.CommitResult:
    return write(url, options, mode="overwrite")


def fail_after_a_file(task: fc.Task) -> None:
    with task.open("part.csv", "w") as file:
        file.write("1\n")
    raise MistakeOfTheWorkError


def drop(url: str, options: dict[str, Any]) -> None:
    """A job whose work fails when a file is written."""
    try:
        with fc.Job(url, mode="append", storage_options=options) as job, job.task() as task:
            fail_after_a_file(task)
    except MistakeOfTheWorkError as error:
        # Said as an error of ours, so that the tests below need not know how it is said.
        if notes := getattr(error, "__notes__", []):
            raise fc.CommitFailedError("; ".join(notes)) from None


@dataclass(frozen=True)
class Lacking:
    """How jobs end without one permission, on a server that is known.

    Attributes:
        overwrite: How an overwrite ends: an error, a decided job that is not finished, a warning
            of one that is, nothing.
        drop: How a job ends whose work fails: a note on its error, or nothing.
        probe: Whether a probe of an unknown server needs it.
        versioned: Whether that is so in a bucket that keeps versions.
    """

    overwrite: str
    drop: str
    probe: str = "error"
    versioned: bool = False


ACTIONS = {
    "s3:GetObject": Lacking("error", "note"),
    "s3:PutObject": Lacking("error", "error"),
    "s3:DeleteObject": Lacking("partial", "note"),
    "s3:ListBucket": Lacking("error", "note"),
    "s3:ListBucketMultipartUploads": Lacking("warning", "note"),
    # What is needed only when something goes wrong, or nothing is lost without it.
    "s3:AbortMultipartUpload": Lacking("nothing", "note", probe="nothing"),
    "s3:GetBucketVersioning": Lacking("nothing", "nothing", probe="nothing"),
    "s3:ListBucketVersions": Lacking("error", "nothing", versioned=True),
}


@pytest.fixture(params=ACTIONS)
def action(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def bucket(s3_bucket: S3Bucket, action: str) -> S3Bucket:
    if ACTIONS[action].versioned:
        s3_bucket.server.client.put_bucket_versioning(
            Bucket=s3_bucket.name, VersioningConfiguration={"Status": "Enabled"}
        )
    return s3_bucket


def check(ending: str, call: Callable[[], fc.CommitResult | None], missing: str) -> None:
    """Whether *call* ends so, and names what is missing unless it needs nothing of it."""
    if ending in {"error", "note"}:
        text = told(call)
        assert "access is denied" in text
        assert missing in text
    elif ending == "partial":
        with pytest.raises(fc.PartialCommitError) as caught:
            soon(call)
        assert missing in str(caught.value)
    else:
        result = soon(call)
        warned = result.warnings if result is not None else ()
        assert [missing in warning for warning in warned] == [True] * (ending == "warning")


def test_every_action_of_the_adapter_is_here() -> None:
    """All but the one of directory buckets, which no server here has."""
    named = {word.strip("(),") for one in OPERATIONS.values() for word in one.permissions.split()}
    assert {word for word in named if word.startswith("s3:")} == ACTIONS.keys()


@on_ministack
class TestByIam:
    def test_an_unknown_server(self, action: str, bucket: S3Bucket, s3_server: Server) -> None:
        url = f"{bucket.url}/out"
        lacking = s3_server.storage_options_without(action)
        check(ACTIONS[action].probe, lambda: write(url, lacking), action)
        settle(url, bucket.storage_options)
        assert leftovers(bucket) == []

    def test_a_job(self, action: str, bucket: S3Bucket, s3_server: Server) -> None:
        url, right = f"{bucket.url}/out", bucket.storage_options
        write(url, right)
        lacking = s3_server.storage_options_without(action)
        check(ACTIONS[action].overwrite, lambda: overwrite(url, lacking), action)
        settle(url, right)
        assert leftovers(bucket) == []
        check(ACTIONS[action].drop, lambda: drop(url, lacking), action)
        settle(url, right)
        assert leftovers(bucket) == []
        assert write(url, right).warnings == ()

    @pytest.mark.parametrize("action", ["s3:PutObject", "s3:DeleteObject"], indirect=True)
    def test_the_command(
        self, action: str, bucket: S3Bucket, s3_server: Server, tmp_path: Path
    ) -> None:
        (tmp_path / "a.csv").write_text("day,clicks\n1,2\n", "utf-8")
        url = f"{bucket.url}/out"
        lacking = s3_server.storage_options_without(action)
        line = told_by_the_command("write", tmp_path / "a.csv", url, options=lacking)
        assert f"allow {action} to these credentials" in line
        settle(url, bucket.storage_options)
        assert leftovers(bucket) == []


@pytest.mark.slow
@on_ministack
@pytest.mark.parametrize("method", IN_ANY_BUCKET)
class TestByRequest:
    """The same for each request, in a job that overwrites and one whose work fails."""

    @pytest.fixture
    def options(self, s3_server: Server, s3_proxy: FaultProxy) -> dict[str, Any]:
        return s3_server.storage_options_through(s3_proxy.endpoint_url)

    def test_a_denied_request_names_its_action(
        self, method: str, s3_bucket: S3Bucket, s3_proxy: FaultProxy, options: dict[str, Any]
    ) -> None:
        url, request = f"{s3_bucket.url}/out", OPERATIONS[method]
        missing = request.permissions.split()[0]
        if missing == "s3:ListBucketVersions":
            s3_bucket.server.client.put_bucket_versioning(
                Bucket=s3_bucket.name, VersioningConfiguration={"Status": "Enabled"}
            )
        write(url, options)
        denied = s3_proxy.add(Rule(DENIED, operation=request.name, times=None))
        said = []
        for call in (overwrite, drop):
            try:
                result = call(url, options)
            except fc.CommitError as error:
                said += [str(error), *getattr(error, "__notes__", [])]
            else:
                said += result.warnings if result is not None else ()
            s3_proxy.clear()
            settle(url, options)
            assert leftovers(s3_bucket) == []
            s3_proxy.add(denied)
        assert denied.met
        # Without the answer, etags are the tokens; a HEAD that is refused without a word is asked
        # again as a GET, which has the same permission and is not denied here.
        if method not in {"get_bucket_versioning", "head_object"}:
            assert any(missing in text for text in said), said
        assert all("\n" not in text for text in said)
        s3_proxy.clear()
        assert write(url, options).warnings == ()


@on_ministack
def test_a_worker_needs_two_permissions(s3_bucket: S3Bucket, s3_server: Server) -> None:
    url, right = f"{s3_bucket.url}/out", s3_bucket.storage_options
    others = ACTIONS.keys() - {"s3:PutObject", "s3:GetObject"}
    lacking = s3_server.storage_options_without(*others)
    with fc.Job(url, mode="append", storage_options=right) as job:
        with (
            fc.Task.from_spec(job.spec, 0, storage_options=lacking) as task,
            task.open("part.csv", "w") as file,
        ):
            file.write("1\n")
        assert task.message is not None
        assert job.commit([task.message]).warnings == ()


@on_ministack
def test_a_denied_completion_is_no_loss(
    s3_bucket: S3Bucket, s3_server: Server, s3_proxy: FaultProxy
) -> None:
    """The upload is there, and `accept_loss` must not give it up."""
    url, options = (
        f"{s3_bucket.url}/out",
        s3_server.storage_options_through(s3_proxy.endpoint_url),
    )
    fc.explain(url, storage_options=options)
    s3_proxy.add(Rule(DENIED, operation="CompleteMultipartUpload", times=None))
    with pytest.raises(fc.PartialCommitError) as caught:
        write(url, options)
    assert "allow s3:PutObject" in str(caught.value)
    job_id = caught.value.job_id
    assert job_id is not None
    with pytest.raises(fc.PartialCommitError) as again:
        fc.resume(url, job_id, accept_loss=True, storage_options=options)
    assert "allow s3:PutObject" in str(again.value)
    s3_proxy.clear()
    result = fc.resume(url, job_id, accept_loss=True, storage_options=options)
    assert (result.file_count, result.warnings) == (1, ())
