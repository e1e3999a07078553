"""Documents of any content are read as botocore reads them, by its own description."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import pytest
from botocore.utils import parse_timestamp
from hypothesis import given, settings
from hypothesis import strategies as st

from fsspec_commit_stores.s3.documents import Structure, UndescribedError, moment_of
from tests.unit.stores.s3.long_answers import METHODS, Clients, root_of, two_clients

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    with two_clients() as clients:
        yield clients


def tagged(names: list[str], inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Elements by some of *names*."""
    return st.builds(lambda name, text: f"<{name}>{text}</{name}>", st.sampled_from(names), inside)


def joined(elements: st.SearchStrategy[str], most: int) -> st.SearchStrategy[str]:
    return st.lists(elements, max_size=most).map("".join)


TEXTS = [
    *("&quot;", "&#34;", "&amp;", "&lt;", "&gt;", "&apos;", "&#x22;", "&#13;", "&#10;", "&#9;"),
    *("\"'abc ;\n\t\r\u00fc\U0001f600\ufffd\x7f\x85\u2028+%/=?#-._~"),
    *("%2B", "%20", "%C3%BC", "%FF", "%0D%0A", "%ED%A0%80", "%", "%zz", "day=2026-11-27/"),
]
UNREADABLE = [
    "\x01",
    "\x00",
    "\ufffe",
    "&#0;",
    "&#xD800;",
    "&copy;",
    "&",
    "<b/>",
    "<!-- c -->",
    "]]>",
]
NUMBERS = ["0", "5", "-1", "18446744073709551616", "", " 7 ", "1_0", "x", "1.0", "\u0665"]
MOMENTS = [
    *("2026-11-27T08:40:00.000Z", "2026-11-27T08:40:00Z", "2026-11-27T08:40:00.123456Z"),
    *("2026-11-27T08:40:00+01:00", "2026-11-27", "20261127T084000Z", "1764232800", "0.5"),
    *("Fri, 27 Nov 2026 08:40:00 GMT", "2026-02-30T00:00:00Z", "0001-01-01T00:00:00Z", "", "now"),
]
TRUTHS = ["true", "false", "True", "1", "", " true"]

well_formed = joined(
    st.one_of(
        st.sampled_from(TEXTS), st.text("aZ/0+", max_size=9), st.text(max_size=3).map(escape)
    ),
    4,
)
texts = st.one_of(well_formed, well_formed, well_formed, joined(st.sampled_from(UNREADABLE), 2))
owners = joined(tagged(["ID", "DisplayName", "Key"], texts), 3)
restored = joined(
    st.one_of(
        tagged(["IsRestoreInProgress"], st.sampled_from(TRUTHS)),
        tagged(["RestoreExpiryDate"], st.sampled_from(MOMENTS)),
    ),
    2,
)
fields = st.one_of(
    tagged(["Key", "ETag", "Prefix", "VersionId", "UploadId", "StorageClass", "Odd"], texts),
    tagged(["ChecksumAlgorithm", "ChecksumType", "ChecksumCRC32", "Key"], texts),
    tagged(["Size", "PartNumber"], st.sampled_from(NUMBERS)),
    tagged(["LastModified", "Initiated"], st.sampled_from(MOMENTS)),
    tagged(["IsLatest"], st.sampled_from(TRUTHS)),
    tagged(["Owner", "Initiator"], owners),
    tagged(["RestoreStatus"], restored),
)
entries = tagged(
    ["Contents", "CommonPrefixes", "Version", "DeleteMarker", "Upload", "Part", "Owner", "Odd"],
    joined(fields, 8),
)
places = st.one_of(
    tagged(["Name", "Prefix", "Delimiter", "StartAfter", "NextContinuationToken"], texts),
    tagged(["KeyMarker", "NextKeyMarker", "UploadIdMarker", "NextVersionIdMarker"], texts),
    tagged(["EncodingType"], st.sampled_from(["url", "URL", ""])),
    tagged(["IsTruncated"], st.sampled_from(TRUTHS)),
    tagged(["KeyCount", "MaxKeys", "MaxUploads", "NextPartNumberMarker"], st.sampled_from(NUMBERS)),
)
declarations = st.sampled_from(
    ["", '<?xml version="1.0" encoding="UTF-8"?>', '<?xml version="1.0" encoding="latin-1"?>\n']
)
attributes = st.sampled_from(
    ["", ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"', ' xmlns=""', ' a="b"', " xmlns:n='n'"]
)


@given(
    method=st.sampled_from(METHODS),
    declared=declarations,
    told=attributes,
    inside=joined(st.one_of(places, entries, entries), 8),
)
@settings(max_examples=200)
def test_as_botocore_reads_them(
    clients: Clients, method: str, declared: str, told: str, inside: str
) -> None:
    root = root_of(method)
    body = f"{declared}<{root}{told}>{inside}</{root}>".encode("utf-8", "surrogatepass")
    clients.agreed(method, body)


def shape(type_name: str, name: str = "Odd", **more: Any) -> Any:
    serialization = more.pop("serialization", {})
    return SimpleNamespace(type_name=type_name, name=name, serialization=serialization, **more)


def test_what_is_in_a_list_may_have_a_name_of_its_own() -> None:
    """Of S3's lists none is so; to botocore it is the member's name that counts."""
    names = {"flattened": True, "name": "List"}
    for own, name in (({"name": "One"}, "One"), ({}, "List")):
        listed = shape("list", member=shape("string", serialization=own), serialization=names)
        structure = Structure(shape("structure", members={"Field": listed}))
        node = ET.fromstring(f"<Root><{name}>a</{name}><Field>b</Field><{name}/></Root>")
        assert structure.read(node) == {"Field": ["a", ""]}


UNDESCRIBED = {
    "a map": {"A": shape("map")},
    "bytes": {"A": shape("blob")},
    "a list of its own": {"A": shape("list", member=shape("string"))},
    "an attribute": {"A": shape("string", serialization={"xmlAttribute": True})},
    "one name twice": {"A": shape("string"), "B": shape("string", serialization={"name": "A"})},
    "a map in a structure": {"A": shape("structure", members={"B": shape("map")})},
    "lists of maps": {"A": shape("list", member=shape("map"), serialization={"flattened": True})},
}


@pytest.mark.parametrize("members", UNDESCRIBED.values(), ids=UNDESCRIBED)
def test_what_no_listing_has_is_not_read(members: dict[str, Any]) -> None:
    with pytest.raises(UndescribedError):
        Structure(shape("structure", members=members))


@pytest.mark.parametrize("told", [{"payload": "A"}, {"eventstream": True}])
def test_nor_is_what_is_no_document(told: dict[str, Any]) -> None:
    with pytest.raises(UndescribedError):
        Structure(shape("structure", members={}, serialization=told))


def test_nor_is_one_of_several() -> None:
    with pytest.raises(UndescribedError):
        Structure(shape("structure", members={}, is_tagged_union=True))


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-24T02:02:42Z",
        "2026-11-24T02:02:42.123Z",
        "2026-11-24T02:02:42.123456789Z",
        "2026-11-24T03:02:42+01:00",
        "Tue, 24 Nov 2026 02:02:42 GMT",
        "1795485762",
    ],
)
def test_a_moment_is_what_botocore_makes_of_it(text: str) -> None:
    ours, theirs = moment_of(text), parse_timestamp(text)
    assert (ours, ours.utcoffset()) == (theirs, theirs.utcoffset())


def test_what_is_no_moment_is_refused_as_botocore_does() -> None:
    with pytest.raises(ValueError, match="Invalid timestamp"):
        moment_of("todayZ")
