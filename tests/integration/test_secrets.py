"""Canaries: a secret that is given in any way is found nowhere it should not be, on any store.

Beside stores of each kind a local directory for which one needs a secret.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import pytest
from fsspec import AbstractFileSystem

import fsspec_commit as fc
from fsspec_commit.errors import StoreError
from fsspec_commit.location import locate
from fsspec_commit.options import JobOptions
from fsspec_commit.store import OpenOptions, registry
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit_stores.local import LocalStore
from tests.integration.canaries import SECRET, Ears
from tests.integration.cli.command import command
from tests.scenes.places import LocalPlace, Place
from tests.scenes.remotes import on
from tests.scenes.requests_of_jobs import GCS, GEN2, S3
from tests.servers.faults import AnswerInstead, LoseReply, Rule
from tests.sweeps import some_tests_by_day

if TYPE_CHECKING:
    from pathlib import Path

    from tests.scenes.remotes import Remote
    from tests.servers.proxy import FaultProxy

pytestmark = pytest.mark.filterwarnings("ignore:job .* was neither committed:ResourceWarning")
TOKEN, PASSWORD = "canary-sings-of-tokens-4242", "canary-sings-of-passwords-4242"
OPTIONS: dict[str, object] = {"token": SECRET, "client_kwargs": {"password": SECRET}}
REMOTES = ("ministack", "strict-gcs", "gen2", "azurite")


class VaultStore(LocalStore):
    """A local directory for which one needs a secret."""

    given: list[OpenOptions] = []  # noqa: RUF012  # what all of them were opened with
    closed = False

    @classmethod
    async def open(cls, url: str, options: OpenOptions) -> Self:
        cls.given.append(options)
        if cls.closed:
            raise StoreError("the vault is closed", path=url)
        path = "/" + url.removeprefix("vault://").lstrip("/")
        return await super().open(path, options)


class VaultFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    protocol = "vault"
    cachable = False


@dataclass(frozen=True)
class Kept:
    """A store for which one needs secrets.

    Attributes:
        url: A destination there.
        how: The options as the package takes them.
        place: How a test looks at it.
    """

    url: str
    how: dict[str, Any]
    place: Place


def secrets_of(remote: Remote) -> tuple[dict[str, Any], list[str]]:
    """Options with every secret that the client takes, and those secrets."""
    if remote.name == "ministack":
        # It knows its root by the key alone, so that any secret and any token will do.
        extra = {"Metadata": {"owner": "me"}}
        planted = {"secret": SECRET, "token": TOKEN, "s3_additional_kwargs": extra}
        options = {**remote.options, **planted}
        return options, [str(options["key"]), SECRET, TOKEN, PASSWORD]
    if remote.name == "strict-gcs":
        [_, line, *_] = remote.server.service_account["private_key"].splitlines()
        return dict(remote.options), [line]
    return dict(remote.options), [remote.server.account_key]


@pytest.fixture
def vault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str) -> Kept:
    monkeypatch.setattr(registry, "_registered", {"vault": VaultStore})
    monkeypatch.setattr(VaultStore, "given", [])
    monkeypatch.setattr(VaultStore, "closed", False)
    given: dict[str, Any] = {"storage_options": OPTIONS}
    if how == "filesystem":
        given = {"filesystem": VaultFileSystem(**OPTIONS)}
    return Kept(f"vault:/{tmp_path}/out", given, LocalPlace(tmp_path / "out"))


@pytest.fixture
def ears(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Ears:
    if "remote" not in request.fixturenames:
        return Ears(caplog, SECRET)
    # What their clients say of themselves at all levels is theirs.
    _, canaries = secrets_of(request.getfixturevalue("remote"))
    return Ears(caplog, *canaries, logger="fsspec_commit")


@pytest.fixture
def kept(remote: Remote, proxy: FaultProxy) -> Kept:
    options, _ = secrets_of(remote)
    place = remote.place(proxy=proxy)
    through = {
        name: value
        for name, value in place.how["storage_options"].items()
        if name in {"endpoint_url", "connection_string"}
    }
    return Kept(place.url, {"storage_options": {**options, **through}}, remote.place())


every_way = pytest.mark.parametrize("how", ["storage_options", "filesystem"])


def check_a_job(kept: Kept, ears: Ears) -> None:
    """A job, another one, and all that is asked about them."""
    url, how = kept.url, kept.how
    ears.heard("place", locate(url, **how))
    ears.job(fc.Job(url, mode="append", success="json", **how), how)
    ears.heard("explained", fc.explain(url, **how))
    report = fc.probe(url, **how)
    ears.heard("probed", report, report.capabilities, report.differences)
    with fc.Job(url, mode="append", allow_empty=True, **how):
        ears.heard("jobs", fc.jobs(url, **how))
        ears.check(kept.place.snapshot())
    ears.job(fc.Job(url, mode="append", **how), how)
    ears.check(kept.place.snapshot())


@every_way
def test_a_job_and_all_that_belongs_to_it(vault: Kept, ears: Ears) -> None:
    check_a_job(vault, ears)
    assert all(options.storage_options == OPTIONS for options in VaultStore.given)
    assert len(VaultStore.given) >= 4
    ears.heard("options", VaultStore.given)
    ears.check({})


@on(*REMOTES)
def test_a_job_and_all_that_belongs_to_it_elsewhere(kept: Kept, ears: Ears) -> None:
    check_a_job(kept, ears)
    if kept.url.startswith("s3://"):
        ears.job(fc.Job(kept.url, mode="overwrite", **kept.how), kept.how)
        ears.check(kept.place.snapshot())


@every_way
def test_what_fails(vault: Kept, ears: Ears, monkeypatch: pytest.MonkeyPatch) -> None:
    url, how = vault.url, vault.how

    def fails(error: type[BaseException], what: str, **options: Any) -> None:
        with pytest.raises(error) as raised:
            write(url, **{**how, **options})
        ears.failed(what, raised.value)

    write(url, mode="append", **how)
    fails(fc.DestinationExistsError, "exists", mode="error")
    fails(fc.UnsafeStoreError, "unsafe", mode="append", committer="magic")
    fails(fc.RequestError, "empty", mode="append", names=())
    fails(fc.RequestError, "a wrong option", mode="upend")
    fails(TypeError, "an unknown option", mode="append", moed="append")
    monkeypatch.setattr("fsspec_commit.effects.pacing.BACKOFF_S", 0.0001)
    with inject(*[Fault("create", nth, "error") for nth in range(4, 40)]):
        fails(fc.CommitError, "no answer", mode="append")
    with inject(Fault("create", 4, "crash_after")):
        fails(Crash, "died", mode="append")
    for job in fc.jobs(url, **how):
        ears.heard("jobs", job)
        with pytest.raises(fc.CommitError) as raised:
            (fc.abort if job.state == "decided" else fc.resume)(url, job.job_id, **how)
        ears.failed("refused", raised.value)
    monkeypatch.setattr(VaultStore, "closed", True)
    fails(StoreError, "closed", mode="append")
    ears.check(vault.place.snapshot())


def write(url: str, *, names: tuple[str, ...] = ("a.txt",), **options: Any) -> None:
    job = fc.Job(url, **options)
    job._begun_here = False  # Who dies is not warned of what it leaves.
    with job, job.task() as task:
        for name in names:
            with task.open(name, "w") as file:
                file.write("a")


DENIED_BY_AZURE = AnswerInstead(403, "AuthorizationPermissionMismatch")
FAULTS = {
    "ministack, denied": Rule(AnswerInstead(403, "SignatureDoesNotMatch")),
    "ministack, a wrong key": Rule(AnswerInstead(403, "InvalidAccessKeyId"), operation="PutObject"),
    "ministack, expired": Rule(S3.expired, operation="CreateMultipartUpload"),
    "ministack, refused": Rule(AnswerInstead(400, "InvalidRequest"), operation="UploadPart"),
    "ministack, not completed": Rule(
        AnswerInstead(403, "AccessDenied"), operation="CompleteMultipartUpload"
    ),
    "ministack, no answer": Rule(LoseReply(), operation="ListObjectsV2"),
    "strict-gcs, denied": Rule(AnswerInstead(403)),
    "strict-gcs, expired": Rule(GCS.expired, operation="objects.insert"),
    "strict-gcs, not moved": Rule(AnswerInstead(403), operation="objects.move"),
    "strict-gcs, no answer": Rule(LoseReply(), operation="objects.list"),
    "gen2, denied": Rule(DENIED_BY_AZURE),
    "gen2, expired": Rule(GEN2.expired, operation="blob.put"),
    "gen2, not renamed": Rule(DENIED_BY_AZURE, operation="path.rename"),
    "gen2, no answer": Rule(LoseReply(), operation="path.list"),
    "azurite, not completed": Rule(DENIED_BY_AZURE, operation="blocklist.put"),
}


@some_tests_by_day(3, everywhere=True)
@pytest.mark.parametrize(
    ("remote", "fault"),
    [pytest.param(name.partition(",")[0], name, id=name) for name in FAULTS],
    indirect=["remote"],
)
def test_what_fails_elsewhere(fault: str, kept: Kept, proxy: FaultProxy, ears: Ears) -> None:
    fc.explain(kept.url, **kept.how)
    rule = proxy.add(replace(FAULTS[fault], times=None))
    with pytest.raises(fc.CommitError) as caught:
        ears.job(fc.Job(kept.url, mode="append", **kept.how), kept.how)
    ears.failed(fault, caught.value)
    assert rule.met
    proxy.clear()
    for job in fc.jobs(kept.url, **kept.how):
        ears.heard("jobs", job)
    ears.check(kept.place.snapshot())


@on("ministack")
@pytest.mark.parametrize(
    "wrong", ["endpoint_url", "no endpoint_url", "config_kwargs", "profile", "unknown"]
)
def test_options_that_make_no_sense(wrong: str, remote: Remote, kept: Kept, ears: Ears) -> None:
    address = remote.endpoint_url.removeprefix("http://")
    changed: dict[str, Any] = {
        # botocore does not take the user's name off, and then finds no server.
        "endpoint_url": f"http://user:{PASSWORD}@{address}",
        "no endpoint_url": f"user:{PASSWORD}@nowhere",
        "config_kwargs": {SECRET: TOKEN},
        "profile": PASSWORD,
        "unknown": SECRET,
    }
    right = kept.how["storage_options"]
    bad: dict[str, Any] = {"storage_options": {**right, wrong.removeprefix("no "): changed[wrong]}}
    if wrong == "config_kwargs":
        ears.canaries = (right["key"], TOKEN, PASSWORD)  # Of an option the name is told.
    with pytest.raises((fc.CommitError, TypeError)) as caught:
        ears.job(fc.Job(kept.url, mode="append", **bad), bad)
    ears.failed(wrong, caught.value)
    ears.job(fc.Job(kept.url, mode="append", **kept.how), kept.how)
    ears.check(kept.place.snapshot())


def check_that_pickles_alone_hold_it(kept: Kept, ears: Ears) -> None:
    with fc.Job(kept.url, mode="append", share_secrets=True, **kept.how) as job:
        ears.heard("spec", job.spec, job.spec.to_json())
        sent = pickle.dumps(job.spec)
        assert any(canary.encode() in sent for canary in ears.canaries)
        arrived: fc.JobSpec = pickle.loads(sent)
        ears.heard("spec that arrived", arrived, arrived.to_json())
        VaultStore.given.clear()
        with fc.Task.from_spec(arrived, 0) as task, task.open("a.txt") as file:
            file.write(b"a")
        assert task.message is not None
        ears.pickled("message", task.message)
        job.commit([task.message])
    ears.heard("job", job)
    ears.check(kept.place.snapshot())


@pytest.mark.parametrize("how", ["storage_options"])
def test_secrets_that_are_shared_travel_in_pickles_only(vault: Kept, ears: Ears) -> None:
    check_that_pickles_alone_hold_it(vault, ears)
    assert [options.storage_options for options in VaultStore.given][:1] == [OPTIONS]


@on(*REMOTES)
def test_secrets_that_are_shared_elsewhere(kept: Kept, ears: Ears) -> None:
    check_that_pickles_alone_hold_it(kept, ears)


PROGRAM = """
import logging, pickle, sys
logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
logging.getLogger("fsspec_commit").setLevel(logging.DEBUG)
import fsspec_commit as fc
url, options = sys.argv[1], dict(one.split("=", 1) for one in sys.argv[2:])
with fc.Job(url, mode="append", success="json", storage_options=options) as job:
    with job.task() as task, task.open("a.csv", "w") as file:
        file.write("1")
    print(job, job.spec, job.selection, pickle.dumps(job.spec), pickle.dumps(task.message))
