"""What a page shows, with its names as botocore would decode them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any
from urllib.parse import unquote_plus

import pytest
from botocore.handlers import decode_list_object_v2, decode_list_object_versions
from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit_stores.s3 import pages
from fsspec_commit_stores.s3.pages import decode, decoded

names = st.lists(
    st.one_of(
        st.sampled_from(
            ["%C3", "%BC", "%2F", "/", "//", "+", "%2B", "%", "%zz", "%FF", "%00", "="]
        ),
        st.text(max_size=3),
    ),
    max_size=8,
).map("".join)


@given(names)
def test_a_name_is_decoded_as_a_whole(name: str) -> None:
    assert decoded(name) == unquote_plus(name)


def test_what_no_store_calls_a_file_is_not_kept() -> None:
    """Else one page of a server gone wrong would fill the memory for good."""
    before = pages._decoded_directory.cache_info().misses
    longest = f"%2B{'x' * 3_069}"
    assert decoded(f"{longest}/a") == f"{unquote_plus(longest)}/a"
    assert decoded(f"{longest}x/+") == f"{unquote_plus(longest)}x/ "
    assert pages._decoded_directory.cache_info().misses == before + 1


ONE = [{"Key": "a%2Bb+c/d%3D1/e%20f"}, {"Key": "+%"}]
PAGES: dict[str, tuple[Any, dict[str, Any]]] = {
    "files": (
        decode_list_object_v2,
        {"Contents": ONE, "CommonPrefixes": [{"Prefix": "a%20/"}], "NextContinuationToken": "%20"},
    ),
    "versions": (
        decode_list_object_versions,
        {
            "Versions": ONE,
            "DeleteMarkers": ONE[:1],
            "NextKeyMarker": "a%2B/+",
            "NextVersionIdMarker": "%20",
        },
    ),
    "nothing": (decode_list_object_v2, {}),
}


@pytest.mark.parametrize(("by_botocore", "page"), PAGES.values(), ids=PAGES)
def test_all_that_botocore_decodes_is_decoded(by_botocore: Any, page: dict[str, Any]) -> None:
    """And nothing else, and not where the answer does not say that anything is encoded."""
    for told in ({"EncodingType": "url"}, {"EncodingType": "other"}, {}):
        ours, theirs = deepcopy({**page, **told}), deepcopy({**page, **told})
        decode(ours)
        by_botocore(theirs, {"encoding_type_auto_set": True})
        assert ours == theirs


def test_what_has_no_name_is_left() -> None:
    page = {"EncodingType": "url", "Contents": [{"Size": 1}], "CommonPrefixes": [{}]}
    kept = deepcopy(page)
    decode(page)
    assert page == kept
