"""Objects: insert, in one request or many.

https://cloud.google.com/storage/docs/json_api/v1/objects/insert
https://cloud.google.com/storage/docs/performing-resumable-uploads
"""

from __future__ import annotations

import re
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from tests.servers.gcs.strict.conditions import CONDITIONS, check
from tests.servers.gcs.strict.failures import Failure, invalid, not_found
from tests.servers.gcs.strict.messages import Reply, parsed
from tests.servers.gcs.strict.multipart import boundary_of, parts_of
from tests.servers.gcs.strict.resources import (
    check_hashes,
    checked_name,
    hashes,
    made,
    shown,
    stated,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.servers.gcs.strict.messages import Call
    from tests.servers.gcs.strict.service import Service
    from tests.servers.gcs.strict.state import Session

# "Chunks must be a multiple of 256 KiB, unless the chunk is the last." Google refuses a shorter one
# with 400, and keeps as many units of a longer one as are whole; here either is refused.
_CHUNK_UNIT_BYTES = 256 * 1024
_CLIENT_CLOSED_REQUEST = 499
_PERMANENT_REDIRECT = 308
_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
_PARTS_OF_AN_UPLOAD = 2


def insert(service: Service, call: Call) -> Reply:
    match call.query.get("uploadType"):
        case "media":
            kind = call.headers.get("content-type", "application/octet-stream")
            name = call.query.get("name")
            return _store(service, call, name, {"contentType": kind}, call.body)
        case "multipart":
            parts = list(parts_of(call.body, boundary_of(call.headers)))
            if len(parts) != _PARTS_OF_AN_UPLOAD:
                raise invalid("A multipart upload has two parts.")
            (_, document), (headers, content) = parts
            said = parsed(document)
            if "content-type" in headers:
                said.setdefault("contentType", headers["content-type"])
            name = call.query.get("name", said.get("name"))
            return _store(service, call, name, said, content)
        case _:
            raise invalid("Invalid upload type.", "uploadType")


def _store(
    service: Service, call: Call, name: object, document: Mapping[str, Any], content: bytes
) -> Reply:
    state = service.state
    bucket, name = state.bucket(call.bucket), checked_name(name)
    check(call, bucket.objects.get(name))
    found = hashes(content)
    check_hashes(found, document, call.headers)
    service.allow_write(call, bucket, name)
    said, size_bytes = stated(document), len(content)
    resource = made(state, bucket, name, said, size_bytes=size_bytes, found=found)
    steps = (*service.parents(bucket, name), ("object", bucket.name, resource, None))
    state.commit(*steps, payload=content)
    service.note_write(bucket, name)
    return Reply(document=shown(bucket, resource, call))


def start(service: Service, call: Call) -> Reply:
    """A session, whose address is what its requests are authorized by: it is a secret."""
    bucket = service.state.bucket(call.bucket)
    document = call.document
    name = checked_name(call.query.get("name", document.get("name")))
    if "x-upload-content-type" in call.headers:
        document.setdefault("contentType", call.headers["x-upload-content-type"])
    stated(document)
    # The precondition is for the end; who may not write at all hears so now.
    service.authorize_write(call, bucket, name)
    number = secrets.token_urlsafe(32)
    kept = {key: value for key, value in call.query.items() if key in CONDITIONS}
    resource = {**document, "name": name}
    service.state.commit(("session", number, bucket.name, resource, kept))
    query = urlencode({"uploadType": "resumable", "name": name, "upload_id": number})
    address = f"{call.host}/upload/storage/v1/b/{bucket.name}/o?{query}"
    return Reply(headers={"Location": address, "X-GUploader-UploadID": number})


def resume(service: Service, call: Call) -> Reply:
    """A chunk, the last chunk, or the question how much has arrived."""
    number, session = _session(service, call)
    if session.ended is not None:
        return Reply(document=shown(service.state.bucket(session.bucket), session.ended, call))
    begin, total = _announced(call, session)
    missing = session.size_bytes - begin
    if missing < 0:
        raise invalid("The chunk begins after what has arrived so far.")
    # What has arrived already is not taken again.
    content = call.body[missing:]
    is_last = total is not None and begin + len(call.body) >= total
    if not is_last and len(call.body) % _CHUNK_UNIT_BYTES:
        raise invalid("The chunk is not the last, and no multiple of 262144 bytes.")
    if content:
        service.state.commit(("session data", number), payload=content)
    if total is None or session.size_bytes < total:
        return _incomplete(session)
    if session.size_bytes > total:
        raise invalid("More has arrived than the size that was announced.")
    return _finish(service, call, number, session)


def _announced(call: Call, session: Session) -> tuple[int, int | None]:
    """Where the body begins, and the size of the whole object where the client knows it."""
    said = call.headers.get("content-range")
    if said is None:
        return 0, len(call.body)
    found = _CONTENT_RANGE.fullmatch(said)
    if found is None:
        raise invalid(f"Invalid Content-Range: {said}")
    first, last, whole = found.groups()
    total = None if whole == "*" else int(whole)
    if first is None:
        if call.body:
            raise invalid("A question has no body.")
        return session.size_bytes, total
    if int(last) - int(first) + 1 != len(call.body):
        raise invalid("The body is not as long as Content-Range says.")
    return int(first), total


def _incomplete(session: Session) -> Reply:
    """308; without Range nothing has arrived."""
    arrived = session.size_bytes
    headers = {"Range": f"bytes=0-{arrived - 1}"} if arrived else {}
    return Reply(_PERMANENT_REDIRECT, headers=headers)


def _finish(service: Service, call: Call, number: str, session: Session) -> Reply:
    state, name = service.state, session.resource["name"]
    bucket, content = state.bucket(session.bucket), session.content
    check(replace(call, query=session.query), bucket.objects.get(name))
    found = hashes(content)
    check_hashes(found, session.resource, call.headers)
    service.protect(bucket, name)
    said, size_bytes = stated(session.resource), len(content)
    resource = made(state, bucket, name, said, size_bytes=size_bytes, found=found)
    state.commit(
        *service.parents(bucket, name),
        ("object", bucket.name, resource, ("session", number)),
        ("end session", number, resource),
    )
    service.note_write(bucket, name)
    return Reply(document=shown(bucket, resource, call))


def cancel(service: Service, call: Call) -> Reply:
    """499, as the page says, and so is whatever else is asked of the session afterwards."""
    number, _ = _session(service, call)
    service.state.commit(("end session", number, {}))
    return Reply(_CLIENT_CLOSED_REQUEST)


def _session(service: Service, call: Call) -> tuple[str, Session]:
    number = call.query["upload_id"]
    session = service.state.sessions.get(number)
    if session is None or session.bucket != call.bucket:
        raise not_found()
    if session.ended == {}:
        raise Failure(_CLIENT_CLOSED_REQUEST, "uploadCancelled", "The upload was cancelled.")
    return number, session
