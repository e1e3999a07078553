"""The configurations with which TLC checks the specification, and how many states each has.

Each is one of `docs/spec`, with other constants. ``python -m tests.specs.configurations NAME…``
has TLC check those, and writes to ``states.json`` how many distinct states it has found.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.specs.model_checker import check

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.specs.model_checker import Checked

COUNTED = Path(__file__).with_name("states.json")
STATES: dict[str, int] = json.loads(COUNTED.read_text("utf-8"))
"""How many distinct states each configuration has: TLC finds neither more nor fewer."""


@dataclass(frozen=True)
class Configured:
    """One configuration: what is otherwise than in the file of its module.

    Attributes:
        module: The module.
        constants: The constants that differ.
        liveness: The property that is checked instead of the invariants.
    """

    module: str
    constants: Mapping[str, str] = field(default_factory=dict)
    liveness: str | None = None


@dataclass(frozen=True)
class Weaker:
    """A configuration that is enough to show what a rule is for."""

    breaks: str
    configured: Configured


def job(*different: Mapping[str, str], liveness: str | None = None) -> Configured:
    return Configured("Job", _together(different), liveness)


def jobs(*different: Mapping[str, str], liveness: str | None = None) -> Configured:
    return Configured("Destination", _together(different), liveness)


def _together(different: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {name: value for constants in different for name, value in constants.items()}


V1 = {"Committer": '"v1"', "Directories": "TRUE"}
GCS = {"Committer": '"manifest"'}
ON_A_DISK = {**GCS, "Directories": "TRUE"}
TASKS, TRIES, LATE = {"Tasks": "{1, 2}"}, {"Tries": "{1, 2}"}, {"LateTries": "{1}"}
LOST, LATER = {"Losses": "1"}, {"LaterJob": "TRUE"}
IN_PLACE, COLLECTED = {"InPlace": "TRUE"}, {"Collect": '"store"'}
APPENDED = {"Appends": "TRUE"}
DRIVER = {"Aborters": "{}"}
TWO_DRIVERS = {**DRIVER, "Drivers": '{"driver", "twin"}'}
RESUMED = {"Resumers": '{"resumer"}', "Aborters": "{}"}
BOTH = {"Resumers": '{"resumer"}'}
CLEANED = {"Cleaners": '{"cleaner"}'}
OPERATOR = {**DRIVER, "Operators": '{"operator"}'}
TWO = {"Appends": "{}", "Overwrites": "{1, 2}", "Second": "{}"}
ALIVE = {**TWO, "Recovers": "FALSE"}
NONE = {"Appends": "{}", "Overwrites": "{}", "Replaces": "{}", "Errors": "{}"}
THREE = {**NONE, "Jobs": "{1, 2, 3}", "First": "{1, 2, 3}", "Second": "{}", "Ahead": "{}"}
REPLACE = {"Replaces": "{1, 2, 3}"}
SETTLED, NO_WAIT = "EventuallySettled", "P8NobodyWaitsForEver"

# Three jobs: some minutes each, where nothing else runs.
OF_THREE = {
    "an overwrite between appends": jobs(THREE, {"Appends": "{1, 3}", "Overwrites": "{2}"}),
    "an overwrite that looks ahead between appends": jobs(
        THREE, {"Appends": "{1, 3}", "Overwrites": "{2}", "Ahead": "{2}"}
    ),
    "one between two that refuse what is there": jobs(
        THREE, {"Errors": "{1, 3}", "Overwrites": "{2}"}
    ),
    "two appends with one key": jobs(
        THREE, {"Appends": "{1, 3}", "Overwrites": "{2}", "SameKey": "{1, 3}"}
    ),
    "each replaces one partition, and the second of them two": jobs(
        THREE, REPLACE, {"First": "{1, 2}", "Second": "{2, 3}"}
    ),
    "each replaces one partition, and the newest of them two": jobs(
        THREE, REPLACE, {"First": "{1, 3}", "Second": "{2, 3}"}
    ),
    "each replaces one partition, and the oldest of them two": jobs(
        THREE, REPLACE, {"First": "{1, 2}", "Second": "{1, 3}"}
    ),
    "an append, one of a partition, one of all": jobs(
        THREE, {"Appends": "{1}", "Replaces": "{2}", "Overwrites": "{3}", "Second": "{1}"}
    ),
}
BY_DAY = {
    "one job": job(),
    "a cleaner": job(DRIVER, CLEANED),
    "in place, and collected by the store": job(IN_PLACE, COLLECTED),
    "two jobs": jobs(),
}
CLEANED_UP = {
    "v1, a cleaner beside the others, and a lost answer": job(BOTH, V1, CLEANED, LOST),
    "v1, a cleaner and a later job": job(DRIVER, V1, CLEANED, LATER, LOST),
    "manifest with directories, a cleaner and a lost answer": job(
        RESUMED, ON_A_DISK, CLEANED, LOST
    ),
    "manifest, a cleaner and a lost answer": job(DRIVER, GCS, CLEANED, LOST),
    "magic, a cleaner beside a resumer": job(RESUMED, CLEANED),
    "magic, a cleaner and a lost answer": job(DRIVER, CLEANED, LOST),
}
OTHER_FILES = {
    "v1, in place, collected, and a lost answer": job(BOTH, V1, IN_PLACE, COLLECTED, LOST),
    "manifest with directories, in place, collected, and a lost answer": job(
        BOTH, ON_A_DISK, IN_PLACE, COLLECTED, LOST
    ),
    "manifest, in place, collected, and a lost answer": job(
        RESUMED, GCS, IN_PLACE, COLLECTED, LOST
    ),
    "magic, in place, collected, and a lost answer": job(RESUMED, IN_PLACE, COLLECTED, LOST),
    "magic, in place and a later job": job(RESUMED, IN_PLACE, LATER),
    "v1, two tries, collected": job(BOTH, V1, TRIES, COLLECTED),
    "magic, two tries, collected": job(DRIVER, TRIES, COLLECTED),
    "magic, two tries, collected, and two drivers": job(TWO_DRIVERS, TRIES, COLLECTED),
    "v1, an append, a later job and a lost answer": job(RESUMED, V1, APPENDED, LATER, LOST),
    "magic, an append and a lost answer": job(RESUMED, APPENDED, LOST),
    "magic, an append and a later job": job(RESUMED, APPENDED, LATER),
}
BY_NIGHT = {
    "resumed and aborted": job(BOTH),
    "v1, two tries": job(BOTH, V1, TRIES),
    "v1, a later job": job(BOTH, V1, LATER, LOST),
    "manifest, a late writer": job(BOTH, GCS, LATE),
    "manifest with directories, a late writer": job(BOTH, ON_A_DISK, LATE),
    "manifest, a late writer and a later job": job(BOTH, GCS, LATE, LATER),
    "manifest, a late writer and two tasks": job(BOTH, GCS, LATE, TASKS),
    "manifest, a late writer, two tasks and a later job": job(BOTH, GCS, LATE, TASKS, LATER),
    "manifest with directories, a lost answer": job(BOTH, ON_A_DISK, LOST),
    "manifest, a lost answer": job(RESUMED, GCS, LOST),
    "magic, a late writer": job(BOTH, LATE),
    "magic, a later job": job(BOTH, LATER, LOST),
    "magic, two tries": job(BOTH, TRIES),
    "magic, two tries and a lost answer": job(BOTH, TRIES, LOST),
    "magic, two tasks": job(BOTH, TASKS),
    "magic, two tasks and a later job": job(BOTH, TASKS, LATER),
    "magic, two tasks and a lost answer": job(BOTH, TASKS, LOST),
    **CLEANED_UP,
    **OTHER_FILES,
    "settled, magic": job(OPERATOR, liveness=SETTLED),
    "settled, v1": job(OPERATOR, V1, liveness=SETTLED),
    "settled, two tries, collected": job(OPERATOR, TRIES, COLLECTED, liveness=SETTLED),
    "two jobs, one with a twin": jobs(TWO, {"Twins": "{1}", "GivesUp": "TRUE"}),
    "nobody waits for ever": jobs(ALIVE, liveness=NO_WAIT),
    **{f"three jobs, {one}": found for one, found in OF_THREE.items()},
}
WEAKER = {
    "A decision is exclusive": Weaker("P7DecidedOnce", job()),
    "job.json is read after the decision": Weaker("P5Abortable", job()),
    "A decision met counts only if job.json stands after it": Weaker(
        "P7DecidedOnce", job({"Drivers": '{"driver", "twin"}'})
    ),
    "job.json is created by one request, never by a second": Weaker("P7DecidedOnce", job(LOST)),
    "job.json goes first when an area is removed": Weaker("P7DecidedOnce", job()),
    "The decision is repeated until some record stands": Weaker("P5Abortable", job(DRIVER, LOST)),
    "Each file is published by a step that consumes its source": Weaker(
        "P6Continuity", job(RESUMED, GCS, LATER)
    ),
    "Replaced files are listed before the decision, with tokens": Weaker(
        "P6Continuity", job(RESUMED, LATER)
    ),
    "The marker is published by a step that consumes its source": Weaker(
        "P6Continuity", job(RESUMED, LATER)
    ),
    "A marker's name is never written again": Weaker(
        "P6Continuity", job(RESUMED, GCS, LATER, LOST)
    ),
    "The stale _SUCCESS goes before the first file": Weaker("MarkerMeansComplete", job(DRIVER)),
    "Old files go when every new one is in place": Weaker("P9NothingLost", job(DRIVER)),
    "The epoch changes before the area goes": Weaker("EpochBeforeEnd", job(DRIVER)),
    "An abort decides before it removes": Weaker("EpochBeforeEnd", job()),
    "A clean decides before it removes": Weaker("EpochBeforeEnd", job(DRIVER, CLEANED)),
    "A clean leaves alone what has decided to commit": Weaker(
        "EpochBeforeEnd", job(DRIVER, CLEANED)
    ),
    "Without its message an attempt never happened": Weaker("P3Chosen", job(DRIVER)),
    "Who has begun to commit discards nothing that may be chosen": Weaker(
        "P3Chosen", job(DRIVER, {"Collect": '"store"'})
    ),
    "A file is published on condition of its token": Weaker("P2Exclusive", job(DRIVER, GCS, LATE)),
    "v1 takes a committed attempt out of the reach of late writers": Weaker(
        "P8Resumable", job(DRIVER, V1, LATE)
    ),
    "What is left of a job that is over is removed": Weaker(
        "liveness", job(OPERATOR, liveness=SETTLED)
    ),
    "Claim first, look second": Weaker("P11Serial", jobs(TWO)),
    "An area is listed when the claim stands": Weaker("P11Serial", jobs(TWO)),
    "An append claims too": Weaker("P11Serial", jobs({"Second": "{2}"})),
    "A committed job is waited for until it has finished": Weaker("P11Serial", jobs(TWO)),
    "A newer job is fenced, an older one is waited for": Weaker("P11Serial", jobs(TWO)),
    "A claim's nonce is never used again": Weaker(
        "P11Serial", jobs(TWO, {"Losses": "1", "Twins": "{1}", "GivesUp": "TRUE"})
    ),
    "A key that has committed is skipped": Weaker("P7OneOfAKey", jobs(TWO, {"SameKey": "{1, 2}"})),
    "Jobs with one key conflict": Weaker(
        "P7OneOfAKey",
        jobs({"SameKey": "{1, 2}", "Appends": "{1, 2}", "Overwrites": "{}", "Second": "{}"}),
    ),
    "The older job goes first": Weaker("liveness", jobs(ALIVE, liveness=NO_WAIT)),
}


def checked(
    configured: Configured, folder: Path, *, weakened: str = "", quickly: bool = False
) -> Checked:
    """What TLC finds, in an empty *folder*, where a rule is *weakened* or none."""
    constants = {**configured.constants, "Weakened": f'{{"{weakened}"}}' if weakened else "{}"}
    return check(
        folder,
        configured.module,
        constants=constants,
        liveness=configured.liveness,
        quickly=quickly,
    )


def main() -> None:
    """Count the states of the configurations that are named."""
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            found = checked({**BY_DAY, **BY_NIGHT}[name], Path(folder))
        if found.violated is not None:
            sys.exit(found.output)
        STATES[name] = found.states
        COUNTED.write_text(json.dumps(STATES, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
