"""Buckets: https://cloud.google.com/storage/docs/json_api/v1/buckets."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from tests.servers.gcs.strict.failures import conflict, invalid
from tests.servers.gcs.strict.listings import page_size, token_for, token_in
from tests.servers.gcs.strict.messages import Reply
from tests.servers.gcs.strict.state import etag, now

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.servers.gcs.strict.messages import Call
    from tests.servers.gcs.strict.service import Service

# https://cloud.google.com/storage/docs/buckets#naming
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]")
_ZONE = re.compile(r"[a-z]+-[a-z]+\d-[a-z]")
_MULTI_REGIONS = {"US", "EU", "ASIA"}
_CHANGEABLE = frozenset(
    {
        *("defaultEventBasedHold", "iamConfiguration", "labels", "lifecycle", "retentionPolicy"),
        *("softDeletePolicy", "storageClass", "versioning"),
    }
)
_STATED = _CHANGEABLE | {
    *("customPlacementConfig", "hierarchicalNamespace", "location", "name", "rpo"),
}
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
    _settle(resource)
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


def _settle(resource: dict[str, Any]) -> None:
    """What must go together.

    https://cloud.google.com/storage/docs/hns-overview#limitations: uniform access is needed, and
    there is neither versioning nor a retention policy; .../docs/rapid/rapid-bucket: both folders
    and the class RAPID are needed.

    Raises:
        Failure: it does not.
    """
    access = resource["iamConfiguration"].get("uniformBucketLevelAccess", {})
    is_hierarchical = resource.get("hierarchicalNamespace", {}).get("enabled")
    if is_hierarchical and not access.get("enabled"):
        raise invalid("Hierarchical namespace needs uniform bucket-level access.")
    if is_hierarchical and resource.get("versioning", {}).get("enabled"):
        raise invalid("Hierarchical namespace is not supported with object versioning.")
    policy = resource.get("retentionPolicy")
    if is_hierarchical and policy:
        raise invalid("Hierarchical namespace is not supported with a retention policy.")
    if (resource["locationType"] == "zone") != (resource["storageClass"] == "RAPID"):
        raise invalid("The storage class of zonal buckets, and of no others, is RAPID.")
    if resource["locationType"] == "zone" and not is_hierarchical:
        raise invalid("A zonal bucket needs hierarchical namespace.")
    if policy:
        resource["retentionPolicy"] = {
            "retentionPeriod": str(int(policy["retentionPeriod"])),
            "effectiveTime": now(),
            "isLocked": False,
        }


def get(service: Service, call: Call) -> Reply:
    return Reply(document=_shown(service.state.bucket(call.bucket).resource, call))


def patch(service: Service, call: Call) -> Reply:
    bucket = service.state.bucket(call.bucket)
    wanted = call.number("ifMetagenerationMatch")
    number = int(bucket.resource["metageneration"])
    if wanted is not None and wanted != number:
        raise conflict("The bucket's metageneration is another.")
    changes = {key: value for key, value in call.document.items() if key in _CHANGEABLE}
    resource = {**bucket.resource, **changes, "metageneration": str(number + 1), "updated": now()}
    resource = {key: value for key, value in resource.items() if value is not None}
    _settle(resource)
    service.state.commit(("bucket", resource))
    return Reply(document=_shown(resource, call))


def delete(service: Service, call: Call) -> Reply:
    bucket = service.state.bucket(call.bucket)
    if bucket.objects or bucket.noncurrent or bucket.folders:
        raise conflict("The bucket you tried to delete is not empty.")
    service.state.commit(("drop bucket", bucket.name))
    return Reply(HTTPStatus.NO_CONTENT)


def list_buckets(service: Service, call: Call) -> Reply:
    if "project" not in call.query:
        raise invalid("Required parameter: project", "project")
    room = page_size(call, "maxResults", service.settings.page_size_max)
    prefix, begin = call.query.get("prefix", ""), token_in(call)
    names = [name for name in sorted(service.state.buckets) if name.startswith(prefix)]
    names = [name for name in names if name >= begin]
    document: dict[str, Any] = {"kind": "storage#buckets"}
    if len(names) > room:
        document["nextPageToken"] = token_for(names[room])
    if names:
        buckets = service.state.buckets
        document["items"] = [_shown(buckets[name].resource, call) for name in names[:room]]
    return Reply(document=document)


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
        "etag": etag(int(resource["metageneration"])),
    }
