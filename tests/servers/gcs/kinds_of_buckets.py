"""Resources of buckets that differ from a plain one, for `GcsServer.new_bucket`.

https://cloud.google.com/storage/docs/json_api/v1/buckets#resource
"""

from __future__ import annotations

from typing import Any

_UNIFORM = {"iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}}}
# With folders, which can be renamed.
HIERARCHICAL: dict[str, Any] = {**_UNIFORM, "hierarchicalNamespace": {"enabled": True}}
# In one zone, for objects that are appended to.
ZONAL: dict[str, Any] = {
    **HIERARCHICAL,
    "location": "us-central1",
    "customPlacementConfig": {"dataLocations": ["us-central1-a"]},
    "storageClass": "RAPID",
}
VERSIONED: dict[str, Any] = {"versioning": {"enabled": True}}
