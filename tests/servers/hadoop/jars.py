"""Hadoop's own classes, from Maven by their coordinates: readers and committers to compare with.

The PySpark wheel carries two of these artifacts, of the same release, among 491 MB of others, and
not those of the stores, which the magic committer and its records are in.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.servers.installation import Installation, _run

TESTS = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class MavenJars(Installation):
    """The jars that a ``pom.xml`` below `tests` names, in `lib`; what starts them is Java."""

    pom: str

    @property
    def toolchain(self) -> str:
        # A runtime alone cannot compile what the tests start from its source.
        return "mvn" if shutil.which("mvn") is None else "javac"

    @property
    def class_path(self) -> str:
        return f"{self.folder}/lib/*"

    @property
    def _constraints(self) -> Path:
        return TESTS / self.pom

    @property
    def _made_with(self) -> str:
        # An archive of classes is for the very Java that made it.
        java = shutil.which("java")
        return f"{super()._made_with} {java and os.path.realpath(java)}"

    def _install(self) -> None:
        self._fetch()
        (self.folder / "bin" / self.command).symlink_to(shutil.which(self.command) or "")

    def _fetch(self) -> None:
        goal = "dependency:copy-dependencies"
        options = ("-DincludeScope=runtime", f"-DoutputDirectory={self.folder}/lib")
        pom = str(self._constraints)
        _run("mvn", "--batch-mode", "--quiet", "--file", pom, goal, *options)


HADOOP = MavenJars(
    name="hadoop-jars", version="3.5.0", command="java", pom="servers/hadoop/pom.xml"
)
