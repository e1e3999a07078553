"""Which recorded runs a specification allows: TLC looks for a behaviour that has their events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.servers.plugin import available_or_skip
from tests.specs.model_checker import SPEC, check

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def accepted(
    folder: Path, of: str, constants: Mapping[str, str], recorded: str, *, quickly: bool
) -> set[int]:
    """The numbers, from 0, of the runs in the module *recorded* that are behaviours of one.

    Args:
        folder: Where TLC may write.
        of: The specification, whose traces the module of that name and ``Trace`` accepts.
        constants: Its constants.
        recorded: The module with the events of all runs.
        quickly: Whether there are so few that TLC is better not compiled.
    """
    configured = (SPEC / f"{of}.cfg").read_text("utf-8")
    configured = configured.replace("SPECIFICATION Spec", "SPECIFICATION TraceSpec")
    found = available_or_skip(
        lambda: check(
            folder,
            f"{of}Trace",
            configured=f"{configured}CONSTRAINT Accepts\n",
            constants=constants,
            further={"Recorded": recorded},
            quickly=quickly,
        )
    )
    assert found.violated is None, found.output
    return {int(number) - 1 for number in re.findall(r'<<"accepted", (\d+)>>', found.output)}
