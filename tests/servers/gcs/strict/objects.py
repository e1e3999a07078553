"""Get and delete: https://cloud.google.com/storage/docs/json_api/v1/objects."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.servers.gcs.strict.conditions import check
from tests.servers.gcs.strict.failures import Failure, invalid
from tests.servers.gcs.strict.messages import Reply
from tests.servers.gcs.strict.resources import shown
from tests.servers.gcs.strict.state import etag
from tests.servers.http_service.messages import RANGE, bounds

if TYPE_CHECKING:
    from tests.servers.gcs.strict.messages import Call
    from tests.servers.gcs.strict.service import Service
    from tests.servers.gcs.strict.state import Stored


def get(service: Service, call: Call) -> Reply:
    bucket = service.state.bucket(call.bucket)
    stored = bucket.find(call.name, call.number("generation"))
    check(call, stored, reads=True)
    return Reply(document=shown(bucket, stored.resource, call))


def download(service: Service, call: Call) -> Reply:
    """`alt=media`: https://cloud.google.com/storage/docs/downloading-objects, also for `Range`.

    Custom metadata do not come with it: "Only the XML and gRPC APIs support getting custom metadata
    via the Reader", https://pkg.go.dev/cloud.google.com/go/storage#Reader.Metadata
    """
    bucket = service.state.bucket(call.bucket)
    stored = bucket.find(call.name, call.number("generation"))
    check(call, stored, reads=True)
    said = stored.resource
    headers = {
        "Content-Type": said["contentType"],
        "ETag": etag(stored.generation),
        "X-Goog-Generation": said["generation"],
        "X-Goog-Metageneration": said["metageneration"],
        "X-Goog-Hash": ",".join(_hashes(stored)),
        "X-Goog-Storage-Class": said["storageClass"],
        "X-Goog-Stored-Content-Length": said["size"],
    }
    begin, end = _range(call, stored)
    if (begin, end) == (0, len(stored.content)) and "range" not in call.headers:
        return Reply(content=stored.content, headers=headers)
    headers["Content-Range"] = f"bytes {begin}-{end - 1}/{len(stored.content)}"
    return Reply(HTTPStatus.PARTIAL_CONTENT, content=stored.content[begin:end], headers=headers)


def _hashes(stored: Stored) -> list[str]:
    """Composite objects have no MD5."""
    named = (("crc32c", "crc32c"), ("md5", "md5Hash"))
    return [f"{name}={stored.resource[key]}" for name, key in named if key in stored.resource]


def _range(call: Call, stored: Stored) -> tuple[int, int]:
    size_bytes = len(stored.content)
    wanted = call.headers.get("range")
    if wanted is None:
        return 0, size_bytes
    asked = RANGE.fullmatch(wanted)
    if asked is None or not any(asked.groups()):
        raise invalid(f"Invalid range: {wanted}")
    found = bounds(asked, size_bytes)
    if found is None:
        raise Failure(
            HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
            "requestedRangeNotSatisfiable",
            f"Request range not satisfiable: {wanted}",
        )
    return found


def delete(service: Service, call: Call) -> Reply:
    """With `generation` that one for good; else the live one, which versioning keeps."""
    bucket = service.state.bucket(call.bucket)
    generation = call.number("generation")
    stored = bucket.find(call.name, generation)
    check(call, stored)
    service.allow_removal(bucket, call.name)
    live = bucket.objects.get(call.name)
    is_live = live is not None and live.generation == stored.generation
    steps: list[tuple[object, ...]] = []
    if is_live:
        steps.append(("drop object", bucket.name, call.name))
    if not is_live or (generation is not None and bucket.is_versioned):
        steps.append(("drop generation", bucket.name, call.name, stored.generation))
    service.state.commit(*steps)
    service.note_removal(bucket, call.name)
    return Reply(HTTPStatus.NO_CONTENT)
