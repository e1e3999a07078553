"""Misuses must not type-check: a line marked `# E: <code>` fails so in mypy, and no other does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

MISUSES = Path(__file__).parents[1] / "typing"
MARK = re.compile(r"#\s*E:\s*(?P<codes>[a-z-]+(?:\s*,\s*[a-z-]+)*)\s*$")
REPORT = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+): error: (?P<text>.*)  \[(?P<code>[a-z-]+)\]$")
SETTINGS = """
[mypy]
strict = True
warn_unreachable = True
python_version = 3.11
# Errors elsewhere are not this test's business; what the packages say of themselves is.
follow_imports = silent

[mypy-fsspec.*,pyarrow.*,pyspark.*]
ignore_missing_imports = True
"""

Codes = dict[str, list[str]]  # "file:line" -> mypy's error codes there


def expected() -> Codes:
    return {
        f"{path.name}:{number}": sorted(re.split(r"\s*,\s*", mark["codes"]))
        for path in sorted(MISUSES.glob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if (mark := MARK.search(line))
    }


def reported(tmp_path: Path) -> tuple[Codes, str]:
    """What mypy says of the misuses, as a user's own code: from outside the checkout's settings."""
    settings = tmp_path / "mypy.ini"
    settings.write_text(SETTINGS, "utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings)]
    cache = MISUSES.parents[1] / ".mypy_cache" / "misuses"
    command += ["--cache-dir", str(cache), "--no-error-summary", "--hide-error-context"]
    command += ["--no-pretty", "--show-absolute-path"]
    command += [str(path) for path in sorted(MISUSES.glob("*.py"))]
    ran = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, text=True)
    found: Codes = {}
    for line in ran.stdout.splitlines():
        if (report := REPORT.match(line)) and Path(report["file"]).parent == MISUSES:
            place = f"{Path(report['file']).name}:{report['line']}"
            found[place] = sorted([*found.get(place, []), report["code"]])
    return found, ran.stdout + ran.stderr


def test_misuses_do_not_type_check_and_nothing_else_fails(tmp_path: Path) -> None:
    wanted = expected()
    assert wanted, "no line is marked"
    found, output = reported(tmp_path)
    assert found == wanted, output
