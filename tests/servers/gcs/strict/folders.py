"""Folders of buckets with hierarchical namespace, and the operations that rename them.

https://cloud.google.com/storage/docs/json_api/v1/folders
https://cloud.google.com/storage/docs/json_api/v1/operations
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tests.servers.gcs.strict.failures import (
    Failure,
    condition_not_met,
    conflict,
    invalid,
    not_found,
)
from tests.servers.gcs.strict.listings import page_size, token_for, token_in
from tests.servers.gcs.strict.messages import Reply
from tests.servers.gcs.strict.protection import check_removable
from tests.servers.gcs.strict.resources import checked_name
from tests.servers.gcs.strict.service import folder_resource
from tests.servers.gcs.strict.state import now

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.servers.gcs.strict.journal import Step
    from tests.servers.gcs.strict.messages import Call
    from tests.servers.gcs.strict.service import Service
    from tests.servers.gcs.strict.state import Bucket


def _bucket(service: Service, call: Call) -> Bucket:
    bucket = service.state.bucket(call.bucket)
    if not bucket.is_hierarchical:
        raise invalid("The bucket does not support hierarchical namespace.")
    return bucket


def _find(bucket: Bucket, call: Call) -> dict[str, Any]:
    folder = bucket.folders.get(call.path["folder"])
    if folder is None:
        raise Failure(
            HTTPStatus.NOT_FOUND, "notFound", "The folder does not exist.", location="folder"
        )
    wanted = call.number("ifMetagenerationMatch")
    if wanted is not None and wanted != int(folder["metageneration"]):
        raise condition_not_met()
    return folder


def insert(service: Service, call: Call) -> Reply:
    """With `recursive` its parents too; without, they must be there."""
    bucket = _bucket(service, call)
    name = _folder_name(call.document.get("name"))
    if name in bucket.folders:
        raise conflict("The folder you tried to create already exists.")
    parent = name.rstrip("/").rpartition("/")[0]
    steps = service.parents(bucket, parent + "/" if parent else "")
    if steps and not call.flag("recursive"):
        raise conflict("The parent folder does not exist.")
    resource = folder_resource(name)
    service.state.commit(*steps, ("folder", bucket.name, resource))
    return Reply(document=_shown(bucket, resource, call))


def _folder_name(name: object) -> str:
    checked = checked_name(name)
    return checked if checked.endswith("/") else checked + "/"


def get(service: Service, call: Call) -> Reply:
    bucket = _bucket(service, call)
    return Reply(document=_shown(bucket, _find(bucket, call), call))


def list_folders(service: Service, call: Call) -> Reply:
    bucket = _bucket(service, call)
    query = call.query
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    if delimiter not in {"", "/"}:
        raise invalid("The delimiter can only be '/'.", "delimiter")
    begin = max(query.get("startOffset", ""), token_in(call))
    names = []
    for name in sorted(bucket.folders):
        end = query.get("endOffset")
        if not name.startswith(prefix) or name < begin or (end is not None and name >= end):
            continue
        # With the delimiter only what is directly below the prefix.
        if delimiter and "/" in name[len(prefix) : -1]:
            continue
        names.append(name)
    room = page_size(call, "pageSize", service.settings.page_size_max)
    document: dict[str, Any] = {"kind": "storage#folders"}
    if len(names) > room:
        document["nextPageToken"] = token_for(names[room])
    if names:
        shown = [_shown(bucket, bucket.folders[name], call) for name in names[:room]]
        document["items"] = shown
    return Reply(document=document)


def delete(service: Service, call: Call) -> Reply:
    """Only when nothing is in it."""
    bucket = _bucket(service, call)
    name = _find(bucket, call)["name"]
    inside = (*bucket.folders, *bucket.objects)
    if any(one.startswith(name) and one != name for one in inside):
        raise conflict("The folder you tried to delete is not empty.")
    service.state.commit(("drop folder", bucket.name, name))
    return Reply(HTTPStatus.NO_CONTENT)


def rename(service: Service, call: Call) -> Reply:
    """https://cloud.google.com/storage/docs/json_api/v1/folders/rename: all that is in it, at once.

    Its answer is a long-running operation. This one is over at once, and says so when asked.
    Whether the objects keep their generations is not said there; here they do.
    """
    bucket = _bucket(service, call)
    wanted = call.number("ifSourceMetagenerationMatch")
    folder = _find(bucket, call)
    if wanted is not None and wanted != int(folder["metageneration"]):
        raise condition_not_met()
    old, new = folder["name"], _folder_name(call.path["destination"])
    if new.startswith(old):
        raise invalid("A folder cannot be renamed to within itself.")
    if new in bucket.folders:
        raise conflict("The destination folder already exists.")
    parent = new.rstrip("/").rpartition("/")[0]
    if parent and parent + "/" not in bucket.folders:
        raise conflict("The destination's parent folder does not exist.")
    steps: list[Step] = []
    for name in [one for one in sorted(bucket.folders) if one.startswith(old)]:
        resource = {**bucket.folders[name], "name": new + name[len(old) :], "updateTime": now()}
        steps += [("folder", bucket.name, resource), ("drop folder", bucket.name, name)]
    for name in [one for one in bucket.names if one.startswith(old)]:
        stored = bucket.objects[name]
        check_removable(bucket, stored)
        resource = {**stored.resource, "name": new + name[len(old) :]}
        steps += [
            ("object", bucket.name, resource, stored.place),
            ("drop object", bucket.name, name),
        ]
    number = str(service.state.new_generation())
    operation = {
        "kind": "storage#operation",
        "name": f"projects/_/buckets/{bucket.name}/operations/{number}",
        "done": True,
        "response": {"name": new},
    }
    service.state.commit(*steps, ("operation", bucket.name, number, operation))
    return Reply(document={**operation, "done": False, "response": None})


def get_operation(service: Service, call: Call) -> Reply:
    operation = service.state.bucket(call.bucket).operations.get(call.path["operation"])
    if operation is None:
        raise not_found()
    return Reply(document=operation)


def _shown(bucket: Bucket, resource: Mapping[str, Any], call: Call) -> dict[str, Any]:
    path = quote(resource["name"], safe="")
    return {
        **resource,
        "bucket": bucket.name,
        "id": f"{bucket.name}/{resource['name']}",
        "selfLink": f"{call.host}/storage/v1/b/{bucket.name}/folders/{path}",
    }
