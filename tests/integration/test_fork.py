"""A forked child leaves what its parent writes alone, however it ends: see `forking_writer.py`."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec
import pytest

from fsspec_commit.testing import assert_committed, assert_no_leftovers
from tests.integration.forking_writer import ALL
from tests.sweeps import some_by_day

if TYPE_CHECKING:
    from fsspec_commit.testing.sweeps import Sweep
    from tests.servers.plugin import S3Bucket

ROOT = Path(__file__).parents[2]
WRITTEN = b"parent 1\nparent 2\n"


def check(url: str, options: dict[str, Any], names: list[str]) -> None:
    """Run the program, and look at what each way has left."""
    program = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-m"]
    done = subprocess.run(
        [*program, "tests.integration.forking_writer", url, json.dumps(options), *names],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'stores'}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.stdout.split(), done.returncode, done.stderr) == (names, 0, "")
    for name in names:
        check_written(f"{url}/{name}", options)


def check_written(url: str, options: dict[str, Any]) -> None:
    """What the parent wrote is there, whole and once, and nothing else."""
    how: dict[str, Any] = {"storage_options": options} if options else {}
    assert_committed(url, file_count=7, **how)
    assert_no_leftovers(url, **how)
    filesystem, root = fsspec.core.url_to_fs(url, use_listings_cache=False, **options)
    assert filesystem.cat_file(f"{root}/text.txt") == WRITTEN
    assert filesystem.cat_file(f"{root}/bytes.txt") == WRITTEN
    assert gzip.decompress(filesystem.cat_file(f"{root}/layers.txt.gz")) == WRITTEN


@pytest.mark.guarantees("P1", "P2")
def test_on_a_disk(fast: Path) -> None:
    check(str(fast / "out"), {}, ALL)


@pytest.mark.guarantees("P1", "P2")
@some_by_day(4)
@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
def test_on_s3(s3_bucket: S3Bucket, sweep: Sweep) -> None:
    """Where files are uploaded in parts, by a loop's thread that a child does not have."""
    check(f"{s3_bucket.url}/top/out", s3_bucket.storage_options, list(sweep(ALL)))
