"""Faults on the wire to S3, GCS and Azure; of HDFS see `test_hdfs_faults.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import fsspec_commit as fc
from tests.integration.wire_faults import KilledServer, LongFiles, WireFaults, commit_over
from tests.protocol.invariants import check_under_way, job_ids, state_of, visible
from tests.scenes.attempts import clean, learn, settled
from tests.scenes.azure_places import azure_places
from tests.scenes.gcs_places import gcs_places
from tests.scenes.places import keep_versions, s3_places
from tests.scenes.requests_of_jobs import AZURITE, EXACT, GCS, GEN2, S3, S3_UNVERSIONED
from tests.scenes.wire import Wire
from tests.servers.faults import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.scenes.places import RemotePlace
    from tests.scenes.requests_of_jobs import Requests
    from tests.scenes.scene import Scene
    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.azure.server import AzureServer
    from tests.servers.gcs.plugin import GcsBucket
    from tests.servers.gcs.server import GcsServer
    from tests.servers.plugin import S3Bucket
    from tests.servers.proxy import FaultProxy
    from tests.servers.server import Server


def wire_to(
    places: Callable[..., Any], bucket: object, proxy: FaultProxy, requests: Requests
) -> Wire:
    """The way of *requests* to a bucket that has been looked at."""
    faulty = places(bucket, endpoint_url=proxy.endpoint_url)
    # The probe of this way to the bucket is the first job's only.
    learn(faulty("first"), requests.committer)
    return Wire(proxy, requests.scene, faulty, places(bucket))


class OnS3:
    requests: ClassVar[Requests]

    @pytest.fixture
    def wire(self, s3_bucket: S3Bucket, s3_proxy: FaultProxy) -> Wire:
        if self.requests.scene is EXACT:
            keep_versions(s3_bucket)
        return wire_to(s3_places, s3_bucket, s3_proxy, self.requests)


class S3Faults(OnS3, WireFaults, LongFiles):
    by_day: ClassVar = {"reply lost": 1, "503": 3}
    asked_by_day = by_day
    expires_by_day = 10
    sees_every_state = True
    workers = 2, 5


@pytest.mark.parametrize(
    "s3_server", ["ministack", pytest.param("seaweedfs", marks=pytest.mark.slow)], indirect=True
)
class TestS3(S3Faults):
    requests = S3


@pytest.mark.slow
@pytest.mark.parametrize("s3_server", ["versitygw"], indirect=True)
class TestS3Unversioned(S3Faults):
    """versitygw keeps no versions."""

    requests = S3_UNVERSIONED


LOSES_UPLOADS = {"ministack", "versitygw"}
"""ministack holds them in memory; versitygw loses one that it is completing when it is killed."""


@pytest.mark.parametrize(
    "s3_server",
    [
        pytest.param("ministack", marks=pytest.mark.slow),
        pytest.param("seaweedfs", marks=pytest.mark.slow),
        "versitygw",
    ],
    indirect=True,
)
class TestS3Killed(OnS3, KilledServer):
    """Without versions: ministack's do not survive it."""

    requests = S3_UNVERSIONED

    @pytest.fixture
    def server(self, s3_server: Server) -> Server:
        return s3_server

    def settle(self, server: Server, wire: Wire, told: str, message: str) -> None:
        """Unless the server has lost an upload: then the driver says so, and deletes nothing."""
        if server.name in LOSES_UPLOADS and told == "partial" and "is not in place" in message:
            # What it lost cannot be brought back, and nothing old was deleted for it.
            settle_by_hand(wire.scene, wire.direct("out"))
        elif server.name in LOSES_UPLOADS and told == "partial" and "'_SUCCESS' is not" in message:
            settle_without_marker(wire.scene, wire.direct("out"))
        else:
            super().settle(server, wire, told, message)


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


@pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)
class TestGcs(WireFaults, LongFiles, KilledServer):
    requests = GCS
    expires_by_day = 9

    @pytest.fixture
    def server(self, gcs_server: GcsServer) -> GcsServer:
        return gcs_server

    @pytest.fixture
    def wire(self, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy) -> Wire:
        return wire_to(gcs_places, gcs_bucket, gcs_proxy, self.requests)

    def test_a_token_that_expires_is_renewed_by_the_way(
        self, server: GcsServer, wire: Wire
    ) -> None:
        """Nobody hears of it: what was refused for it is asked again with another."""
        commit_over(wire, Rule(operation="objects.move", before=server.revoke_tokens, times=2))


class OnAzure(WireFaults):
    asked_by_day: ClassVar[Mapping[str, int]] = {}
    first_by_day = ("reply lost",)
    expires_by_day = 18

    @pytest.fixture
    def wire(self, azure_container: AzureContainer, azure_proxy: FaultProxy) -> Wire:
        return wire_to(azure_places, azure_container, azure_proxy, self.requests)


@pytest.mark.parametrize("azure_server", ["gen2"], indirect=True)
class TestGen2(OnAzure, KilledServer):
    """Killed is our own server alone: Azurite keeps its blobs in memory."""

    requests = GEN2
    by_day: ClassVar = {"reply lost": 1, "503": 4}
    killed_by_day = ("after the decision", "after the second file")

    @pytest.fixture
    def server(self, azure_server: AzureServer) -> AzureServer:
        return azure_server


@pytest.mark.parametrize("azure_server", ["azurite"], indirect=True)
class TestAzurite(OnAzure):
    requests = AZURITE
    by_day: ClassVar = {"reply lost": 4, "503": 4}
