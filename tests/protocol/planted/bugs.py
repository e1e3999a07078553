"""Bugs on purpose: each weakens one rule, and the simulator must find out that it matters.

A bug is a function that patches the product for one test. Those of the models in `tests/specs` are
here as code, and so are mistakes that were found in this library, made again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.protocol.planted import of_commits, of_decisions, of_effects


@dataclass(frozen=True)
class Bug:
    """One bug.

    Attributes:
        plant: Patches the product.
        breaks: The promises of which at least one must be found broken.
        family: The kind of store on which it is looked for; `None` for any.
        first: The seed to begin with: it, or one soon after it, finds the bug.
    """

    plant: Callable[[pytest.MonkeyPatch], None]
    breaks: tuple[str, ...]
    family: str | None = None
    first: int = 0


BUGS = {
    "publishes before its decision": Bug(of_commits.publishes_before_its_decision, ("P2", "P5")),
    "deletes before it publishes": Bug(of_commits.deletes_before_it_publishes, ("P9",)),
    "leaves the old files": Bug(of_commits.leaves_the_old_files, ("P9",)),
    "publishes no marker": Bug(of_commits.publishes_no_marker, ("P1",)),
    "leaves out the last file": Bug(of_commits.leaves_out_the_last_file, ("P1", "P9")),
    "sees no other claim": Bug(of_decisions.sees_no_other_claim, ("P9", "P11")),
    "looks before it claims": Bug(of_decisions.looks_before_it_claims, ("P9", "P11")),
    "takes a decided job for over": Bug(of_decisions.takes_a_decided_job_for_over, ("P9", "P11")),
    "fences with nothing": Bug(of_decisions.fences_with_nothing, ("P9", "P11")),
    "overwrites the decision": Bug(of_decisions.overwrites_the_decision, ("P7",)),
    "believes its decision in a void area": Bug(
        of_decisions.believes_its_decision_in_a_void_area, ("P5", "P7"), "gcs"
    ),
    "believes a void abort": Bug(of_decisions.believes_a_void_abort, ("P5", "P7"), "gcs"),
    "aborts without a decision": Bug(of_decisions.aborts_without_a_decision, ("P5", "P7", "P8")),
    "cleans without a fence": Bug(of_effects.cleans_without_a_fence, ("P5", "P7", "P8")),
    "cleans areas that just begin": Bug(
        of_effects.cleans_areas_that_just_begin, ("P1", "P5", "P7"), "disk"
    ),
    "removes the decision first": Bug(of_effects.removes_the_decision_first, ("P7",), "s3"),
    "removes areas file by file": Bug(of_effects.removes_areas_file_by_file, ("P7",), "disk"),
    "repeats the start": Bug(of_effects.repeats_the_start, ("P5", "P6")),
    "deletes on an old permit": Bug(of_effects.deletes_on_an_old_permit, ("P6", "P9")),
    "deletes whatever has the name": Bug(of_effects.deletes_whatever_has_the_name, ("P6", "P9")),
    "renames over anything": Bug(of_commits.renames_over_anything, ("P6", "P9")),
    "appends over names": Bug(of_commits.appends_over_names, ("P9", "P11")),
    "writes beside data": Bug(of_commits.writes_beside_data, ("P11",)),
    "forgets its key": Bug(of_commits.forgets_its_key, ("P7",)),
    "says not committed of an unknown decision": Bug(
        of_commits.says_not_committed_of_an_unknown_decision, ("P7",)
    ),
    "says not committed of a part": Bug(of_commits.says_not_committed_of_a_part, ("P7",)),
    "says committed of an abort": Bug(of_commits.says_committed_of_an_abort, ("P7",)),
    "takes no answer for done": Bug(of_effects.takes_no_answer_for_done, ("P1", "P9")),
    "leaves uploads": Bug(of_effects.leaves_uploads, ("P5",), "s3"),
    "leaves its area": Bug(of_effects.leaves_its_area, ("P5",)),
    "writes outside": Bug(of_commits.writes_outside, ("P10",)),
    "waits for ever": Bug(of_decisions.waits_for_ever, ("P8",)),
    "publishes another attempt": Bug(of_commits.publishes_another_attempt, ("P3",)),
}
