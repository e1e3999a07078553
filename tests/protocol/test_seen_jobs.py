"""Whether two looks at all jobs agree."""

from __future__ import annotations

from fsspec_commit.ids import JobId
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.protocol.seen_jobs import Look, Phase, SeenJob


def test_looks_agree_if_no_job_can_have_done_anything_visible() -> None:
    """Who is missing later has not decided, or is over; who has come since has not decided.

    Who is over once is so for good, but for an empty area: its job may not have begun.
    """
    layout = DestinationLayout(StorePath("b/out")).job(JobId("20261120T140355-9c1e5f00a1b2c3d4"))

    def look(phase: Phase | None) -> Look:
        jobs = {} if phase is None else {layout.job_id: SeenJob(layout, phase)}
        return Look(frozenset(), jobs)

    over = {Phase.OVER, Phase.EMPTY, Phase.ENDED}
    steady = {(phase, phase) for phase in (None, *Phase) if phase is not Phase.ENDED}
    steady |= {(phase, None) for phase in (Phase.QUIET, *over)} | {(None, Phase.QUIET)}
    steady |= {(Phase.OVER, phase) for phase in over}
    steady |= {(empty, Phase.QUIET) for empty in (Phase.EMPTY, Phase.ENDED)}
    steady |= {(Phase.ENDED, Phase.EMPTY)}
    phases = (None, *Phase)
    assert steady == {
        (earlier, later)
        for earlier in phases
        for later in phases
        if look(earlier).agrees_with(look(later))
    }
