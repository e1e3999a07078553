"""What a URL means, whatever store it is of."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import RequestError
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.http.opening import connections_max_of

if TYPE_CHECKING:
    from tests.unit.stores.scripted import Scripted


def scheme_of(cloud: Scripted[Any]) -> str:
    return cloud.url_of_store.partition(":")[0]


@pytest.mark.parametrize(
    ("rest", "root"),
    [
        ("://bucket", "bucket"),
        ("://bucket/", "bucket"),
        ("://bucket/a/b/", "bucket/a/b"),
        ("://bucket/with space/100%/a%2Fb/", "bucket/with space/100%/a%2Fb"),
    ],
)
def test_a_url_names_a_bucket_and_a_directory(cloud: Scripted[Any], rest: str, root: str) -> None:
    assert cloud.open(scheme_of(cloud) + rest).root == root
    assert cloud.open(scheme_of(cloud).upper() + rest).root == root


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ("://", "names no (bucket|container)"),
        (":///out", "names no (bucket|container)"),
        ("://my bucket/out", "names no (bucket|container)"),
        ("://bucket//out", "components name nothing"),
        ("://bucket/a//b", "components name nothing"),
        ("://bucket/../b", "components name nothing"),
    ],
)
def test_a_url_that_names_nothing_is_refused(cloud: Scripted[Any], rest: str, says: str) -> None:
    with pytest.raises(RequestError, match=says) as caught:
        cloud.open(scheme_of(cloud) + rest)
    assert caught.value.kind == "invalid_url"


@pytest.mark.parametrize("cloud", ["s3", "gcs"], indirect=True)
def test_opening_sends_nothing(cloud: Scripted[Any]) -> None:
    cloud.open()
    assert cloud.received == []


@pytest.mark.parametrize(
    ("open_max", "asked", "most"),
    [
        (1_048_576, None, 512),
        (1_024, None, 512),
        (256, None, 128),
        (20, None, 64),
        (-1, None, 512),
        (256, 200, 200),
    ],
)
def test_connections_leave_the_process_half_of_what_it_may_hold_open(
    monkeypatch: pytest.MonkeyPatch, open_max: int, asked: int | None, most: int
) -> None:
    """Of which there is no limit on some systems, and 256 by default on macOS."""
    monkeypatch.setattr(os, "sysconf", {"SC_OPEN_MAX": open_max}.__getitem__)
    assert connections_max_of(OpenOptions(concurrency=asked)) == most


def test_where_no_limit_is_known_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf_names")
    assert connections_max_of(OpenOptions()) == 512
