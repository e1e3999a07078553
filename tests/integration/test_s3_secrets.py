"""Canaries for S3: key, secret, token and what else is secret is told to the server only.

ministack knows its root by the key alone, so that any secret and any token will do.
"""

from __future__ import annotations

import copy
import json
import logging
import os
import pickle
import subprocess
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.location import locate
from tests.integration.cli.command import command
from tests.servers.faults import AnswerInstead, LoseReply, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.faults import Fault
    from tests.servers.plugin import S3Bucket
    from tests.servers.proxy import FaultProxy

pytestmark = [
    pytest.mark.parametrize("s3_server", ["ministack"], indirect=True),
    pytest.mark.filterwarnings("ignore:job .* was neither committed:ResourceWarning"),
]
SECRET = "canary-sings-of-secrets-4242"
TOKEN = "canary-sings-of-tokens-4242"
PASSWORD = "canary-sings-of-passwords-4242"
FAULTS: dict[str, tuple[Fault, str | None]] = {
    "denied": (AnswerInstead(403, "SignatureDoesNotMatch"), None),
    "a wrong key": (AnswerInstead(403, "InvalidAccessKeyId"), "PutObject"),
    "expired": (AnswerInstead(400, "ExpiredToken"), "CreateMultipartUpload"),
    "refused": (AnswerInstead(400, "InvalidRequest"), "UploadPart"),
    "not completed": (AnswerInstead(403, "AccessDenied"), "CompleteMultipartUpload"),
    "no answer": (LoseReply(), "ListObjectsV2"),
}


class Ears:
    """All that was said to anybody.

    Attributes:
        canaries: What must not be among it.
    """

    def __init__(self, caplog: pytest.LogCaptureFixture, *canaries: str) -> None:
        self.canaries = canaries
        self._caplog = caplog
        self._said: list[tuple[str, str]] = []

    def heard(self, what: str, *things: object) -> None:
        for thing in things:
            text = thing if isinstance(thing, str) else f"{thing!r} {thing}"
            self._said.append((what, text))

    def pickled(self, what: str, thing: object) -> None:
        self.heard(f"{what}, pickled", repr(pickle.dumps(thing)))

    def failed(self, what: str, error: BaseException | None) -> None:
        """An error, and whatever can be reached from it."""
        while error is not None:
            self.heard(what, "".join(traceback.format_exception(error)), vars(error), error.args)
            self.heard(what, str(getattr(error, "response", "")), str(getattr(error, "kwargs", "")))
            with suppress(TypeError):  # Some are not ours, and cannot be.
                self.pickled(what, error)
            error = error.__cause__ or error.__context__

    def check(self, bucket: S3Bucket) -> None:
        client = bucket.server.client
        for listed in client.list_objects_v2(Bucket=bucket.name).get("Contents", []):
            found = client.get_object(Bucket=bucket.name, Key=listed["Key"])
            content = found["Body"].read().decode("latin-1")
            self.heard(f"object {listed['Key']}", listed["Key"], content, found["Metadata"])
        for record in self._caplog.records:
            if record.name.startswith("fsspec_commit"):
                self.heard("log", record.getMessage(), vars(record))
        assert any(what == "log" for what, _ in self._said)
        leaks = {what for what, text in self._said for canary in self.canaries if canary in text}
        assert leaks == set()


@pytest.fixture
def options(s3_bucket: S3Bucket, s3_proxy: FaultProxy) -> dict[str, Any]:
    """Every option in which s3fs takes a secret."""
    right = s3_bucket.server.storage_options_through(s3_proxy.endpoint_url)
    return {
        **right,
        "secret": SECRET,
        "token": TOKEN,
        "s3_additional_kwargs": {"Metadata": {"owner": "me"}},
    }


@pytest.fixture
def ears(options: dict[str, Any], caplog: pytest.LogCaptureFixture) -> Iterator[Ears]:
    with caplog.at_level(logging.DEBUG, "fsspec_commit"):
        yield Ears(caplog, options["key"], SECRET, TOKEN, PASSWORD)


def write(url: str, options: dict[str, Any], ears: Ears, **job_options: Any) -> None:
    job = fc.Job(url, storage_options=options, **job_options)
    ears.heard("job", job)
    with job:
        with job.task() as task, task.open("a.csv", "w") as file:
            ears.heard("task", task, file, task.filesystem)
            file.write("1\n")
        ears.heard("message", task.message)
        ears.pickled("message", task.message)
        ears.heard("selection", job.selection)
        for spec in (job.spec, copy.copy(job.spec), fc.JobSpec.from_json(job.spec.to_json())):
            ears.heard("spec", spec, spec.to_json())
            ears.pickled("spec", spec)
    ears.heard("result", job.result, job)
    ears.pickled("result", job.result)


