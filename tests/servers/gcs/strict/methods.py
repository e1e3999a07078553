"""The methods of the API: what answers each, which parameters it takes, what its caller needs.

Both come from the method's page at https://cloud.google.com/storage/docs/json_api/v1. A parameter
that is not there is refused: it is misspelt, and a precondition that is not seen is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.servers.gcs.strict import buckets, copies, listings, objects, uploads
from tests.servers.gcs.strict.access import require
from tests.servers.gcs.strict.conditions import CONDITIONS, SOURCE_CONDITIONS
from tests.servers.gcs.strict.failures import invalid_parameter
from tests.servers.gcs.strict.fields import selected
from tests.servers.gcs.strict.messages import Call, Reply
from tests.servers.gcs.strict.service import Service

# https://cloud.google.com/storage/docs/json_api/v1/parameters
_STANDARD = frozenset(
    {
        *("alt", "callback", "fields", "key", "oauth_token", "prettyPrint", "quotaUser"),
        *("uploadType", "userIp", "userProject", "projection"),
    }
)
_LISTING = frozenset(
    {
        *("delimiter", "endOffset", "includeFoldersAsPrefixes", "includeTrailingDelimiter"),
        *("maxResults", "pageToken", "prefix", "startOffset", "versions"),
    }
)
_NEW_BUCKET = frozenset(
    {"enableObjectRetention", "predefinedAcl", "predefinedDefaultObjectAcl", "project"}
)
_INSERT = CONDITIONS | {"name", "contentEncoding", "kmsKeyName", "predefinedAcl"}
_COPY = CONDITIONS | SOURCE_CONDITIONS | {"destinationPredefinedAcl", "sourceGeneration"}


@dataclass(frozen=True)
class Method:
    """`needs` are permissions, those of a caller who replaces nothing."""

    answer: Callable[[Service, Call], Reply]
    parameters: frozenset[str] = frozenset()
    needs: tuple[str, ...] = ()


_CREATE = ("storage.objects.create",)
_READ = ("storage.objects.get",)
METHODS = {
    "buckets.insert": Method(
        buckets.insert,
        _NEW_BUCKET,
        ("storage.buckets.create",),
    ),
    "buckets.get": Method(buckets.get, needs=("storage.buckets.get",)),
    "buckets.patch": Method(buckets.patch, needs=("storage.buckets.update",)),
    "buckets.getStorageLayout": Method(
        buckets.storage_layout, frozenset({"prefix"}), ("storage.objects.list",)
    ),
    "objects.list": Method(listings.list_objects, _LISTING, ("storage.objects.list",)),
    "objects.get": Method(objects.get, CONDITIONS | {"generation"}, _READ),
    "objects.download": Method(objects.download, CONDITIONS | {"generation"}, _READ),
    "objects.delete": Method(
        objects.delete, CONDITIONS | {"generation"}, ("storage.objects.delete",)
    ),
    "objects.insert": Method(uploads.insert, _INSERT, _CREATE),
    "uploads.start": Method(uploads.start, _INSERT, _CREATE),
    # The address is what authorizes them.
    "uploads.put": Method(uploads.resume, frozenset({"name", "upload_id"}) | CONDITIONS),
    "uploads.delete": Method(uploads.cancel, frozenset({"name", "upload_id"}) | CONDITIONS),
    "objects.move": Method(copies.move, CONDITIONS | SOURCE_CONDITIONS, _CREATE),
    "objects.rewrite": Method(
        copies.rewrite, _COPY | {"maxBytesRewrittenPerCall", "rewriteToken"}, (*_CREATE, *_READ)
    ),
}


def answer(service: Service, call: Call) -> Reply:
    """Raises: Failure: the call is refused."""
    method = METHODS[call.operation]
    for parameter in call.query:
        if parameter not in method.parameters and parameter not in _STANDARD:
            raise invalid_parameter(parameter)
    require(call, *method.needs)
    reply = method.answer(service, call)
    expression = call.query.get("fields")
    if expression is None or reply.document is None:
        return reply
    return Reply(reply.status, selected(reply.document, expression), headers=reply.headers)
