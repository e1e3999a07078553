"""Objects: list. https://cloud.google.com/storage/docs/json_api/v1/objects/list."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.servers.gcs.strict.failures import invalid
from tests.servers.gcs.strict.messages import Reply
from tests.servers.gcs.strict.resources import shown
from tests.servers.gcs.strict.state import Stored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.gcs.strict.messages import Call
    from tests.servers.gcs.strict.service import Service
    from tests.servers.gcs.strict.state import Bucket

# Behind every name that begins like what it is added to.
_LAST = "\U0010ffff"
_PAGE_MAX = 1_000


def _page_size(call: Call) -> int:
    """Raises: Failure: it is no number of results."""
    wanted = call.number("maxResults")
    if wanted is None or wanted > _PAGE_MAX:
        return _PAGE_MAX
    if wanted < 1:
        raise invalid("Invalid value for maxResults.", "maxResults")
    return wanted


def _token_in(call: Call) -> str:
    """The name at which the page begins.

    Raises:
        Failure: the token is none that was given out.
    """
    token = call.query.get("pageToken", "")
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise invalid("Invalid page token.", "pageToken") from None


def list_objects(service: Service, call: Call) -> Reply:
    """In the order of the names' UTF-8; `items` and `prefixes` only where there are any."""
    bucket = service.state.bucket(call.bucket)
    if call.flag("includeFoldersAsPrefixes") and call.query.get("delimiter") != "/":
        raise invalid("It needs the delimiter '/'.", "includeFoldersAsPrefixes")
    room = _page_size(call)
    items: list[dict[str, Any]] = []
    prefixes: list[str] = []
    following: str | None = None
    for entry in _entries(bucket, call):
        # What has one name comes on one page.
        if len(items) + len(prefixes) >= room:
            following = entry.name
            break
        if entry.is_prefix:
            prefixes.append(entry.name)
        items += [shown(bucket, one.resource, call) for one in entry.versions]
    document: dict[str, Any] = {"kind": "storage#objects"}
    if following is not None:
        document["nextPageToken"] = base64.urlsafe_b64encode(following.encode()).decode()
    if prefixes:
        document["prefixes"] = prefixes
    if items:
        document["items"] = items
    return Reply(document=document)


@dataclass(frozen=True)
class _Entry:
    """One name of a listing: a common prefix, the generations of an object, or both."""

    name: str
    is_prefix: bool
    versions: list[Stored]


def _entries(bucket: Bucket, call: Call) -> Iterator[_Entry]:
    """What is listed, from the page's begin on.

    With includeTrailingDelimiter an object whose name is a common prefix is both.
    """
    query = call.query
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    begin = max(prefix, query.get("startOffset", ""), _token_in(call))
    end, trailing = query.get("endOffset"), call.flag("includeTrailingDelimiter")
    for name, versions in _named(bucket, call, begin):
        if not name.startswith(prefix) or (end is not None and name >= end):
            return
        cut = name.find(delimiter, len(prefix)) if delimiter else -1
        if cut < 0:
            if versions:
                yield _Entry(name, False, versions)
        else:
            common = name[: cut + len(delimiter)]
            yield _Entry(common, True, versions if trailing and common == name else [])


def _named(bucket: Bucket, call: Call, begin: str) -> Iterator[tuple[str, list[Stored]]]:
    """Names in order, each with what has it: a folder's has nothing. Common prefixes only once."""
    names = bucket.names
    retired: dict[str, list[Stored]] = {}
    if call.flag("versions"):
        for (name, _), one in sorted(bucket.noncurrent.items(), key=lambda entry: entry[0]):
            retired.setdefault(name, []).append(one)
    folders = bucket.folders if call.flag("includeFoldersAsPrefixes") else ()
    if folders or retired:
        names = sorted({*names, *folders, *retired})
    prefix, delimiter = call.query.get("prefix", ""), call.query.get("delimiter", "")
    place = bisect_left(names, begin)
    while place < len(names):
        name = names[place]
        live = bucket.objects.get(name)
        yield name, [*retired.get(name, []), *([] if live is None else [live])]
        cut = name.find(delimiter, len(prefix)) if delimiter and name.startswith(prefix) else -1
        if cut < 0:
            place += 1
        else:
            place = bisect_left(names, name[: cut + len(delimiter)] + _LAST, lo=place + 1)
