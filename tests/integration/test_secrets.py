"""Canaries: a secret given in any way is found nowhere it should not be."""

from __future__ import annotations

import copy
import logging
import os
import pickle
import subprocess
import sys
import traceback
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pytest
from fsspec import AbstractFileSystem

import fsspec_commit as fc
from fsspec_commit.cli import main
from fsspec_commit.errors import StoreError
from fsspec_commit.location import locate
from fsspec_commit.options import JobOptions
from fsspec_commit.store import OpenOptions, registry
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit_stores.local import LocalStore
from tests.protocol.invariants import snapshot_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECRET = "canary-sings-4242"
OPTIONS: dict[str, object] = {"token": SECRET, "client_kwargs": {"password": SECRET}}


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


@pytest.fixture(autouse=True)
def _vault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {"vault": VaultStore})
    monkeypatch.setattr(VaultStore, "given", [])
    monkeypatch.setattr(VaultStore, "closed", False)


class Ears:
    """All that was said to anybody."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog
        self._said: list[tuple[str, str]] = []

    def heard(self, what: str, text: object) -> None:
        self._said.append((what, text if isinstance(text, str) else repr(text)))

    def pickled(self, what: str, value: object) -> None:
        self._said.append((f"{what}, pickled", repr(pickle.dumps(value))))

    def failed(self, what: str, error: BaseException) -> None:
        self.heard(what, "".join(traceback.format_exception(error)))
        self.heard(what, repr(error) + repr(vars(error)) + repr(error.args))
        with suppress(TypeError):  # Some are not ours, and cannot be.
            self.pickled(what, error)

    def check(self, destination: Path) -> None:
        for record in self._caplog.records:
            self.heard("log", f"{record.getMessage()} {vars(record)!r}")
        for name, data in snapshot_of(destination).items():
            self.heard(f"file {name}", name + repr(data))
        assert self._said
        leaks = sorted({what for what, text in self._said if SECRET in text})
        assert leaks == []


@pytest.fixture
def ears(caplog: pytest.LogCaptureFixture) -> Iterator[Ears]:
    with caplog.at_level(logging.DEBUG):
        yield Ears(caplog)


def given(how: str) -> dict[str, Any]:
    if how == "storage_options":
        return {"storage_options": OPTIONS}
    return {"filesystem": VaultFileSystem(**OPTIONS)}


every_way = pytest.mark.parametrize("how", ["storage_options", "filesystem"])


@every_way
def test_a_job_and_all_that_belongs_to_it(how: str, tmp_path: Path, ears: Ears) -> None:
    destination = tmp_path / "out"
    url = f"vault:/{destination}"
    options = given(how)
    ears.heard("place", locate(url, **options))
    with fc.Job(url, mode="append", success="json", **options) as job:
        ears.heard("job", job)
        ears.heard("selection", job.selection)
        ears.heard("explained", fc.explain(url, **options))
        for value in (job.spec, copy.copy(job.spec), fc.JobSpec.from_json(job.spec.to_json())):
            ears.heard("spec", value)
            ears.heard("spec", str(value) + value.to_json())
            ears.pickled("spec", value)
        with fc.Task.from_spec(job.spec, 0, **options) as task:
            ears.heard("task", task)
            with task.open("a.txt", "w") as file:
                ears.heard("file", file)
                file.write("a")
        assert task.message is not None
        ears.heard("message", task.message)
        ears.pickled("message", task.message)
        for name, data in snapshot_of(destination).items():
            ears.heard(f"file {name}", repr(data))
        ears.heard("jobs", fc.jobs(url, **options))
        result = job.commit([task.message])
    ears.heard("result", result)
    ears.heard("result", vars(result) if hasattr(result, "__dict__") else str(result))
    ears.pickled("result", result)
    ears.heard("job", job)
    assert all(options.storage_options == OPTIONS for options in VaultStore.given)
    assert len(VaultStore.given) >= 4
    ears.heard("options", VaultStore.given)
    ears.check(destination)


@every_way
def test_what_fails(how: str, tmp_path: Path, ears: Ears, monkeypatch: pytest.MonkeyPatch) -> None:
    destination = tmp_path / "out"
    url = f"vault:/{destination}"
    options = given(how)

    def fails(error: type[BaseException], what: str, **job_options: Any) -> None:
        with pytest.raises(error) as raised:
            write(url, **{**options, **job_options})
        ears.failed(what, raised.value)

    write(url, mode="append", **options)
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
    for job in fc.jobs(url, **options):
        ears.heard("jobs", job)
        with pytest.raises(fc.CommitError) as raised:
            (fc.abort if job.state == "decided" else fc.resume)(url, job.job_id, **options)
        ears.failed("refused", raised.value)
    monkeypatch.setattr(VaultStore, "closed", True)
    fails(StoreError, "closed", mode="append")
    ears.check(destination)


def write(url: str, *, names: tuple[str, ...] = ("a.txt",), **options: Any) -> None:
    job = fc.Job(url, **options)
    job._begun_here = False  # Who dies is not warned of what it leaves.
    with job, job.task() as task:
        for name in names:
            with task.open(name, "w") as file:
                file.write("a")


def test_secrets_that_are_shared_travel_in_pickles_only(tmp_path: Path, ears: Ears) -> None:
    destination = tmp_path / "out"
    url = f"vault:/{destination}"
    with fc.Job(url, mode="append", storage_options=OPTIONS, share_secrets=True) as job:
        ears.heard("spec", job.spec)
        ears.heard("spec", str(job.spec) + job.spec.to_json())
        sent = pickle.dumps(job.spec)
        assert SECRET.encode() in sent
        arrived: fc.JobSpec = pickle.loads(sent)
        ears.heard("spec that arrived", arrived)
        ears.heard("spec that arrived", arrived.to_json())
        VaultStore.given.clear()
        with fc.Task.from_spec(arrived, 0) as task, task.open("a.txt") as file:
            file.write(b"a")
        assert [options.storage_options for options in VaultStore.given] == [OPTIONS]
        assert task.message is not None
        ears.pickled("message", task.message)
        job.commit([task.message])
    ears.heard("job", job)
    ears.check(destination)


@pytest.mark.parametrize(
    "url",
    [
        f"vault://user:{SECRET}@host/out",
        f"vault://AKIAKEY:{SECRET}/with/slashes@bucket/out",
        f"vault://:{SECRET}@host/out",
        f"vault://host/out?sig={SECRET}",
        f"vault://host/out?a=b&X-Amz-Signature={SECRET}",
        f"vault://host/out?access_token={SECRET}",
        f"vault://host/out?AWSAccessKeyId=x&Signature={SECRET}",
        f"vault://host/out?password={SECRET}",
        f"simplecache::vault://user:{SECRET}@host/out",
        f"unknown://user:{SECRET}@host/out",
        f"vault:/user:{SECRET}@host/out",
        f" vault://user:{SECRET}@host/out",
        f"s3://{SECRET}@bucket/out",
        f"s3:/{SECRET}@bucket/out",
        f"AccountName=a;AccountKey={SECRET}",
        f"account.blob.example/out?sig={SECRET}",
    ],
)
def test_a_secret_in_a_url_is_refused_and_not_repeated(
    url: str, tmp_path: Path, ears: Ears, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job = fc.Job(str(tmp_path / "right"), mode="append").start()
    spec = job.spec
    job.abort()
    wrong = fc.JobSpec.from_json(spec.to_json().replace(f"{tmp_path}/right", url))
    job_id = "20261121T000000-0123456789abcdef"
    calls: list[Callable[[str], object]] = [
        lambda url: fc.Job(url, mode="append"),
        lambda url: fc.write_dataset(pa.table({"a": [1]}), url, mode="append"),
        lambda url: fc.resume(url, job_id),
        lambda url: fc.abort(url, job_id),
        lambda url: fc.clean(url, older_than=timedelta(0)),
        lambda url: fc.jobs(Path(url)) if ":/" not in url else fc.jobs(url),
        lambda _: fc.Task.from_spec(wrong, 0),
        fc.hadoop_jobs,
        fc.explain,
        fc.probe,
    ]
    for call in calls:
        with pytest.raises(fc.RequestError) as raised:
            call(url)
        ears.failed("refused", raised.value)
        assert raised.value.kind in {"secret_in_url", "invalid_url"}
    assert [path.name for path in tmp_path.iterdir()] == ["right"]
    ears.check(tmp_path)


@pytest.mark.parametrize("command", ["explain", "probe", "jobs", "clean", "show", "write"])
@pytest.mark.parametrize(
    "url",
    [
        f"s3:/user:{SECRET}@host/out",
        f" s3://user:{SECRET}@host/out",
        f"s3://{SECRET}@bucket/out",
        f"AccountName=a;AccountKey={SECRET}",
    ],
)
def test_the_command_does_not_repeat_it(
    command: str,
    url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = tmp_path / "a.csv"
    source.write_text("a\n1\n")
    arguments = {
        "clean": [command, url, "--older-than", "1h"],
        "write": [command, str(source), url, "--mode", "append"],
    }.get(command, [command, url])
    with caplog.at_level(logging.DEBUG), pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code not in {0, None}
    told = capsys.readouterr()
    assert "the destination " in told.err
    assert SECRET not in told.out + told.err + caplog.text


@pytest.mark.parametrize(
    "url", ["vault://host:9000/out", "vault://container@account.example/out", "vault://[::1]:80/o"]
)
def test_what_is_no_secret_in_a_url_is_taken(url: str) -> None:
    assert fc.Job(url, mode="append").destination == url


def test_secrets_of_the_environment(tmp_path: Path) -> None:
    destination = tmp_path / "out"
    program = """
