"""The benchmarks still run: each in its quick form, which measures nothing worth reading."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = sorted(path.stem for path in (ROOT / "tests" / "benchmarks").glob("bench_*.py"))
ON_ONE = {"bench_manifest_commit": ["--on", "Gen2"]}
"""What of them runs on several servers runs on one by day."""


def test_there_are_benchmarks() -> None:
    assert BENCHMARKS


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *(pytest.param(name, ON_ONE.get(name, []), id=name) for name in BENCHMARKS),
        *(pytest.param(name, [], id=f"{name}, all", marks=pytest.mark.slow) for name in ON_ONE),
    ],
)
def test_the_quick_form_runs_and_reports(name: str, options: list[str]) -> None:
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
