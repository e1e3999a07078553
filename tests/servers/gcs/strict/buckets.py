"""Buckets: https://cloud.google.com/storage/docs/json_api/v1/buckets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.servers.gcs.strict.failures import conflict, invalid
from tests.servers.gcs.strict.messages import Reply
from tests.servers.gcs.strict.state import etag, now

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.servers.gcs.strict.messages import Call
    from tests.servers.gcs.strict.service import Service

# https://cloud.google.com/storage/docs/buckets#naming
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]")
_PATCHED = frozenset({"defaultEventBasedHold", "retentionPolicy"})
_ZONE = re.compile(r"[a-z]+-[a-z]+\d-[a-z]")
_MULTI_REGIONS = {"US", "EU", "ASIA"}
# What is stored of what a client says; that parts of it fit together is not looked at.
_STATED = frozenset(
    {
        *("customPlacementConfig", "defaultEventBasedHold", "hierarchicalNamespace"),
        *("iamConfiguration", "location", "name", "retentionPolicy", "softDeletePolicy"),
        *("storageClass", "versioning"),
    }
)
# "By default, soft delete is enabled with a retention duration of 7 days."
_SOFT_DELETE_S = 7 * 24 * 3_600


def insert(service: Service, call: Call) -> Reply:
    if "project" not in call.query:
        raise invalid("Required parameter: project", "project")
    said = {key: value for key, value in call.document.items() if key in _STATED}
    name = said.get("name", "")
    if not _NAME.fullmatch(name):
        raise invalid(f"Invalid bucket name: '{name}'", "name")
    if name in service.state.buckets:
        message = "Your previous request to create the named bucket succeeded and you already own"
        raise conflict(f"{message} it.")
    moment = now()
    resource = {
        "kind": "storage#bucket",
        "id": name,
        "projectNumber": "0",
        "metageneration": "1",
        "storageClass": "STANDARD",
        "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": False}},
        "softDeletePolicy": {
            "retentionDurationSeconds": str(_SOFT_DELETE_S),
            "effectiveTime": moment,
        },
        **said,
        **_place(said),
        "timeCreated": moment,
        "updated": moment,
    }
    service.state.commit(("bucket", resource))
    return Reply(document=_shown(resource, call))


def _place(said: Mapping[str, Any]) -> dict[str, Any]:
    """https://cloud.google.com/storage/docs/locations.

    A zonal bucket has a zone in its placement: .../docs/rapid/create-zonal-buckets.
    """
    location = str(said.get("location", "US")).upper()
    zones = said.get("customPlacementConfig", {}).get("dataLocations", [])
    if len(zones) == 1 and _ZONE.fullmatch(str(zones[0]).lower()):
        return {"location": location, "locationType": "zone"}
    if zones:
        return {"location": location, "locationType": "dual-region"}
    kind = "multi-region" if location in _MULTI_REGIONS else "region"
    return {"location": location, "locationType": kind}


def get(service: Service, call: Call) -> Reply:
    return Reply(document=_shown(service.state.bucket(call.bucket).resource, call))


def patch(service: Service, call: Call) -> Reply:
    """https://cloud.google.com/storage/docs/json_api/v1/buckets/patch: null takes one away."""
    resource = dict(service.state.bucket(call.bucket).resource)
    for key, value in call.document.items():
        if key not in _PATCHED:
            raise invalid(f"Invalid argument: {key}", key)
        resource[key] = value
    resource = {key: value for key, value in resource.items() if value is not None}
    service.state.commit(("bucket resource", call.bucket, resource))
    return Reply(document=_shown(resource, call))


def storage_layout(service: Service, call: Call) -> Reply:
    """https://cloud.google.com/storage/docs/json_api/v1/buckets/getStorageLayout.

    How a client with no more than the right to list objects learns whether there are folders.
    """
    said = service.state.bucket(call.bucket).resource
    known = ("location", "locationType", "customPlacementConfig", "hierarchicalNamespace")
    layout = {key: said[key] for key in known if key in said}
    return Reply(document={"kind": "storage#storageLayout", "bucket": call.bucket, **layout})


def _shown(resource: Mapping[str, Any], call: Call) -> dict[str, Any]:
    return {
        **resource,
        "selfLink": f"{call.host}/storage/v1/b/{resource['name']}",
        "etag": etag(1),
    }
