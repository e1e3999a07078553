"""The build step that makes the jar: Java sources are compiled against PySpark's own jars.

The same sources and the same ``javac`` make the same bytes. A jar that was made of these sources
is kept, so that a source distribution, which carries it, can be installed without Java.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = Path(__file__).parent
JAR = SOURCES / "fsspec-commit-spark.jar"
PYSPARK = "pyspark>=4"
# Spark 3.5 runs on Java 8.
_RELEASE = "8"
_DIGEST = "Source-Digest"
_MANIFEST = "META-INF/MANIFEST.MF"
# The oldest that a zip archive can hold.
_MOMENT = (1980, 1, 1, 0, 0, 0)


class JarMissingError(Exception):
    """The jar cannot be made here; the message says why."""


def make(jar: Path = JAR) -> None:
    """Make the jar, unless there is one that was made of these sources.

    Raises:
        JarMissingError: A tool for it is missing, or the compiler refuses the sources.
    """
    if not is_made(jar):
        with tempfile.TemporaryDirectory() as folder:
            classes = Path(folder)
            _compile(classes)
            _pack(classes, jar)


def is_made(jar: Path = JAR) -> bool:
    """Whether the jar exists and was made of these sources."""
    try:
        with zipfile.ZipFile(jar) as archive:
            return f"{_DIGEST}: {_digest()}" in archive.read(_MANIFEST).decode().splitlines()
    except (OSError, KeyError, zipfile.BadZipFile):
        return False


def _sources() -> list[Path]:
    return sorted(SOURCES.rglob("*.java"))


def _digest() -> str:
    digest = hashlib.sha256()
    for source in _sources():
        digest.update(str(source.relative_to(SOURCES)).encode() + b"\0")
        digest.update(source.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def _compile(into: Path) -> None:
    if shutil.which("javac") is None:
        raise JarMissingError("javac is missing: a JDK of version 17 or later")
    spark = find_spec("pyspark")
    if spark is None or spark.origin is None:
        raise JarMissingError(f"{PYSPARK} is missing, whose jars it is compiled against")
    class_path = f"{Path(spark.origin).parent}/jars/*"
    # No annotation processors of other jars, and no warning of the old release, which is meant.
    options = ["--release", _RELEASE, "-proc:none", "-Xlint:-options", "-g:source,lines"]
    command = ["javac", *options, "-d", str(into), "-cp", class_path, *map(str, _sources())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # ours
    if done.returncode:
        raise JarMissingError(f"javac refused the sources:\n{done.stderr}")


def _pack(classes: Path, jar: Path) -> None:
    manifest = f"Manifest-Version: 1.0\r\n{_DIGEST}: {_digest()}\r\n\r\n".encode()
    members = {_MANIFEST: manifest}
    members |= {
        str(path.relative_to(classes)): path.read_bytes()
        for path in sorted(classes.rglob("*.class"))
    }
    unfinished = jar.with_suffix(".tmp")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            member = zipfile.ZipInfo(name, _MOMENT)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            archive.writestr(member, data)
    unfinished.replace(jar)


class JarBuildHook(BuildHookInterface):  # type: ignore[type-arg]  # of no configuration
    """Puts the jar into what is built; where it cannot be made, says so and goes on without."""

    def dependencies(self) -> list[str]:
        """What the build needs besides: PySpark, where the jar is still to be made."""
        return [] if is_made() or shutil.which("javac") is None else [PYSPARK]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  # hatch's
        """Make the jar before files are gathered."""
        try:
            make()
        except JarMissingError as missing:
            print(f"fsspec_commit.spark.jar() will not be there: {missing}", file=sys.stderr)  # noqa: T201
            return
        build_data["artifacts"].append(f"/{JAR.relative_to(self.root)}")


if __name__ == "__main__":
    make()