import logging, pickle, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
import fsspec.config
import fsspec_commit as fc
assert fsspec.config.conf["file"]["token"], "the environment was not read"
with fc.Job(sys.argv[1], mode="append", success="json", share_secrets=True) as job:
    with job.task() as task, task.open("a.txt", "w") as file:
        file.write("a")
    print(job, job.spec, job.selection, pickle.dumps(job.spec), pickle.dumps(task.message))
print(job.result, fc.committed_files(sys.argv[1]) if hasattr(fc, "committed_files") else "")
try:
    fc.Job(sys.argv[1]).start()
except fc.DestinationExistsError as error:
    print(repr(error), vars(error))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program, str(destination)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "FSSPEC_FILE_TOKEN": SECRET,
            "FSSPEC_FILE": f'{{"password": "{SECRET}"}}',
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    assert "CommitResult" in ended.stdout
    assert SECRET not in ended.stdout
    assert not [name for name, data in snapshot_of(destination).items() if SECRET.encode() in data]


def test_no_option_is_forgotten_here() -> None:
    """A new option that can hold a secret belongs into the tests above."""
    may_hold_one = {"storage_options", "filesystem", "share_secrets"}
    harmless = {
        "mode", "partitions", "names", "committer", "tasks", "collect", "idempotency_key",
        "success", "allow_empty", "wait_s", "concurrency", "durability", "probe",
        "single_writer", "delete_by_name", "callback",
    }  # fmt: skip
    assert JobOptions.__annotations__.keys() == may_hold_one | harmless
