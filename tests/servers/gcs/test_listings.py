"""Listings of the strict server: a page at a time, as a plain reading of the page says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.servers.gcs.kinds_of_buckets import HIERARCHICAL
from tests.servers.gcs.raw import Raw
from tests.servers.gcs.strict.listings import list_objects
from tests.servers.gcs.strict.messages import Call
from tests.servers.gcs.strict.service import Service
from tests.servers.gcs.strict.state import State

if TYPE_CHECKING:
    from tests.servers.gcs.server import GcsServer

strict = pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)
NAMES = st.text(alphabet="ab/é", min_size=1, max_size=5)


def listed(service: Service, query: dict[str, str]) -> dict[str, Any]:
    call = Call("objects.list", {"bucket": "b"}, query, {}, b"", "http://host", None)
    document = list_objects(service, call).document
    assert document is not None
    return dict(document)


def all_pages(service: Service, query: dict[str, str], size: int) -> tuple[list[str], list[str]]:
    names, prefixes, token = [], [], None
    while True:
        at: dict[str, str] = {} if token is None else {"pageToken": token}
        page = listed(service, {**query, **at, "maxResults": str(size)})
        assert len(page.get("items", [])) + len(page.get("prefixes", [])) <= size
        names += [one["name"] for one in page.get("items", [])]
        prefixes += page.get("prefixes", [])
        token = page.get("nextPageToken")
        if token is None:
            return names, prefixes


@given(
    st.sets(NAMES, max_size=12),
    st.text(alphabet="ab/", max_size=2),
    st.sampled_from(["", "/", "b"]),
    st.integers(1, 5),
)
def test_pages_make_a_listing(names: set[str], prefix: str, delimiter: str, size: int) -> None:
    service = Service(State())
    service.state.commit(("bucket", {"name": "b", "locationType": "region"}))
    for number, name in enumerate(names):
        resource = {"name": name, "bucket": "b", "generation": str(number), "metageneration": "1"}
        service.state.commit(("object", "b", resource, None))
    own, common = [], set()
    for name in sorted(name for name in names if name.startswith(prefix)):
        cut = name.find(delimiter, len(prefix)) if delimiter else -1
        if cut < 0:
            own.append(name)
        else:
            common.add(name[: cut + len(delimiter)])
    query = {"prefix": prefix, "delimiter": delimiter}
    assert all_pages(service, query, size) == (own, sorted(common))


@strict
def test_an_empty_listing_has_no_items(raw: Raw) -> None:
    assert raw.listing() == {"kind": "storage#objects"}


@strict
@pytest.mark.parametrize(
    "query",
    [
        {"maxResults": 0},
        {"maxResults": -1},
        {"maxResults": "x"},
        {"pageToken": "!"},
        {"includeFoldersAsPrefixes": "true"},
        {"includeTrailingDelimiter": "yes"},
        {"matchglob": "*"},
    ],
)
def test_a_listing_must_be_asked_for_in_its_words(raw: Raw, query: dict[str, Any]) -> None:
    assert raw.call("GET", f"/storage/v1/b/{raw.bucket}/o", **query).status == 400


@strict
def test_offsets_bound_a_listing(raw: Raw) -> None:
    for name in ("a", "b", "b/c", "c"):
        raw.insert(name)
    assert raw.names(startOffset="b", endOffset="c") == ["b", "b/c"]


@strict
def test_an_object_that_ends_with_the_delimiter_is_listed_as_asked(raw: Raw) -> None:
    for name in ("a/", "a/b"):
        raw.insert(name)
    assert raw.listing(delimiter="/")["prefixes"] == ["a/"]
    assert raw.names(delimiter="/") == []
    found = raw.listing(delimiter="/", includeTrailingDelimiter="true")
    assert [one["name"] for one in found["items"]] == ["a/"]
    assert found["prefixes"] == ["a/"]


@strict
def test_folders_come_with_objects_and_stay(gcs_server: GcsServer) -> None:
    raw = Raw(gcs_server.endpoint_url, gcs_server.new_bucket(**HIERARCHICAL))
    for name in ("full/a", "empty/a", "from"):
        raw.insert(name)
    raw.move("from", "moved/here/to")
    raw.object("DELETE", "empty/a")
    assert raw.listing(delimiter="/")["prefixes"] == ["full/", "moved/"]
    found = raw.listing(delimiter="/", includeFoldersAsPrefixes="true")
    assert found["prefixes"] == ["empty/", "full/", "moved/"]
    found = raw.listing(prefix="moved/", delimiter="/", includeFoldersAsPrefixes="true")
    assert found["prefixes"] == ["moved/here/"]
