"""A success is read as botocore reads it, or left to botocore."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fsspec_commit_stores.http.plain_answers import Received
from tests.unit.stores.s3.templates.both_ways import BothWays, Content, verbs_of

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENTS = {
    "complete": "CompleteMultipartUploadResult",
    "create": "InitiateMultipartUploadResult",
    "part": "",
    "put": "",
    "delete": "",
    "look": "",
}
PLAIN = Received(200, ((b"ETag", b'"e"'), (b"x-amz-request-id", b"1")), b"")
NAMES = (
    "ETag",
    "UploadId",
    "Key",
    "Bucket",
    "Location",
    "ChecksumCRC32",
    "VersionId",
    "Code",
    "Odd",
)
HEADERS = (
    *("ETag", "etag", "x-amz-version-id", "x-amz-checksum-crc32", "X-Amz-Checksum-Type"),
    *("x-amz-server-side-encryption-bucket-key-enabled", "x-amz-object-size", "x-amz-request-id"),
    *("x-amz-expiration", "Content-Type", "Date", "Set-Cookie", "Content-Length", "Expires"),
    *("x-amz-meta-a", "X-Amz-Meta-B-c", "x-amz-meta-", "Last-Modified", "x-amz-mp-parts-count"),
    *("x-amz-delete-marker", "x-amz-object-lock-retain-until-date", "x-amz-missing-meta"),
)
pieces = st.sampled_from(
    [
        *("&quot;", "&#34;", "&amp;", "&lt;", "&gt;", "&apos;", "&#39;", "&#x22;", "&copy;", "&"),
        *("\"'abc ;\n\t\r\u00fc\U0001f600\x01\ufffe\uffff\ufffd\x7f\x85"),
        *("]]>", "<!-- c -->", "<![CDATA[x]]>", "<b/>"),
    ]
)
values = st.lists(pieces, max_size=5).map("".join)
fields = st.builds(
    lambda name, value, end: f"<{name}>{value}</{end or name}>",
    st.sampled_from(NAMES),
    values,
    st.sampled_from(["", "", "", "", "Other"]),
)
roots = st.sampled_from([*DOCUMENTS.values(), "Error", "html", "n:CompleteMultipartUploadResult"])
declarations = st.sampled_from(
    [
        *("", '<?xml version="1.0" encoding="UTF-8"?>', "<?xml version='1.0'?>\n", "\n", "\ufeff"),
        *('<?xml version="1.0" encoding="latin-1"?>', "<!DOCTYPE a>", "<!-- c -->"),
        *(
            '<?xml version="1.0" ?>',
            "<?xml odd?>",
            '<?xml version="9"?>',
            '<?xml encoding="UTF-8"?>',
        ),
    ]
)
attributes = st.sampled_from(
    ["", ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"', ' xmlns=""', ' a="b"', " xmlns:n='n'"]
)
bodies = st.one_of(
    st.just(""),
    st.text(max_size=9),
    st.builds(
        lambda declared, root, told, inside, end: (
            f"{declared}<{root}{told}>{''.join(inside)}</{root}>{end}"
        ),
        declarations,
        roots,
        attributes,
        st.lists(fields | st.sampled_from(["\n", " ", "text"]), max_size=4),
        st.sampled_from(["", "\n", "x", "<a/>"]),
    ),
).map(lambda text: text.encode(errors="surrogateescape"))
VALUES = [
    *(b'"e"', b"e", b"", b"true", b"3", b"-3", b"007", b" x ", b"\xff", b"2026", b"1" * 30),
    *(b"Tue, 24 Nov 2026 14:00:00 GMT", b"Xxx, 99 Xxx 0000 99:99:99 GMT", b"2026-11-24T14:00:00Z"),
]
headers = st.lists(
    st.tuples(
        st.sampled_from(HEADERS).map(str.encode),
        st.sampled_from(VALUES),
    ),
    max_size=5,
).map(tuple)
statuses = st.sampled_from([200, 200, 200, 204, 206, 201, 500, 404])


@pytest.fixture
def opened(one_certificate: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_CA_BUNDLE", one_certificate)
    with asyncio.Runner() as runner:
        both = runner.run(BothWays.open())
        yield runner, both
        runner.run(both.close())


async def read(both: BothWays, received: Received) -> tuple[Any, Any]:
    """What is read of it here, and by botocore."""
    method, parameters = both.asked
    ours = both.calls._successes[method].read(received)
    if ours is None:
        return None, None
    return ours, await both.calls._rehearsals.retell(method, parameters, received)


@pytest.mark.parametrize("verb", DOCUMENTS)
def test_it_is_read_as_botocore_reads_it(opened: Any, verb: str) -> None:
    runner, both = opened
    runner.run(both.ask(verbs_of(Content())[verb]))

    @settings(max_examples=max(50, settings().max_examples))
    @given(received=st.builds(Received, statuses, headers, bodies))
    @example(Received(200, ((b"Expires", VALUES[-3]),), b""))
    @example(Received(200, ((b"x-amz-object-lock-retain-until-date", VALUES[-2]),), b""))
    def every(received: Received) -> None:
        ours, theirs = runner.run(read(both, received))
        if ours is None:
            return
        told, said = ours.pop("ResponseMetadata"), theirs.pop("ResponseMetadata")
        assert told["HTTPStatusCode"] == said["HTTPStatusCode"]
        assert told["HTTPHeaders"] == said["HTTPHeaders"]
        # A truth or a time, which nobody looks at; nor at what older versions add to one.
        theirs.pop("ExpiresString", None)
        ours.pop("ExpiresString", None)
        expected = {
            name: value for name, value in theirs.items() if not isinstance(value, bool | datetime)
        }
        assert ours == expected

    every()


@pytest.mark.parametrize(("verb", "root"), DOCUMENTS.items())
def test_the_plain_success_is_read_here(opened: Any, verb: str, root: str) -> None:
    runner, both = opened
    runner.run(both.ask(verbs_of(Content())[verb]))
    body = f"<{root}><ETag>&quot;e&quot;</ETag></{root}>".encode() if root else b""
    status = 204 if verb == "delete" else 200
    ours, theirs = runner.run(read(both, PLAIN._replace(status=status, body=body)))
    assert ours is not None
    assert ours.keys() <= theirs.keys()
    if verb not in {"create", "delete"}:
        assert ours["ETag"] == theirs["ETag"] == '"e"'
