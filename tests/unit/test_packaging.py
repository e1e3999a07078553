"""What users install: the wheel and the sdist hold what they should, and say the right things."""

from __future__ import annotations

import configparser
import email.parser
import os
import re
import runpy
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hatchling.build import build_sdist, build_wheel

from tests.smoke import __main__ as smoke

if TYPE_CHECKING:
    from email.message import Message

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[2]
IMPORT_PACKAGES = {"fsspec_commit": "fsspec_commit", "fsspec_commit_stores": "stores"}


def build(source: Path, into: Path) -> tuple[Path, Path]:
    """The wheel and the sdist of a source tree, made by the build backend itself, offline."""
    before = Path.cwd()
    os.chdir(source)  # build backends work on the current directory
    try:
        return into / build_wheel(str(into)), into / build_sdist(str(into))
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheel(built: tuple[Path, Path]) -> zipfile.ZipFile:
    return zipfile.ZipFile(built[0])


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    return email.parser.Parser().parsestr(read(wheel, "METADATA"))


def read(wheel: zipfile.ZipFile, name: str) -> str:
    [path] = [n for n in wheel.namelist() if n.endswith(f".dist-info/{name}")]
    return wheel.read(path).decode()


def sources(package: str, root: str) -> set[str]:
    """Every file of a package in the checkout, as a path inside the wheel."""
    base = ROOT if root == package else ROOT / root
    return {
        path.relative_to(base).as_posix()
        for path in (base / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_both_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert tops == {
        "fsspec_commit",
        "fsspec_commit_stores",
        "fsspec_commit-0.1.0.dist-info",
    }


@pytest.mark.parametrize(("package", "root"), IMPORT_PACKAGES.items(), ids=str)
def test_the_wheel_holds_every_file_of_a_package(
    wheel: zipfile.ZipFile, package: str, root: str
) -> None:
    packed = {name for name in wheel.namelist() if name.startswith(f"{package}/")}
    assert packed == sources(package, root)
    assert f"{package}/__init__.py" in packed
    assert f"{package}/py.typed" in packed


@pytest.mark.skipif(shutil.which("javac") is None, reason="the jar is compiled by javac")
def test_the_wheel_holds_the_jar(built: tuple[Path, Path], wheel: zipfile.ZipFile) -> None:
    name = "fsspec_commit/engines/spark/jvm/fsspec-commit-spark.jar"
    assert name in wheel.namelist()
    with tarfile.open(built[1]) as sdist:  # So that it is installed without Java.
        assert any(member.endswith(name) for member in sdist.getnames())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("javac") is None, reason="the jar is compiled by javac")
def test_the_same_sources_make_the_same_jar(tmp_path: Path) -> None:
    place = ROOT / "fsspec_commit/engines/spark/jvm"
    build_jar = runpy.run_path(str(place / "build_jar.py"))
    build_jar["make"](tmp_path / "a.jar")
    assert build_jar["is_made"](tmp_path / "a.jar")
    assert (tmp_path / "a.jar").read_bytes() == (place / "fsspec-commit-spark.jar").read_bytes()


def test_the_wheel_carries_its_license(wheel: zipfile.ZipFile, metadata: Message) -> None:
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert read(wheel, "licenses/LICENSE") == (ROOT / "LICENSE").read_text("utf-8")


def test_the_metadata_names_the_release(metadata: Message) -> None:
    assert metadata["Name"] == "fsspec-commit"
    assert metadata["Version"] == "0.1.0"
    assert metadata["Requires-Python"] == ">=3.11"


def test_the_readme_leads_somewhere_wherever_it_is_shown(metadata: Message) -> None:
    urls = dict(line.split(", ", 1) for line in metadata.get_all("Project-URL", []))
    assert {"Repository", "Documentation", "Changelog", "Issues"} <= set(urls)
    blob = f"{urls['Repository']}/blob/main/"
    text = (ROOT / "README.md").read_text("utf-8")
    assert re.findall(r"\]\((?!https://)", text) == []
    defined = dict(re.findall(r"(?m)^\[([^]]+)\]: (\S+)$", text))
    used = re.findall(r"\[[^]]+\]\[([^]]+)\]", text)
    assert set(used) == set(defined)
    for link in (*defined.values(), *(url for url in urls.values() if "/blob/" in url)):
        path, _, heading = link.removeprefix(blob).partition("#")
        page = (ROOT / path).read_text("utf-8")  # fails where a link leads out of the repository
        headings = re.findall(r"(?m)^#+ (.*)$", page)
        assert not heading or heading in {one.lower().replace(" ", "-") for one in headings}, link


def test_the_interpreters_named_are_those_that_nightly_looks_for(metadata: Message) -> None:
    """The least is what `Requires-Python` says; there is no hole up to the newest."""
    versions = sorted(smoke.named())
    assert versions == [(3, minor) for minor in range(11, 11 + len(versions))]
    assert metadata["Requires-Python"] == ">={}.{}".format(*smoke.OLDEST)


def test_only_two_libraries_are_required(metadata: Message) -> None:
    required = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert sorted(line.split(">")[0] for line in required) == ["fsspec", "msgspec"]


def test_the_extras(metadata: Message) -> None:
    extras = metadata.get_all("Provides-Extra", [])
    assert sorted(extras) == [
        "abfs",
        "all",
        "arrow",
        "cli",
        "dask",
        "gcs",
        "hdfs",
        "s3",
        "spark",
        "testing",
    ]


def test_an_extra_promises_only_what_is_used(metadata: Message) -> None:
    asked = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" in line]
    names = {re.split(r"[>\[]", line)[0].replace("-", "_") for line in asked} - {"fsspec_commit"}
    code = "".join(
        (ROOT / root / path).read_text("utf-8")
        for package, root in IMPORT_PACKAGES.items()
        for path in sources(package, root)
        for root in [root if root != package else "."]
        if path.endswith(".py")
    )
    assert len(names) > 8
    names.remove("pandas")  # PySpark's mapInArrow asks for it
    assert [n for n in sorted(names) if not re.search(rf"(?m)^\s*(import|from) {n}\b", code)] == []


def test_the_entry_points(wheel: zipfile.ZipFile) -> None:
    points = configparser.ConfigParser(delimiters=("=",))
    points.read_string(read(wheel, "entry_points.txt"))
    # No "fsspec_commit.stores": that group is for third parties, our adapters are a table in code.
    assert {group: dict(points[group]) for group in points.sections()} == {
        "console_scripts": {"fsspec-commit": "fsspec_commit.cli:main"},
        "pytest11": {"fsspec_commit": "fsspec_commit.testing.plugin"},
    }


def test_what_the_entry_points_name_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert "fsspec_commit/testing/plugin.py" in names
    assert names & {"fsspec_commit/cli.py", "fsspec_commit/cli/__init__.py"}


def test_the_sdist_holds_what_is_allowed_and_nothing_else(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as sdist:
        names = sdist.getnames()
    assert {name.split("/")[0] for name in names} == {"fsspec_commit-0.1.0"}
    assert {name.split("/")[1] for name in names} == {
        ".gitignore",  # hatchling packs it, to build from the sdist as from the checkout
        "LICENSE",
        "Makefile",
        "PKG-INFO",
        "README.md",
        "docs",
        "fsspec_commit",
        "pyproject.toml",
        "stores",
        "tests",
    }
    assert [name for name in names if "_build" in name or "__pycache__" in name] == []


def test_the_sdist_builds_the_same_wheel(
    built: tuple[Path, Path], wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    with tarfile.open(built[1]) as sdist:
        sdist.extractall(tmp_path, filter="data")
    again, _ = build(tmp_path / "fsspec_commit-0.1.0", tmp_path)
    with zipfile.ZipFile(again) as rebuilt:
        assert sorted(rebuilt.namelist()) == sorted(wheel.namelist())
