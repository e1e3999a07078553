"""A server that takes parts of one length only, as Cloudflare R2: it says so after the decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.effects import part_writer
from tests.servers.slow_s3.server import SlowS3

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MIB = 1 << 20


@pytest.fixture
def server() -> Iterator[SlowS3]:
    with SlowS3() as server:
        yield server


def write(url: str, storage_options: Mapping[str, Any], length: int) -> fc.CommitResult:
    with (
        fc.Job(url, mode="append", storage_options=storage_options) as job,
        job.task() as task,
        task.open("long", "wb") as file,
    ):
        for _ in range(length):
            file.write(bytes(MIB))
    assert job.result is not None
    return job.result


def test_a_file_of_many_parts_is_completed(
    server: SlowS3, monkeypatch: pytest.MonkeyPatch, s3_environment: None
) -> None:
    """Else parts grow after 75 of them: here, so that a test can write such a file, after one."""
    monkeypatch.setattr(part_writer, "_GROWTH_PARTS", 1)
    url = f"s3://{server.new_bucket(of_equal_parts=True)}/out"
    before = server.statistics()
    result = write(url, server.storage_options, 17)
    assert (result.file_count, result.bytes) == (1, 17 * MIB)
    result = write(url, {**server.storage_options, "default_block_size": 5 * MIB}, 11)
    assert (result.file_count, result.bytes) == (1, 11 * MIB)
    # And those of the probe.
    assert server.statistics().since(before).requests["UploadPart"] >= 6


def test_a_probe_that_is_asked_for_tries_three_parts(server: SlowS3, s3_environment: None) -> None:
    """The one of a job does not: it sends small requests only."""
    bucket = server.new_bucket(of_equal_parts=True)
    before = server.statistics()
    assert fc.explain(f"s3://{bucket}/out", storage_options=server.storage_options).committer
    of_a_job = server.statistics().since(before).requests["UploadPart"]
    before = server.statistics()
    assert fc.probe(f"s3://{bucket}/out", storage_options=server.storage_options).ok
    assert server.statistics().since(before).requests["UploadPart"] == of_a_job + 3


def test_a_file_that_has_too_many_parts_is_refused_while_it_is_written(
    server: SlowS3, monkeypatch: pytest.MonkeyPatch, s3_environment: None
) -> None:
    monkeypatch.setattr(part_writer, "PARTS_MAX", 2)
    url = f"s3://{server.new_bucket(of_equal_parts=True)}/out"
    options = {**server.storage_options, "default_block_size": 5 * MIB}
    with pytest.raises(fc.RequestError, match="let each be longer than 5242880") as caught:
        write(url, options, 11)
    assert caught.value.kind == "file_too_large"
    assert list(fc.jobs(url, storage_options=options)) == []
