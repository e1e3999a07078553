"""Asked of a session of its own, in a process of its own, and answered by JSON on its last line.

`python -m tests.spark.asked_elsewhere classic|connect SETTINGS URL…`
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[2]
_AT = "spark.asked.at"


def ask(kind: str, settings: Mapping[str, str], *urls: str) -> list[dict[str, Any]]:
    """The reports of `check` on the URLs in a session that starts with these settings."""
    named = json.dumps(dict(settings))
    asked = subprocess.run(
        [sys.executable, "-m", "tests.spark.asked_elsewhere", kind, named, *urls],
        cwd=ROOT,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert asked.returncode == 0, asked.stderr[-3000:]
    reports: list[dict[str, Any]] = json.loads(asked.stdout.splitlines()[-1])
    return reports


def _answer(kind: str, settings: dict[str, str], urls: list[str]) -> None:
    from pyspark.sql import SparkSession

    import fsspec_commit as fc

    builder = SparkSession.builder
    builder = builder.remote("local[1]") if kind == "connect" else builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    reports = []
    for url in urls:
        report = fc.spark.check(spark, url)
        reports.append({**dataclasses.asdict(report), "safe": report.safe, "text": str(report)})
    print(json.dumps(reports), flush=True)
    spark.stop()


if __name__ == "__main__":
    _answer(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:])
