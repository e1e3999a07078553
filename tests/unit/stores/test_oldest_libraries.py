"""The adapters work by the oldest libraries that pyproject.toml permits, as by those of today."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.servers.library_versions import OLDEST_LIBRARIES
from tests.servers.plugin import available_or_skip

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[3]
PINS = ROOT / "tests/servers/constraints/oldest-libraries.txt"
EXTRAS = ("s3", "gcs", "abfs", "hdfs")
AS_INSTALLED = ROOT / "tests/unit/stores/s3/test_user_agent.py"
"""There nothing of ours is installed, so no request can say in which version."""


def test_they_are_those_that_are_permitted() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [
        *project["dependencies"],
        *(one for extra in EXTRAS for one in project["optional-dependencies"][extra]),
    ]
    pins = dict(line.split("==") for line in PINS.read_text("utf-8").splitlines() if "==" in line)
    for requirement in asked:
        name, lowest = re.fullmatch(r"([a-z0-9-]+)>=([0-9.]+)", requirement).groups()  # type: ignore[union-attr]
        if name != "requests":  # What others here need is newer.
            assert re.fullmatch(rf"{re.escape(lowest)}(\.0)*", pins[name]), name


@pytest.mark.slow
@pytest.mark.usefixtures("own_limit")
def test_the_adapters_work_by_them() -> None:
    """All that is tested of them by day without a server of somebody else's: a minute of a core."""
    python = available_or_skip(lambda: str(OLDEST_LIBRARIES.program))
    options = ["-q", "-m", "not slow and not checkout", "-p", "no:cacheprovider", "-n", "2"]
    options += ["-p", "fsspec_commit.testing.plugin"]  # Where it is installed it is found.
    ran = subprocess.run(
        [python, "-m", "pytest", *options, f"--ignore={AS_INSTALLED}", "tests/unit/stores"],
        cwd=ROOT,
        # For the processes that tests start.
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "stores")])},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr[-1_000:]
    assert re.search(r"[0-9]{4} passed", ran.stdout), ran.stdout[-500:]
