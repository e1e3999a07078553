"""The benchmarks still run, in a quick form that measures nothing worth reading.

By night each is a test of its own, by day some run that the seed of the sweeps chooses.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fsspec_commit.testing.sweeps import Sweep

ROOT = Path(__file__).parents[2]
BENCHMARKS = sorted(path.stem for path in (ROOT / "tests" / "benchmarks").glob("bench_*.py"))
ON_SERVERS = [
    *("bench_cost_law", "bench_listing", "bench_magic_commit", "bench_manifest_commit"),
    *("bench_publisher", "bench_s3_requests", "bench_short_requests", "bench_small_files"),
    *("bench_throughput", "bench_blocks", "bench_half_core"),
]
"""Each takes seconds to start servers and to import SDKs."""
BY_NIGHT = ["bench_spark_write"]
"""What starts a Spark."""
ON_ONE = {
    "bench_blocks": ["--on", "S3"],
    "bench_cost_law": ["--on", "S3", "local"],
    "bench_half_core": ["--on", "Gen2"],
    "bench_listing": ["--on", "GCS"],
    "bench_manifest_commit": ["--on", "Gen2"],
    "bench_short_requests": ["--on", "Gen2"],
    "bench_small_files": ["--on", "S3"],
    "bench_throughput": ["--on", "S3"],
}
"""What of them runs on several servers runs on one by day."""


def test_there_are_benchmarks() -> None:
    assert set(BENCHMARKS) > set(ON_SERVERS)


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_quick_form_runs_and_reports(name: str) -> None:
    run_quickly(name)


@pytest.mark.parametrize("every", [len(ON_SERVERS)])
def test_the_quick_form_of_one_with_a_server(sweep: Sweep) -> None:
    for name in sweep(ON_SERVERS):
        run_quickly(name, *ON_ONE.get(name, ()))


@pytest.mark.parametrize("every", [6])
def test_the_quick_form_of_some_without(sweep: Sweep) -> None:
    for name in sweep(name for name in BENCHMARKS if name not in ON_SERVERS + BY_NIGHT):
        run_quickly(name)


def run_quickly(name: str, *options: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", f"tests.benchmarks.{name}", "--quick", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout.splitlines()[-1])
    assert f"bench_{report['benchmark']}" == name
    assert report["quick"] is True
    assert {"machine", "cpus", "python", "versions", "load_before"} <= set(report["environment"])
    assert report["rows"]
    for row in report["rows"]:
        assert row["count"] > 0, row
        assert row["min"] <= row["median"] <= row["max"], row
    for ratio in report["ratios"]:
        assert ratio["ratio"] > 0, ratio
