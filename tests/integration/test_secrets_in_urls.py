"""A secret in a URL is refused, and not repeated by whoever refuses it."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import fsspec_commit as fc
from fsspec_commit.cli import main
from fsspec_commit.store import registry
from fsspec_commit_stores.local import LocalStore
from tests.integration.canaries import SECRET, Ears
from tests.protocol.invariants import snapshot_of

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def _vault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {"vault": LocalStore})


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
    url: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ears = Ears(caplog, SECRET)
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
    ears.check(snapshot_of(tmp_path))


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
