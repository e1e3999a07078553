"""A server that is killed while a job commits, and comes back: nothing of ours is patched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.integration.s3_jobs import attempt, clean, recover, settled
from tests.integration.s3_wire import UNIQUE, At, Wire
from tests.protocol.invariants import check_under_way, job_ids, state_of, visible
from tests.servers.faults import LoseReply, Rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.integration.places import S3Place
    from tests.integration.scenes import Scene
    from tests.servers.plugin import S3Bucket
    from tests.servers.proxy import FaultProxy
    from tests.servers.server import Server

KILLED_AT = {
    "before the decision": (At("PutObject", "/decision"), "before"),
    "after the decision": (At("PutObject", "/decision"), "after"),
    "before the second file": (At("CompleteMultipartUpload", ".txt", nth=2), "before"),
    "after the second file": (At("CompleteMultipartUpload", ".txt", nth=2), "after"),
    "after all is published": (At("PutObject", "/published"), "after"),
    "after the job is over": (At("DeleteObject", "/job.json"), "after"),
}


@pytest.fixture
def plain_wire(s3_bucket: S3Bucket, s3_proxy: FaultProxy) -> Wire:
    """To a bucket without versions: ministack's do not survive it."""
    return Wire(s3_bucket, s3_proxy, UNIQUE)


@pytest.mark.parametrize(
    "s3_server",
    [
        pytest.param("ministack", marks=pytest.mark.slow),
        pytest.param("seaweedfs", marks=pytest.mark.slow),
        "versitygw",
    ],
    indirect=True,
)
@pytest.mark.parametrize("when", KILLED_AT)
def test_the_server_is_killed_during_job_commit(
    s3_server: Server, plain_wire: Wire, when: str
) -> None:
    """And comes back: whatever the driver makes of it is true, and the job can be finished.

    Unless the server has lost an upload: then the driver says so, and deletes nothing.
    """
    wire = plain_wire
    target, moment = KILLED_AT[when]
    bounce = _bounce(s3_server)
    rule = Rule(
        LoseReply() if moment == "after" else None,
        operation=target.operation,
        path=target.path,
        nth=target.nth,
        before=bounce if moment == "before" else None,
        after=bounce if moment == "after" else None,
    )
    place = wire.ready("out", rule)
    told, message = attempt(wire.scene, place)
    assert rule.met
    wire.proxy.clear()
    straight = wire.straight("out")
    if s3_server.name in LOSES_UPLOADS and told == "partial" and "is not in place" in message:
        # What it lost cannot be brought back, and nothing old was deleted for it.
        settle_by_hand(wire.scene, straight)
    elif s3_server.name in LOSES_UPLOADS and told == "partial" and "'_SUCCESS' is not" in message:
        settle_without_marker(wire.scene, straight)
    else:
        recover(wire.scene, straight, told)


LOSES_UPLOADS = {"ministack", "versitygw"}
"""ministack holds them in memory; versitygw loses one that it is completing when it is killed."""


def settle_by_hand(scene: Scene, place: S3Place) -> None:
    snapshot = place.snapshot()
    (job_id,) = job_ids(snapshot)
    check_under_way(snapshot, old=scene.old, new=scene.new, mode=scene.mode)
    assert state_of(snapshot, job_id) == "decided"
    with pytest.raises(fc.PartialCommitError, match="is not in place"):
        fc.resume(place.url, job_id, **place.how)
    result = fc.resume(place.url, job_id, accept_loss=True, **place.how)
    assert any(warning.startswith("lost: ") for warning in result.warnings)
    shown = visible(place.snapshot())
    assert shown.items() <= scene.old.items() | scene.new.items()
    assert shown.keys() >= scene.old.keys()
    clean(place)
    assert place.pending() == []


def settle_without_marker(scene: Scene, place: S3Place) -> None:
    (job_id,) = job_ids(place.snapshot())
    assert state_of(place.snapshot(), job_id) == "published"
    with pytest.raises(fc.PartialCommitError, match="'_SUCCESS' is not"):
        fc.resume(place.url, job_id, **place.how)
    result = fc.resume(place.url, job_id, accept_loss=True, **place.how)
    assert result.warnings == ("lost: '_SUCCESS' is gone, and was left out",)
    clean(place)
    settled(scene, place, happened=True, marker=None)


def _bounce(server: Server) -> Callable[[], None]:
    def bounce() -> None:
        server.kill()
        server.restart()

    return bounce
