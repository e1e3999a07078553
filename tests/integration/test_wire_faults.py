"""Faults on the wire to S3, GCS and Azure; of HDFS see `test_hdfs_faults.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pytest

import fsspec_commit as fc
from tests.integration.wire_faults import (
    OF_A_PART,
    KilledServer,
    LongFiles,
    WireFaults,
    commit_over,
    some_slow,
)
from tests.protocol.invariants import check_under_way, job_ids, state_of, visible
from tests.scenes.attempts import clean, settled
from tests.scenes.remotes import on
from tests.scenes.requests_of_jobs import AZURITE, GCS, GEN2, S3, S3_UNVERSIONED
from tests.servers.faults import AnswerInstead, Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.scenes.places import RemotePlace
    from tests.scenes.remotes import Remote
    from tests.scenes.scene import Scene
    from tests.scenes.wire import Wire


class S3Faults(WireFaults, LongFiles):
    by_day: ClassVar = {"reply lost": 8, "503": 18}
    asked_by_day = by_day
    expires_by_day = 14
    sees_every_state = True
    workers = 2, 5


@on("ministack", by_night=("seaweedfs",))
class TestS3(S3Faults):
    requests = S3


@on(by_night=("versitygw",))
class TestS3Unversioned(S3Faults):
    """versitygw keeps no versions."""

    requests = S3_UNVERSIONED


LOSES_UPLOADS = {"ministack", "versitygw"}
"""ministack holds them in memory; versitygw loses one that it is completing when it is killed."""


@on("versitygw", by_night=("ministack", "seaweedfs"))
class TestS3Killed(KilledServer):
    """Without versions: ministack's do not survive it."""

    requests = S3_UNVERSIONED

    def settle(self, remote: Remote, wire: Wire, told: str, message: str) -> None:
        """Unless the server has lost an upload: then the driver says so, and deletes nothing."""
        has_lost = remote.name in LOSES_UPLOADS and told == "partial"
        if has_lost and "is not in place" in message:
            # What it lost cannot be brought back, and nothing old was deleted for it.
            settle_by_hand(wire.scene, wire.direct("out"))
        elif has_lost and "'_SUCCESS' is not" in message:
            settle_without_marker(wire.scene, wire.direct("out"))
        else:
            super().settle(remote, wire, told, message)


def settle_by_hand(scene: Scene, place: RemotePlace) -> None:
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


def settle_without_marker(scene: Scene, place: RemotePlace) -> None:
    (job_id,) = job_ids(place.snapshot())
    assert state_of(place.snapshot(), job_id) == "published"
    with pytest.raises(fc.PartialCommitError, match="'_SUCCESS' is not"):
        fc.resume(place.url, job_id, **place.how)
    result = fc.resume(place.url, job_id, accept_loss=True, **place.how)
    assert result.warnings == ("lost: '_SUCCESS' is gone, and was left out",)
    clean(place)
    settled(scene, place, happened=True, marker=None)


@on("strict-gcs")
class TestGcs(WireFaults, LongFiles, KilledServer):
    requests = GCS
    expires_by_day = 20

    def test_a_token_that_expires_is_renewed_by_the_way(self, remote: Remote, wire: Wire) -> None:
        """Nobody hears of it: what was refused for it is asked again with another."""
        revoke = remote.server.revoke_tokens
        commit_over(wire, Rule(operation="objects.move", before=revoke, times=2))


PIECE = bytes(range(251)) * 4177
"""A MiB or so; no two blocks of such are alike."""
PIECES = 33
"""Four blocks of 8 MiB, which go while the file is written, and the rest."""


def write_long_file(place: RemotePlace) -> None:
    """Bit by bit, as Arrow does."""
    with (
        fc.Job(place.url, mode="append", names="exact", **place.how) as job,
        job.task() as task,
        task.open("long.bin", "wb") as file,
    ):
        for _ in range(PIECES):
            file.write(PIECE)


class OnAzure(WireFaults):
    asked_by_day: ClassVar[Mapping[str, int]] = {}
    first_by_day = ("reply lost",)
    expires_by_day = 36


@on("gen2")
class TestGen2(OnAzure, LongFiles, KilledServer):
    """Killed is our own server alone: Azurite keeps its blobs in memory."""

    requests = GEN2
    by_day: ClassVar = {"reply lost": 8, "503": 18}
    killed_by_day = ("after the decision", "after the second file")

    @pytest.mark.parametrize("fault", some_slow(OF_A_PART, ["reset in the body"]))
    def test_blocks_that_fail_side_by_side_are_sent_again(self, wire: Wire, fault: str) -> None:
        """Four of five, which are on their way at once."""
        rules = [Rule(OF_A_PART[fault], operation="block.put", nth=nth) for nth in range(1, 5)]
        place = wire.ready("out", *rules)
        write_long_file(place)
        assert all(rule.met for rule in rules)
        assert wire.direct("out").snapshot()["long.bin"] == PIECE * PIECES
        assert wire.direct("out").pending() == []

    def test_a_block_that_is_refused_is_the_end_of_its_file(self, wire: Wire) -> None:
        """Nothing of it is ever seen, though others were on their way with it."""
        refused = Rule(AnswerInstead(403), operation="block.put", nth=2)
        place = wire.ready("out", refused)
        with pytest.raises(OSError, match=r"long\.bin"):
            write_long_file(place)
        assert refused.met
        assert wire.direct("out").snapshot() == wire.scene.laid_out


@on("azurite")
class TestAzurite(OnAzure):
    requests = AZURITE
    by_day: ClassVar = {"reply lost": 16, "503": 18}
