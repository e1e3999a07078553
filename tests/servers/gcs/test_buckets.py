"""Buckets that differ, and what they say of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.servers.gcs.kinds_of_buckets import HIERARCHICAL, ZONAL
from tests.servers.gcs.raw import Raw

if TYPE_CHECKING:
    from tests.servers.gcs.server import GcsServer

pytestmark = pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)


def bucket(server: GcsServer, resource: dict[str, Any]) -> Raw:
    return Raw(server.endpoint_url, server.new_bucket(**resource))


@pytest.mark.parametrize(
    ("resource", "layout"),
    [
        ({}, {"location": "US", "locationType": "multi-region"}),
        ({"location": "europe-west1"}, {"location": "EUROPE-WEST1", "locationType": "region"}),
        (
            HIERARCHICAL,
            {
                "location": "US",
                "locationType": "multi-region",
                "hierarchicalNamespace": {"enabled": True},
            },
        ),
        (
            ZONAL,
            {
                "location": "US-CENTRAL1",
                "locationType": "zone",
                "hierarchicalNamespace": {"enabled": True},
                "customPlacementConfig": {"dataLocations": ["us-central1-a"]},
            },
        ),
    ],
    ids=["plain", "region", "folders", "zone"],
)
def test_the_layout_says_what_a_bucket_is(
    gcs_server: GcsServer, resource: dict[str, Any], layout: dict[str, Any]
) -> None:
    raw = bucket(gcs_server, resource)
    found = raw.call("GET", f"/storage/v1/b/{raw.bucket}/storageLayout").document
    assert found == {"kind": "storage#storageLayout", "bucket": raw.bucket, **layout}
    whole = raw.call("GET", f"/storage/v1/b/{raw.bucket}").document
    assert whole.items() >= layout.items()


@pytest.mark.parametrize("name", ["A", "a", "under score!", "-a-", ""])
def test_no_bucket_is_called_so(gcs_server: GcsServer, name: str) -> None:
    raw = Raw(gcs_server.endpoint_url, "")
    assert raw.call("POST", "/storage/v1/b", {"name": name}, project="tests").status == 400


def test_a_bucket_is_made_once(raw: Raw) -> None:
    again = raw.call("POST", "/storage/v1/b", {"name": raw.bucket}, project="tests")
    assert (again.status, again.reason) == (409, "conflict")


def test_a_zonal_bucket_takes_no_objects_by_this_api(gcs_server: GcsServer) -> None:
    raw = bucket(gcs_server, ZONAL)
    assert raw.insert("a").status == 400
    assert raw.names() == []


def test_a_retention_policy_keeps_what_is_there(gcs_server: GcsServer) -> None:
    """However old: from when it is put on a bucket until it is taken away."""
    raw = bucket(gcs_server, {})
    assert raw.insert("old", b"old").status == 200
    gcs_server.patch_bucket(raw.bucket, retentionPolicy={"retentionPeriod": "3600"})
    assert raw.call("GET", f"/storage/v1/b/{raw.bucket}").document["retentionPolicy"]
    for refused in (raw.object("DELETE", "old"), raw.insert("old", b"new")):
        assert (refused.status, refused.reason) == (403, "retentionPolicyNotMet")
    assert raw.insert("new", b"new").status == 200
    gcs_server.patch_bucket(raw.bucket, retentionPolicy=None)
    assert raw.object("DELETE", "old").status == 204


def test_what_cannot_be_patched_is_refused(gcs_server: GcsServer) -> None:
    raw = bucket(gcs_server, {})
    patched = raw.call("PATCH", f"/storage/v1/b/{raw.bucket}", {"location": "EU"})
    assert (patched.status, patched.reason) == (400, "invalid")
