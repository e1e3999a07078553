"""Listings of directory buckets, whose names come in no order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry
from tests.unit.stores.s3.answers import session, tag, xml
from tests.unit.stores.verbs import all_of

if TYPE_CHECKING:
    from tests.unit.stores.responder import Answer, Received
    from tests.unit.stores.s3.scripted import ScriptedS3

NAME = "n--use1-az4--x-s3"
OUT = StorePath(f"{NAME}/out")


def page(following: int | None, *names: str) -> Answer:
    files = (
        f'<Contents><Key>out/{name}</Key><Size>1</Size><ETag>"e"</ETag></Contents>'
        for name in names
    )
    more = tag("NextContinuationToken", str(following)) if following is not None else ""
    return xml("ListBucketResult", tag("IsTruncated", str(bool(more)).lower()), more, *files)


@pytest.mark.parametrize("verb", ["list_tree", "list_children"])
@pytest.mark.parametrize(
    ("pages", "marked"),
    [
        ((("b", "a"),), []),
        ((("b", "a"), ("d", "c")), ["b", "a", "d", "c"]),
        (((), ("b", "a")), ["b", "a"]),
        ((("b", "a"), ()), ["b", "a"]),
    ],
    ids=["one page", "two", "nothing first", "nothing last"],
)
def test_each_file_of_several_pages_is_marked(
    s3: ScriptedS3, verb: str, pages: tuple[tuple[str, ...], ...], marked: list[str]
) -> None:
    """Also on the first one: the place of its job's area may come later, and be empty by then."""

    def answering(request: Received) -> Answer:
        if "session" in request.query:
            return session()
        number = int(request.query.get("continuation-token", "0"))
        following = number + 1 if number + 1 < len(pages) else None
        return page(following, *pages[number])

    s3.answering = answering
    store = s3.open(f"s3://{NAME}/out")
    listed = s3.run(all_of(getattr(store, verb)(OUT)))
    found = [one.path for one in listed if isinstance(one, Entry) and one.begins_page]
    assert found == [f"{OUT}/{name}" for name in marked]
    assert len(listed) == sum(map(len, pages))