def test_a_job_and_all_that_belongs_to_it(
    s3_bucket: S3Bucket, options: dict[str, Any], ears: Ears
) -> None:
    url = f"{s3_bucket.url}/out"
    ears.heard("place", locate(url, options))
    write(url, options, ears, mode="append", success="json")
    write(url, options, ears, mode="overwrite")
    ears.heard("explained", fc.explain(url, storage_options=options))
    report = fc.probe(url, storage_options=options)
    ears.heard("probed", report, report.capabilities, report.differences)
    ears.heard("jobs", fc.jobs(url, storage_options=options))
    ears.check(s3_bucket)


@pytest.mark.parametrize("fault", FAULTS)
def test_what_fails(
    fault: str, s3_bucket: S3Bucket, s3_proxy: FaultProxy, options: dict[str, Any], ears: Ears
) -> None:
    url = f"{s3_bucket.url}/out"
    fc.explain(url, storage_options=options)
    answer, operation = FAULTS[fault]
    rule = s3_proxy.add(Rule(answer, operation=operation, times=None))
    with pytest.raises(fc.CommitError) as caught:
        write(url, options, ears, mode="append")
    ears.failed(fault, caught.value)
    assert rule.met
    s3_proxy.clear()
    for job in fc.jobs(url, storage_options=options):
        ears.heard("jobs", job)
    ears.check(s3_bucket)


@pytest.mark.parametrize(
    "wrong", ["endpoint_url", "no endpoint_url", "config_kwargs", "profile", "unknown"]
)
def test_options_that_make_no_sense(
    wrong: str, s3_bucket: S3Bucket, options: dict[str, Any], ears: Ears
) -> None:
    address = s3_bucket.server.endpoint_url.removeprefix("http://")
    changed: dict[str, Any] = {
        # botocore does not take the user's name off, and then finds no server.
        "endpoint_url": f"http://user:{PASSWORD}@{address}",
        "no endpoint_url": f"user:{PASSWORD}@nowhere",
        "config_kwargs": {SECRET: TOKEN},
        "profile": PASSWORD,
        "unknown": SECRET,
    }
    bad = {**options, wrong.removeprefix("no "): changed[wrong]}
    if wrong == "config_kwargs":
        ears.canaries = (options["key"], TOKEN, PASSWORD)  # Of an option the name is told.
    with pytest.raises((fc.CommitError, TypeError)) as caught:
        write(f"{s3_bucket.url}/out", bad, ears, mode="append")
    ears.failed(wrong, caught.value)
    write(f"{s3_bucket.url}/out", options, ears, mode="append")
    ears.check(s3_bucket)


def test_secrets_that_are_shared_travel_in_pickles_only(
    s3_bucket: S3Bucket, options: dict[str, Any], ears: Ears
) -> None:
    url = f"{s3_bucket.url}/out"
    with fc.Job(url, mode="append", storage_options=options, share_secrets=True) as job:
        sent = pickle.dumps(job.spec)
        assert SECRET.encode() in sent
        spec: fc.JobSpec = pickle.loads(sent)
        ears.heard("spec", spec, spec.to_json())
        with fc.Task.from_spec(spec, 0) as task, task.open("a.csv", "w") as file:
            file.write("1\n")
        assert task.message is not None
        ears.pickled("message", task.message)
        job.commit([task.message])
    ears.check(s3_bucket)


PROGRAM = """
import logging, pickle, sys
logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
logging.getLogger("fsspec_commit").setLevel(logging.DEBUG)
import fsspec_commit as fc
options = {"endpoint_url": sys.argv[2]}
with fc.Job(sys.argv[1], mode="append", success="json", storage_options=options) as job:
    with job.task() as task, task.open("a.csv", "w") as file:
        file.write("1")
    print(job, job.spec, job.selection, pickle.dumps(job.spec), pickle.dumps(task.message))
print(job.result)
try:
    fc.Job(sys.argv[1], storage_options=options).start()
except fc.DestinationExistsError as error:
    print(repr(error), vars(error))
"""


def test_secrets_of_the_environment(
    s3_bucket: S3Bucket, options: dict[str, Any], ears: Ears
) -> None:
    fc.explain(f"{s3_bucket.url}/out", storage_options=options)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, f"{s3_bucket.url}/out", s3_bucket.server.endpoint_url],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "AWS_ACCESS_KEY_ID": options["key"],
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_SESSION_TOKEN": TOKEN,
            "FSSPEC_S3_KEY": options["key"],
            "FSSPEC_S3_SECRET": SECRET,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    assert "CommitResult" in ended.stdout
    ears.heard("output", ended.stdout)
    ears.check(s3_bucket)


@pytest.mark.parametrize("how", ["--debug", "--json"])
def test_the_command(how: str, s3_bucket: S3Bucket, options: dict[str, Any], ears: Ears) -> None:
    del options["s3_additional_kwargs"]
    given = [f"--storage-option={name}={value}" for name, value in options.items()]
    for arguments in (
        ("explain", f"{s3_bucket.url}/out"),
        ("jobs", "s3://no-such-bucket-of-the-tests/out"),
    ):
        ran = command(*arguments, how, *given)
        ears.heard("output", ran.out, ran.err)
        if how == "--json":
            json.loads(ran.out)
    fc.explain(f"{s3_bucket.url}/out", storage_options=options)
    ears.check(s3_bucket)
