"""``python -m tests.smoke [--every] [WHEEL]``: try the wheel as users would have it.

In an environment of its own, away from the source tree, with the extras and the exact versions of
``tests/constraints.txt``, what can differ there from a checkout is tried: where modules come from,
the entry points, what is required. By this interpreter, or by ``--every`` one of the machine that
the package is for: what pyproject.toml's classifiers name must have run, and nothing else is named.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    Command: TypeAlias = list[str | Path]

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
OLDEST = (3, 11)
EXTRAS = "s3,gcs,abfs,hdfs,arrow,cli,testing"
OF_THE_TESTS = ("hypothesis", "mypy", "pytest-xdist")
TRIED = (
    "tests/smoke",
    "tests/unit/test_exports.py",
    "tests/unit/test_import_cost.py",
    "tests/unit/test_testing_plugin.py",
    "tests/unit/test_typing.py",
    "tests/unit/stores/test_opening.py",
    *(f"tests/unit/stores/{store}/test_opening.py" for store in ("gcs", "hdfs", "local", "s3")),
)
# Run away from the source tree: where the packages and the command come from.
INSTALLED = """
import sys
from pathlib import Path
import fsspec_commit, fsspec_commit_stores
for package in (fsspec_commit, fsspec_commit_stores):
    if not Path(package.__file__).is_relative_to(sys.prefix):
        sys.exit(f"{package.__name__} was imported from {package.__file__}, not from the wheel")
"""
# Tells its version, and that it can make an environment.
ASKED = "import sys, venv; print(*sys.version_info[:2], sys.version_info.releaselevel)"


def found(places: Iterable[Path]) -> dict[tuple[int, int], Path]:
    """The first interpreter of each version that has what an environment needs, oldest first."""
    interpreters: dict[tuple[int, int], Path] = {}
    for place in places:
        for program in sorted(place.glob("python3.*")):
            if not re.fullmatch(r"python3\.\d+", program.name) or not os.access(program, os.X_OK):
                continue
            asked = subprocess.run(
                [program, "-c", ASKED], capture_output=True, text=True, check=False
            )
            if asked.returncode == 0:
                major, minor, level = asked.stdout.split()
                version = (int(major), int(minor))
                if version >= OLDEST and level == "final":
                    interpreters.setdefault(version, program)
    return dict(sorted(interpreters.items()))


def places() -> list[Path]:
    """Where interpreters are: on the search path, and where pyenv and uv keep them."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    kept = [*pyenv.glob("versions/*/bin"), *data.glob("uv/python/*/bin")]
    return [*(Path(place) for place in os.get_exec_path() if place), *sorted(kept)]


def named() -> set[tuple[int, int]]:
    """The versions that the package says it is for."""
    pattern = re.compile(r"Programming Language :: Python :: (\d+)\.(\d+)")
    matches = map(pattern.fullmatch, PROJECT["classifiers"])
    return {(int(match[1]), int(match[2])) for match in matches if match}


def build(into: Path) -> Path:
    """The wheel of this checkout."""
    command: Command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--wheel",
        "--outdir",
        into,
        ROOT,
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    [wheel] = into.glob("*.whl")
    return wheel


def smoke(interpreter: Path, wheel: Path, away: Path) -> bool:
    """Install the wheel for one interpreter into *away*, and run there what is tried of it."""
    environment, tree = away / "venv", away / "run"
    # The pip that runs here will do. What is imported is compiled then: most modules never are.
    subprocess.run([interpreter, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin/python"
    install: Command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    install += ["--no-compile", "--constraint", ROOT / "tests/constraints.txt"]
    package = f"{PROJECT['name']}[{EXTRAS}] @ {wheel.as_uri()}"
    subprocess.run([*install, package, *OF_THE_TESTS], check=True)
    shutil.copytree(ROOT / "tests", tree / "tests")
    # The same settings, but `stores` is no source root here: only the tests come from a folder.
    settings = (ROOT / "pyproject.toml").read_text("utf-8")
    (tree / "pyproject.toml").write_text(
        re.sub(r"(?m)^pythonpath = .*$", 'pythonpath = ["."]', settings), "utf-8"
    )
    subprocess.run([python, "-c", INSTALLED], cwd=tree, check=True)
    command: Command = [environment / "bin/fsspec-commit", "--help"]
    subprocess.run(command, cwd=tree, check=True, stdout=subprocess.DEVNULL)
    tests: Command = [python, "-m", "pytest", "-m", "not slow and not checkout", *TRIED]
    # Another run that tidies up pytest's own folder meanwhile would be an error of this one.
    tests += ["--basetemp", away / "temporary"]
    return subprocess.run(tests, cwd=tree, check=False).returncode == 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.smoke")
    parser.add_argument("wheel", type=Path, nargs="?", help="built from this checkout unless given")
    parser.add_argument("--every", action="store_true", help="by every interpreter of the machine")
    asked = parser.parse_args(arguments)
    # Else each process that the tests start compiles anew what it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    here = {(sys.version_info.major, sys.version_info.minor): Path(sys.executable)}
    interpreters = found(places()) if asked.every else here
    with tempfile.TemporaryDirectory() as folder:
        away = Path(folder)
        wheel = asked.wheel.resolve() if asked.wheel else build(away / "dist")
        good = set()
        for version, interpreter in interpreters.items():
            name = "{}.{}".format(*version)
            print(f"\n== the wheel by Python {name}: {interpreter}", flush=True)
            if smoke(interpreter, wheel, away / name):
                good.add(version)
            shutil.rmtree(away / name)
    return told(set(interpreters), good, every=asked.every)


def told(tried: set[tuple[int, int]], good: set[tuple[int, int]], *, every: bool) -> int:
    """Say what failed, what is missing and what could be named; the exit status."""
    wrong = tried - good
    # Without an interpreter its version is left out; where CI is set, that is a failure.
    missing = named() - tried if every else set()
    for versions, what in (
        (good - named() if every else set(), "ran, and is not named in pyproject.toml"),
        (missing, "is named in pyproject.toml and not on this machine"),
        (wrong, "failed"),
    ):
        for version in sorted(versions):
            print("Python {}.{}".format(*version), what, flush=True)
    return 1 if wrong or (missing and os.environ.get("CI")) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
