"""Listings page by page, where no real server will page, and what is deleted by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from tests.unit.stores.bucket import tree
from tests.unit.stores.verbs import all_of

if TYPE_CHECKING:
    from tests.unit.stores.responder import Answer, Received
    from tests.unit.stores.scripted import Scripted

TREE = StorePath("bucket/out/t")
SEVEN = [str(number) for number in range(7)]


@pytest.mark.parametrize(
    ("cloud", "odd"), [("s3", "z\nz"), ("gcs", "z?z"), ("flat", "z?z")], indirect=["cloud"]
)
def test_every_page_is_listed(cloud: Scripted[Any], odd: str) -> None:
    names = ["a", "b c", "d/e", "d/e+f", "d/%41", odd, "\u65e5"]
    cloud.answering = bucket = cloud.bucket(*(f"out/{name}" for name in names))
    assert sorted(tree(cloud)) == sorted(names)
    assert len(bucket.listings) == 4
    assert {query["prefix"] for query in bucket.listings} == {"out/"}


@pytest.mark.parametrize(("page", "is_one"), [(7, True), (6, False), (0, False)])
def test_only_what_is_on_one_page_is_of_one_moment(
    cloud: Scripted[Any], page: int, *, is_one: bool
) -> None:
    """A page may be short, or empty, and yet be followed by another: that one is of later."""
    cloud.answering = bucket = cloud.bucket(*(f"out/{name}" for name in SEVEN), page=page or 9)
    if not page:
        cloud.always(cloud.bucket.shown([], "more"))
    shown = cloud.run(cloud.store.at_once.list_at_once(StorePath("bucket/out")))
    assert (shown is not None) == is_one
    if is_one:
        assert sorted(one.path for one in shown) == [f"bucket/out/{name}" for name in SEVEN]
    assert len(cloud.asked if not page else bucket.listings) == 1


def test_any_page_but_the_first_may_fail(cloud: Scripted[Any]) -> None:
    """Who lists begins again when the first one does, and could not go on at a later one."""
    bucket = cloud.bucket(*(f"out/{name}" for name in SEVEN))
    failed = set[str]()

    def answering(request: Received) -> Answer:
        token = request.query.get(bucket.token, "")
        if token in failed or not token:
            return bucket(request)
        failed.add(token)
        return cloud.error(*cloud.busy)

    cloud.answering = answering
    assert tree(cloud) == SEVEN
    assert failed == {"out/1", "out/3", "out/5"}
    assert len(bucket.listings) == 4
    cloud.always(cloud.error(*cloud.busy))
    cloud.received.clear()
    with pytest.raises(StoreError):
        tree(cloud)
    assert len(cloud.asked) == 1


@pytest.mark.parametrize("cloud", ["s3", "gcs"], indirect=True)
def test_what_is_left_out_is_jumped_over(cloud: Scripted[Any]) -> None:
    areas = [f"out/_commit/{number:03}" for number in range(100)]
    keys = ["out/A", *areas, "out/_commit0", "out/_commit-1", "out/a", "out/b"]
    cloud.answering = bucket = cloud.bucket(*keys)
    assert tree(cloud, without="_commit") == ["A", "_commit-1", "_commit0", "a", "b"]
    assert len(bucket.listings) == 4  # 53 without jumping
    assert bucket.listings[2][bucket.start] in {"out/_commit/~", "out/_commit0"}
    assert bucket.token not in bucket.listings[2]


@pytest.mark.parametrize("cloud", ["s3", "gcs"], indirect=True)
def test_a_server_that_does_not_jump_is_listed_whole(cloud: Scripted[Any]) -> None:
    areas = [f"out/_commit/{number:03}" for number in range(20)]
    keys = ["out/A", *areas, "out/a", "out/b"]
    cloud.answering = bucket = cloud.bucket(*keys, minds_start=False)
    assert tree(cloud, without="_commit") == ["A", "a", "b"]
    assert len(bucket.listings) == 13  # 12 pages, and one that began anew


def test_the_same_page_again_is_an_error(cloud: Scripted[Any]) -> None:
    """A listing ends, or says that it is not whole."""
    cloud.always(cloud.bucket.shown(["out/a"], "same"))
    with pytest.raises(StoreError, match="there is more, and not where"):
        tree(cloud)
    assert len(cloud.asked) == 2


def test_pages_that_go_in_a_circle_are_an_error(cloud: Scripted[Any]) -> None:
    """They were asked for, and listed, for ever."""
    bucket = cloud.bucket()
    following = {"": "A", "A": "B", "B": "A"}

    def answering(request: Received) -> Answer:
        answer = bucket.answered(request)
        page = bucket.shown(["out/a"], following[request.query.get(bucket.token, "")])
        return page if answer is None else answer

    cloud.answering = answering
    with pytest.raises(StoreError, match="there is more, and not where"):
        tree(cloud)
    assert len(cloud.asked) == 3


def test_the_listing_of_another_place_is_an_error(cloud: Scripted[Any]) -> None:
    """As a cache gives it, or a proxy that takes a plus for a space; it was deleted, or hidden."""
    cloud.answering = cloud.bucket("out/t/a", "other/b", minds_prefix=False)
    store = cloud.store
    for listing in (store.list_tree(TREE), store.list_children(TREE)):
        caught = cloud.failure_of(all_of(listing))
        assert caught.reply is Reply.UNKNOWN
        assert "the listing of another place" in str(caught)


@pytest.mark.parametrize("cloud", ["s3", "gcs", "flat"], indirect=True)
def test_nothing_of_another_place_is_deleted(cloud: Scripted[Any]) -> None:
    cloud.answering = bucket = cloud.bucket("out/t/a", "other/b", minds_prefix=False)
    caught = cloud.failure_of(cloud.store.delete_tree(TREE))
    assert caught.reply is Reply.UNKNOWN
    assert "the listing of another place" in str(caught)
    assert bucket.keys == ["other/b", "out/t/a"]
    assert {request.method for request in cloud.received} == {"GET"}


@pytest.mark.parametrize(("code", "is_overload"), [("busy", True), ("denied", False)])
@pytest.mark.parametrize("cloud", ["gcs", "flat"], indirect=True)
def test_of_a_tree_one_file_is_enough_to_say_that_too_much_is_asked(
    cloud: Scripted[Any], code: str, *, is_overload: bool
) -> None:
    """A tree's files are deleted many at a time, and each counts for the store."""
    cloud.answering = bucket = cloud.bucket("out/t/a", "out/t/b")
    bucket.errors = {"out/t/b": cloud.error(*getattr(cloud, code))}
    assert cloud.failure_of(cloud.store.delete_tree(TREE)).is_overload is is_overload


@pytest.mark.parametrize("path", ["bucket/out", "bucket", "bucket/other", "bucket/out0"])
def test_the_destination_itself_is_never_deleted(cloud: Scripted[Any], path: str) -> None:
    with pytest.raises(StoreError, match="the destination itself, or outside"):
        cloud.run(cloud.store.delete_tree(StorePath(path)))
    assert cloud.received == []
