"""Buckets that differ, folders, and what keeps objects where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.servers.gcs.kinds_of_buckets import HIERARCHICAL, VERSIONED, ZONAL
from tests.servers.gcs.raw import Raw

if TYPE_CHECKING:
    from tests.servers.gcs.server import GcsServer

pytestmark = pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)


def bucket(server: GcsServer, resource: dict[str, Any]) -> Raw:
    return Raw(server.endpoint_url, server.new_bucket(**resource))


@pytest.fixture
def tree(gcs_server: GcsServer) -> Raw:
    return bucket(gcs_server, HIERARCHICAL)


def names_of(answer: dict[str, Any]) -> list[str]:
    return [one["name"] for one in answer.get("items", [])]


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


@pytest.mark.parametrize(
    "resource",
    [
        {"hierarchicalNamespace": {"enabled": True}},
        {**HIERARCHICAL, **VERSIONED},
        {**HIERARCHICAL, "retentionPolicy": {"retentionPeriod": "1"}},
        {**ZONAL, "storageClass": "STANDARD"},
        {"storageClass": "RAPID"},
        {key: ZONAL[key] for key in ("customPlacementConfig", "storageClass")},
    ],
)
def test_no_bucket_is_so(gcs_server: GcsServer, resource: dict[str, Any]) -> None:
    raw = Raw(gcs_server.endpoint_url, "")
    asked = {"name": "never-made", **resource}
    assert raw.call("POST", "/storage/v1/b", asked, project="tests").status == 400
    assert raw.call("GET", "/storage/v1/b/never-made").status == 404


@pytest.mark.parametrize("name", ["A", "a", "under score!", "-a-", ""])
def test_no_bucket_is_called_so(gcs_server: GcsServer, name: str) -> None:
    raw = Raw(gcs_server.endpoint_url, "")
    assert raw.call("POST", "/storage/v1/b", {"name": name}, project="tests").status == 400


def test_a_bucket_is_made_once_and_removed_empty(raw: Raw) -> None:
    again = raw.call("POST", "/storage/v1/b", {"name": raw.bucket}, project="tests")
    assert (again.status, again.reason) == (409, "conflict")
    raw.insert("a")
    assert raw.call("DELETE", f"/storage/v1/b/{raw.bucket}").status == 409
    raw.object("DELETE", "a")
    assert raw.call("DELETE", f"/storage/v1/b/{raw.bucket}").status == 204
    assert raw.insert("a").status == 404


def test_a_zonal_bucket_takes_no_objects_by_this_api(gcs_server: GcsServer) -> None:
    raw = bucket(gcs_server, ZONAL)
    assert raw.insert("a").status == 400
    assert raw.names() == []


def test_folders_come_with_objects_and_stay(tree: Raw) -> None:
    tree.insert("a/b/c")
    tree.insert("from")
    tree.move("from", "d/e/to")
    assert names_of(tree.folders("GET").document) == ["a/", "a/b/", "d/", "d/e/"]
    tree.object("DELETE", "a/b/c")
    assert tree.folders("GET", "a/b/").document["name"] == "a/b/"


def test_a_folder_needs_its_parent(tree: Raw) -> None:
    assert tree.folders("POST", body={"name": "a/b/"}).status == 409
    assert tree.folders("POST", body={"name": "a/b/"}, recursive="true").status == 200
    assert tree.folders("POST", body={"name": "a/"}).reason == "conflict"
    assert names_of(tree.folders("GET", prefix="a/", delimiter="/").document) == ["a/", "a/b/"]


def test_only_an_empty_folder_is_deleted(tree: Raw) -> None:
    tree.insert("a/b")
    assert tree.folders("DELETE", "a/").status == 409
    tree.object("DELETE", "b")
    tree.object("DELETE", "a/b")
    assert tree.folders("DELETE", "a/").status == 204
    assert tree.folders("GET", "a/").status == 404


def test_a_folder_is_renamed_with_all_that_is_in_it(tree: Raw) -> None:
    for name in ("old/a", "old/deep/b", "older"):
        tree.insert(name, name.encode())
    operation = rename(tree, "old/", "new/")
    assert operation["done"] is False
    number = operation["name"].rpartition("/")[2]
    path = f"/storage/v1/b/{tree.bucket}/operations/{number}"
    assert tree.call("GET", path).document["done"] is True
    assert tree.names() == ["new/a", "new/deep/b", "older"]
    assert names_of(tree.folders("GET").document) == ["new/", "new/deep/"]
    assert tree.object("GET", "new/a", alt="media").content == b"old/a"


def rename(tree: Raw, old: str, new: str) -> dict[str, Any]:
    old, new = old.replace("/", "%2F"), new.replace("/", "%2F")
    path = f"/storage/v1/b/{tree.bucket}/folders/{old}/renameTo/folders/{new}"
    return tree.call("POST", path).document


def test_a_folder_does_not_replace_another(tree: Raw) -> None:
    for name in ("old/a", "new/b"):
        tree.insert(name)
    assert rename(tree, "old/", "new/")["error"]["code"] == 409
    assert rename(tree, "old/", "old/inner/")["error"]["code"] == 400
    assert rename(tree, "old/", "no/parent/")["error"]["code"] == 409
    assert rename(tree, "none/", "other/")["error"]["code"] == 404
    assert tree.names() == ["new/b", "old/a"]


def test_a_flat_bucket_has_no_folders(raw: Raw) -> None:
    assert raw.folders("GET").status == 400
    assert raw.folders("POST", body={"name": "a/"}).status == 400


def test_a_policy_that_is_set_later_holds_what_is_there(raw: Raw) -> None:
    raw.insert("a")
    policy = {"retentionPolicy": {"retentionPeriod": "3600"}}
    assert raw.call("PATCH", f"/storage/v1/b/{raw.bucket}", policy).status == 200
    assert raw.object("DELETE", "a").reason == "retentionPolicyNotMet"
    raw.call("PATCH", f"/storage/v1/b/{raw.bucket}", {"retentionPolicy": None})
    assert raw.object("DELETE", "a").status == 204


def test_a_hold_keeps_an_object(raw: Raw) -> None:
    raw.insert("a")
    raw.object("PATCH", "a", {"temporaryHold": True})
    for answer in (raw.object("DELETE", "a"), raw.insert("a"), raw.move("a", "b")):
        assert (answer.status, answer.reason) == (403, "objectUnderActiveHold")
    assert raw.names() == ["a"]
