"""A driver and an aborter, and an upload that stayed behind: once seen by night, of a real server.

The driver's request to begin the upload of its marker is carried out, and it is never told: the
reply is lost, or it dies, or the request is late. So nothing names that upload, and whoever aborts
the job cannot: it stayed until `clean` began to look for such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.testing.simulation import FaultAt, JobPlan, Plan, run
from fsspec_commit.testing.simulation.plan import HelperPlan
from tests.protocol.planted.of_scenes import leaves_markers_that_nobody_knows

if TYPE_CHECKING:
    from fsspec_commit.testing.simulation.process import FaultKind

KINDS: tuple[FaultKind, ...] = ("error_but_applied", "crash_after", "applied_late")


def aborted(family: str, kind: FaultKind, at_s: float) -> Plan:
    aborter = HelperPlan(kind="aborter", at_s=at_s)
    return Plan(
        family=family,
        jobs=(JobPlan(name="a", mode="append", helpers=(aborter,)),),
        faults=(FaultAt("a.driver", 1, kind, verb="start"),),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", ["s3", "s3-versioned"])
def test_p5_an_upload_that_neither_driver_nor_aborter_knows_goes(
    family: str, kind: FaultKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tenth in range(2, 40, 2):
        found = run(aborted(family, kind, tenth / 10))
        assert not found.violations, found
    leaves_markers_that_nobody_knows(monkeypatch)
    left = [run(aborted(family, kind, tenth / 10)) for tenth in range(2, 40, 2)]
    seen = {one.partition(" (at")[0] for found in left for one in found.violations}
    assert seen == {"P5 P6: left: ['upload of bucket/top/out/_SUCCESS']"}
    assert any("abort returned" in found.told for found in left if found.violations)