print(job.result)
try:
    fc.Job(url, storage_options=options).start()
except fc.DestinationExistsError as error:
    print(repr(error), vars(error))
"""


def output_of(program: str, *arguments: str, **environment: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    assert "CommitResult" in ended.stdout
    return ended.stdout


@on("ministack", "gen2")
def test_secrets_of_the_environment_elsewhere(remote: Remote, kept: Kept, ears: Ears) -> None:
    fc.explain(kept.url, **kept.how)
    right, arguments = kept.how["storage_options"], []
    if remote.name == "gen2":
        environment = {"AZURE_STORAGE_CONNECTION_STRING": right["connection_string"]}
    else:
        environment = {"AWS_SESSION_TOKEN": TOKEN}
        for name, value in {"KEY": right["key"], "SECRET": SECRET}.items():
            environment[f"FSSPEC_S3_{name}"] = value
        environment["AWS_ACCESS_KEY_ID"] = right["key"]
        environment["AWS_SECRET_ACCESS_KEY"] = SECRET
        arguments = [f"endpoint_url={remote.endpoint_url}"]
    ears.heard("output", output_of(PROGRAM, kept.url, *arguments, **environment))
    ears.check(kept.place.snapshot())


def test_secrets_of_the_environment(tmp_path: Path, ears: Ears) -> None:
    """Of a disk fsspec alone reads any, and to whoever shares secrets they are options."""
    program = (
        PROGRAM.replace("WARNING", "DEBUG")
        .replace(", storage_options=options) as", ", share_secrets=True) as")
        .replace(", storage_options=options)", ")")
    )
    environment = {"FSSPEC_FILE_TOKEN": SECRET, "FSSPEC_FILE": f'{{"password": "{SECRET}"}}'}
    read = 'import fsspec.config; assert fsspec.config.conf["file"]["token"], "not read"'
    ears.heard("output", output_of(f"{read}\n{program}", str(tmp_path / "out"), **environment))
    ears.check(LocalPlace(tmp_path / "out").snapshot())


@some_tests_by_day(2, everywhere=True)
@on(*REMOTES)
@pytest.mark.parametrize("how", ["--debug", "--json"])
def test_the_command(how: str, remote: Remote, kept: Kept, ears: Ears) -> None:
    options = {**kept.how["storage_options"]}
    options.pop("s3_additional_kwargs", None)
    if remote.name == "strict-gcs":
        options["token"] = json.dumps(remote.server.service_account)
    given = [f"--storage-option={name}={value}" for name, value in options.items()]
    protocol = kept.url.partition("://")[0]
    for arguments in (
        ("explain", kept.url),
        ("jobs", f"{protocol}://no-such-bucket-of-the-tests/out"),
    ):
        ran = command(*arguments, how, *given)
        ears.heard("output", ran.out, ran.err)
        if how == "--json":
            json.loads(ran.out)
    fc.explain(kept.url, **kept.how)
    ears.check(kept.place.snapshot())


def test_no_option_is_forgotten_here() -> None:
    """A new option that can hold a secret belongs into the tests above."""
    may_hold_one = {"storage_options", "filesystem", "share_secrets"}
    harmless = {
        "mode", "partitions", "names", "committer", "tasks", "collect", "idempotency_key",
        "success", "allow_empty", "wait_s", "concurrency", "durability", "probe",
        "single_writer", "delete_by_name", "callback", "write_behind", "publisher",
    }  # fmt: skip
    assert JobOptions.__annotations__.keys() == may_hold_one | harmless
