"""`import fsspec_commit` must stay cheap: no engine, no SDK, no terminal library comes along."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

LOADED_ON_FIRST_USE = (
    "adlfs",
    "aiobotocore",
    "azure",
    "botocore",
    "dask",
    "distributed",
    "duckdb",
    "gcsfs",
    "hdfs_native",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "pyspark",
    "pytest",
    "ray",
    "rich",
    "s3fs",
    "typer",
)
PROGRAM = """
import json, sys, time
began = time.perf_counter()
import {module}
took = time.perf_counter() - began
print(json.dumps({{"milliseconds": took * 1000, "modules": sorted(sys.modules)}}))
"""


def what_importing_loads(module: str) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(module=module)],
        capture_output=True,
        check=True,
        text=True,
    )
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


@pytest.mark.parametrize(
    "module",
    [
        "fsspec_commit",
        "fsspec_commit.engines.dask",
        "fsspec_commit.engines.spark",
        "fsspec_commit_stores.local",
        "fsspec_commit_stores.memory",
    ],
)
def test_importing_loads_no_heavy_library(
    module: str, record_property: Callable[[str, object], None]
) -> None:
    loaded = what_importing_loads(module)
    # Reported, not asserted: a time says as much about the machine as about the code.
    record_property("milliseconds", round(loaded["milliseconds"], 1))
    print(f"import {module}: {loaded['milliseconds']:.1f} ms")
    assert [name for name in LOADED_ON_FIRST_USE if name in loaded["modules"]] == []


def test_importing_the_core_loads_no_adapter() -> None:
    loaded = what_importing_loads("fsspec_commit")["modules"]
    assert [name for name in loaded if name.startswith("fsspec_commit_stores")] == []


def test_importing_starts_no_thread_and_registers_no_protocol() -> None:
    program = (
        "import threading, fsspec\n"
        "known = set(fsspec.registry)\n"
        "import fsspec_commit\n"
        "assert threading.active_count() == 1, threading.enumerate()\n"
        "assert set(fsspec.registry) == known, set(fsspec.registry) - known\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
