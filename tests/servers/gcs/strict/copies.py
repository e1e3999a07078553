"""Move and rewrite: new objects of what is stored already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.servers.gcs.strict.access import require
from tests.servers.gcs.strict.conditions import check
from tests.servers.gcs.strict.failures import Failure, invalid
from tests.servers.gcs.strict.messages import Reply
from tests.servers.gcs.strict.resources import checked_name, made, shown, stated
from tests.servers.gcs.strict.state import now

if TYPE_CHECKING:
    from tests.servers.gcs.strict.messages import Call
    from tests.servers.gcs.strict.service import Service

_MEBIBYTE = 1 << 20
# What a new object takes over from its source, unless the client says otherwise.
_COPIED = frozenset(
    {
        *("cacheControl", "contentDisposition", "contentEncoding", "contentLanguage"),
        *("contentType", "customTime", "metadata"),
    }
)


def move(service: Service, call: Call) -> Reply:
    """https://cloud.google.com/storage/docs/json_api/v1/objects/move: "an atomic transaction".

    The destination has the same data and metadata, a new generation, metageneration 1 and new
    times. It replaces what is there, unless the preconditions are against it. In a bucket with
    folders the missing ones come with it.
    """
    _require_move(call)
    bucket = service.state.bucket(call.bucket)
    name = checked_name(call.path["destination"])
    if name == call.name:
        raise invalid("The source and destination object must have different names.")
    source = bucket.find(call.name)
    check(call, source, of="ifSource")
    check(call, bucket.objects.get(name))
    service.allow_removal(bucket, call.name)
    service.allow_write(call, bucket, name)
    moment = now()
    resource = {
        **source.resource,
        "name": name,
        "generation": str(service.state.new_generation()),
        "metageneration": "1",
        "timeCreated": moment,
        "updated": moment,
    }
    service.state.commit(
        *service.parents(bucket, name),
        ("object", bucket.name, resource, source.place),
        ("drop object", bucket.name, call.name),
    )
    service.note_removal(bucket, call.name)
    service.note_write(bucket, name)
    return Reply(document=shown(bucket, resource, call))


def _require_move(call: Call) -> None:
    """Of the source: `storage.objects.delete` and `.get`, or `storage.objects.move` alone."""
    try:
        require(call, "storage.objects.move")
    except Failure:
        require(call, "storage.objects.delete", "storage.objects.get")


def rewrite(service: Service, call: Call) -> Reply:
    """https://cloud.google.com/storage/docs/json_api/v1/objects/rewrite.

    Within one location and storage class it is done with the first call, whatever the size.
    """
    limit_bytes = call.number("maxBytesRewrittenPerCall")
    if limit_bytes is not None and (limit_bytes <= 0 or limit_bytes % _MEBIBYTE):
        raise invalid("It must be a multiple of 1 MiB.", "maxBytesRewrittenPerCall")
    if "rewriteToken" in call.query:
        raise invalid("Invalid rewrite token.", "rewriteToken")
    state = service.state
    origin = state.bucket(call.bucket)
    bucket = state.bucket(call.path["destinationBucket"])
    name = checked_name(call.path["destination"])
    source = origin.find(call.name, call.number("sourceGeneration"))
    check(call, source, of="ifSource")
    check(call, bucket.objects.get(name))
    service.allow_write(call, bucket, name)
    # "If you supply an object resource, its metadata is applied, and that of the source is not."
    taken_over = {key: value for key, value in source.resource.items() if key in _COPIED}
    said = stated(call.document) or taken_over
    size_bytes = len(source.content)
    resource = made(state, bucket, name, said, size_bytes=size_bytes, found=source.resource)
    place = source.place
    state.commit(*service.parents(bucket, name), ("object", bucket.name, resource, place))
    service.note_write(bucket, name)
    return Reply(
        document={
            "kind": "storage#rewriteResponse",
            "totalBytesRewritten": resource["size"],
            "objectSize": resource["size"],
            "done": True,
            "resource": shown(bucket, resource, call),
        }
    )
