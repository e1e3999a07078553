"""In how many random runs each planted bug is caught: measured, and written to ``caught.json``."""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.testing.simulation import Plan, draw, run
from tests.protocol.planted.bugs import BUGS

if TYPE_CHECKING:
    from tests.protocol.planted.bug import Bug

ENOUGH = 5
"""How often a bug is caught before the next one is looked for."""
CAUGHT = Path(__file__).with_name("caught.json")


def plan_of(bug: Bug, seed: int) -> Plan:
    """What is run for a seed: every other run is varied."""
    return draw(
        seed,
        family=bug.family,
        varied=seed % 2 == 1,
        sliced=bug.sliced,
        verified=bug.verified,
    )


def broken(bug: Bug, violations: tuple[str, ...]) -> set[str]:
    """The promises that *violations* are about, of those that the bug is to break."""
    found = {one for text in violations for one in re.findall(r"P\d+", text.partition(":")[0])}
    return found & {*bug.breaks} if bug.breaks else found


def measure(bug: Bug, seeds: range, within_s: float) -> dict[str, Any]:
    """The first of *seeds* that catches the bug, and how many of those that were tried do."""
    first, caught, promises, tried = None, 0, set[str](), 0
    begin = time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        bug.plant(patch)
        for seed in seeds:
            tried += 1
            found = broken(bug, run(plan_of(bug, seed)).violations)
            if found:
                caught += 1
                first = seed if first is None else first
                promises |= found
            if caught == ENOUGH or time.monotonic() - begin > within_s:
                break
    return {"first": first, "caught": caught, "of": tried, "breaks": sorted(promises)}


def measured(in_file: Path = CAUGHT) -> dict[str, dict[str, Any]]:
    """What was measured last, by the names of the bugs; nothing if the file is not there."""
    found: dict[str, dict[str, Any]] = json.loads(in_file.read_text()) if in_file.exists() else {}
    return found


def write(known: dict[str, dict[str, Any]], to: Path) -> None:
    """Write what was measured, a bug a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in sorted(known.items())]
    to.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--to", type=Path, default=CAUGHT)
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    names = given.names or sorted(BUGS)[part::parts]
    known = measured(given.to)
    for name in names:
        known[name] = measure(BUGS[name], range(given.seeds), given.seconds)
        print(name, known[name], flush=True)
        write(known, given.to)


if __name__ == "__main__":
    main()
