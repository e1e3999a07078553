"""The examples of README.md and docs/spark.md that need a Spark, in one process.

`tests/docs/test_examples.py` runs all others, in a process that must not keep a JVM.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.conftest import SETTINGS

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[2]
OF_SPARK = re.compile(
    r"<!-- skip: tests/spark/test_pages\.py runs it -->\n```python\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# Of the tests' session, where they make it small and quiet; not its commit protocol.
QUIET = {name: value for name, value in SETTINGS.items() if "commit" not in name.lower()}


PAGES = ("README.md", "docs/spark.md")
# The next page begins as its reader does, without a session; another JVM would take longer.
BETWEEN = """
for session in filter(None, [SparkSession.getActiveSession()]):
    session.stop()
"""


def test_the_examples_of_the_pages_work(tmp_path: Path) -> None:
    pages = [OF_SPARK.findall((ROOT / page).read_text("utf-8")) for page in PAGES]
    assert all(pages)
    script = BETWEEN.join("\n".join(blocks) for blocks in pages)
    (tmp_path / "pages.py").write_text(script, "utf-8")
    settings = "".join(f"{name} {value}\n" for name, value in QUIET.items())
    (tmp_path / "spark-defaults.conf").write_text(settings, "utf-8")
    environment = {
        **os.environ,
        "SPARK_CONF_DIR": str(tmp_path),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    ran = subprocess.run(
        [sys.executable, "pages.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr
