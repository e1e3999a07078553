"""TLC over a module of `docs/spec`, in a directory of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.tlc import TLC

if TYPE_CHECKING:
    from collections.abc import Mapping

SPEC = Path(__file__).resolve().parents[2] / "docs" / "spec"
# Starts quickly; a long search wants a compiler that takes its time.
_QUICK = ("-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_LONG = ("-Xmx2g", "-XX:+UseSerialGC")
_LIMIT_S = 1_500
_VIOLATED = re.compile(
    r"Error: (?:Invariant (\w+) is violated|(Temporal properties were violated))"
)
_COUNTED = re.compile(
    r"^\d+ states generated, (\d+) distinct states found, (\d+) states left", re.MULTILINE
)


@dataclass(frozen=True)
class Checked:
    """What TLC has found.

    Attributes:
        states: How many distinct states there are; if something is violated, how many were seen.
        violated: The invariant that does not hold, or ``"liveness"``.
        output: All that TLC has said, which ends with the shortest behaviour that violates it.
    """

    states: int
    violated: str | None
    output: str


def check(  # what a run of TLC is about
    folder: Path,
    module: str,
    *,
    configured: str | None = None,
    constants: Mapping[str, str] | None = None,
    liveness: str | None = None,
    further: Mapping[str, str] | None = None,
    quickly: bool = False,
) -> Checked:
    """Try every behaviour of *module*.

    Args:
        folder: An empty directory, for copies of the modules and what TLC writes.
        module: Its name.
        configured: The configuration; by default that of ``docs/spec``.
        constants: What is otherwise than in the configuration.
        liveness: Check this property instead of the invariants, under ``FairSpec``.
        further: Modules that are made for the run, by name.
        quickly: The search is short.

    Raises:
        ServerUnavailableError: TLC is not installed, or there is no Java.
        AssertionError: TLC could not do it.
    """
    for file in SPEC.glob("*.tla"):
        shutil.copy(file, folder)
    for name, text in (further or {}).items():
        (folder / f"{name}.tla").write_text(text, "utf-8")
    if configured is None:
        configured = (SPEC / f"{module}.cfg").read_text("utf-8")
    config = configured_with(configured, constants or {}, liveness)
    (folder / "checked.cfg").write_text(config, "utf-8")
    java = (*(_QUICK if quickly else _LONG), f"-Djava.io.tmpdir={folder}")
    options = ("-deadlock", "-nowarning", "-metadir", str(folder / "states"))
    ran = subprocess.run(
        [*TLC.command_line(*java), "tlc2.TLC", *options, "-config", "checked.cfg", module],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=_LIMIT_S,
    )
    shutil.rmtree(folder / "states", ignore_errors=True)
    violated, counted = _VIOLATED.search(ran.stdout), _COUNTED.findall(ran.stdout)
    assert counted, ran.stdout + ran.stderr
    states, left = map(int, counted[-1])
    assert violated or (ran.returncode == 0 and left == 0), ran.stdout + ran.stderr
    named = None if violated is None else violated[1] or "liveness"
    return Checked(states, named, ran.stdout)


def configured_with(text: str, constants: Mapping[str, str], liveness: str | None) -> str:
    """A configuration with other *constants*, or for a *liveness* property alone."""
    lines = text.splitlines(keepends=True)
    for name, value in constants.items():
        [number] = [at for at, line in enumerate(lines) if line.startswith(f"    {name} = ")]
        lines[number] = f"    {name} = {value}\n"
    text = "".join(lines)
    if liveness is not None:
        head = text.partition("INVARIANTS")[0].replace(
            "SPECIFICATION Spec", "SPECIFICATION FairSpec"
        )
        text = f"{head}PROPERTY {liveness}\n"
    return text
