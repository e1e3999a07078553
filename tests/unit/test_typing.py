"""Misuses must not type-check: a line marked `# E: <code>` fails so in mypy, and no other does.

What the quick start shows must, as a user's own code, with nothing asserted and nothing ignored:
in mypy's strict mode, and in pyright's standard one. Pyright's strict one wants types of pyarrow.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MISUSES = ROOT / "tests" / "typing"
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

# Theirs is not what is tried, and takes a minute.
[mypy-duckdb.*,pandas.*,polars.*]
follow_imports = skip
"""
# Where the wheel is tried there are no pages, nor the libraries that they use.
PAGES = [ROOT / "README.md", ROOT / "docs/quickstart.md"] if (ROOT / "docs").is_dir() else []
BLOCK = re.compile(
    r"^(<!-- skip: .+? -->\n)?```python\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
FILE = re.compile(r"# (?P<name>[\w.-]+\.py)\n")

Codes = dict[str, list[str]]  # "file:line" -> mypy's error codes there


def expected() -> Codes:
    return {
        f"{path.name}:{number}": sorted(re.split(r"\s*,\s*", mark["codes"]))
        for path in sorted(MISUSES.glob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if (mark := MARK.search(line))
    }


def quick_start(directory: Path) -> list[Path]:
    """The examples of each page as one module, and what they save as files beside it."""
    modules: dict[str, str] = {}
    for page in PAGES:
        for block in BLOCK.finditer(page.read_text("utf-8")):
            body = block["body"]
            if block[1] or body.startswith(">>> "):
                continue
            saved = FILE.match(body)
            name = saved["name"] if saved else f"{page.stem.lower()}_page.py"
            modules[name] = modules.get(name, "") + body
    for name, text in modules.items():
        (directory / name).write_text(text, "utf-8")
    return [directory / name for name in modules]


def reported(tmp_path: Path) -> tuple[Codes, str]:
    """What mypy says of the misuses, as a user's own code: from outside the checkout's settings."""
    settings = tmp_path / "mypy.ini"
    settings.write_text(SETTINGS, "utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings)]
    cache = MISUSES.parents[1] / ".mypy_cache" / "misuses"
    command += ["--cache-dir", str(cache), "--no-error-summary", "--hide-error-context"]
    command += ["--no-pretty", "--show-absolute-path"]
    examples = quick_start(tmp_path)
    assert len(examples) > len(PAGES) or not PAGES, "an example is not found any more"
    command += [str(path) for path in [*sorted(MISUSES.glob("*.py")), *examples]]
    ran = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, text=True)
    found: Codes = {}
    for line in ran.stdout.splitlines():
        if (report := REPORT.match(line)) and Path(report["file"]).parent in {MISUSES, tmp_path}:
            place = f"{Path(report['file']).name}:{report['line']}"
            found[place] = sorted([*found.get(place, []), report["code"]])
    return found, ran.stdout + ran.stderr


def test_misuses_do_not_type_check_and_nothing_else_fails(tmp_path: Path) -> None:
    wanted = expected()
    assert wanted, "no line is marked"
    found, output = reported(tmp_path)
    assert found == wanted, output


@pytest.mark.slow
@pytest.mark.checkout
def test_the_quick_start_type_checks_in_pyright(tmp_path: Path) -> None:
    """By basedpyright: its wheel brings the program, which pyright's own fetches when it runs."""
    settings = {"typeCheckingMode": "standard", "pythonVersion": "3.11"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    misuse = tmp_path / "misuse.py"
    misuse.write_text('import fsspec_commit as fc\nfc.Job("x", mode="none")\n', "utf-8")
    assert len(quick_start(tmp_path)) > len(PAGES), "an example is not found any more"
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--project", str(tmp_path)]
    command += ["--pythonpath", sys.executable]
    ran = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, text=True)
    assert ran.stdout, ran.stderr
    found = json.loads(ran.stdout)["generalDiagnostics"]
    assert [(Path(one["file"]).name, one["rule"]) for one in found] == [
        (misuse.name, "reportArgumentType")
    ], ran.stdout + ran.stderr
