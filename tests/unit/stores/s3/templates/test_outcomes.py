"""Whatever a request comes to, it comes to the same by template and by botocore, sent once."""

from __future__ import annotations

import pytest

from tests.unit.stores.responder import CLOSED, Answer
from tests.unit.stores.s3.answers import MARK, error, tag
from tests.unit.stores.s3.scripted import ScriptedS3
from tests.unit.stores.s3.templates.outcomes import (
    ETAG,
    FREQUENT,
    Frequent,
    call,
    document,
    outcome_of,
)
from tests.unit.stores.s3.templates.sent import SentByTemplate
from tests.unit.stores.s3.test_impostors import IMPOSTORS


class Twice:
    """Two stores, one of which has nothing but botocore, and what becomes of the same in both."""

    def __init__(self, s3: ScriptedS3, sent: SentByTemplate) -> None:
        self._s3 = s3
        self._sent = sent
        self._stores = [(s3.open(request_templates=one), one) for one in (True, False)]

    def outcomes(self, frequent: Frequent, answer: Answer) -> tuple[str, str]:
        """What each is told of *answer*, when a first request has been answered well."""
        told, asked = [], []
        for store, by_template in self._stores:
            self._s3.script(frequent.success, answer)
            self._s3.run(call(frequent, store))
            self._s3.received.clear()
            before = self._sent.count
            told.append(self._s3.run(outcome_of(call(frequent, store))))
            assert (self._sent.count > before) is by_template
            asked.append([(one.method, one.target) for one in self._s3.received])
        assert asked[0] == asked[1]
        # A look that is refused without a mark is followed by a read, and that by a listing.
        assert len(asked[0]) == 1 or frequent in LOOKS
        [ours, theirs] = told
        return ours, theirs


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> SentByTemplate:
    return SentByTemplate(monkeypatch)


@pytest.fixture
def twice(s3: ScriptedS3, sent: SentByTemplate) -> Twice:
    return Twice(s3, sent)


@pytest.fixture(params=FREQUENT)
def frequent(request: pytest.FixtureRequest) -> Frequent:
    return FREQUENT[request.param]


LOOKS = (FREQUENT["look"], FREQUENT["read"])
RETRY = {"Retry-After": "7", **MARK}
ODD = {
    "a success": None,
    "closed": CLOSED,
    "cut short": Answer(200, b"<Comp", ETAG, announced=99),
    "an error cut short": Answer(503, b"<Error><Code>Slo", MARK, announced=99),
    "later": error(503, "SlowDown", RETRY),
    "elsewhere": Answer(307, headers={"Location": "http://127.0.0.1:1/planted", **MARK}),
    "another region": error(301, "PermanentRedirect", {"x-amz-bucket-region": "eu-west-3"}),
    "no document": Answer(200, b"<Complete", ETAG),
    "another document": document("ListBucketResult"),
    "an empty document": document("CompleteMultipartUploadResult"),
    "an error": Answer(200, error(200, "SlowDown").body, MARK),
    "an error behind spaces": Answer(200, b" \n" + error(200, "InternalError").body, MARK),
    "a bare success": Answer(200, headers=MARK),
    "not a header's letters": Answer(200, headers={**MARK, "ETag": "\u00fc"}),
    "two etags": Answer(200, headers={**MARK, "ETag": '"e1"', "etag": '"e2"'}),
    "created": Answer(201, headers=ETAG),
    "continued": Answer(206, headers=ETAG),
    "no content": Answer(204, headers=ETAG),
    "a document and an etag": Answer(200, b"<html/>", ETAG),
    "entities": document("CompleteMultipartUploadResult", "<ETag>&#34;e&amp;&#x41;&#34;</ETag>"),
    "an unknown entity": document("CompleteMultipartUploadResult", "<ETag>&copy;</ETag>"),
    "a field twice": document("CompleteMultipartUploadResult", tag("ETag", "a"), tag("ETag", "b")),
    "a field in a field": document("CompleteMultipartUploadResult", "<ETag><a/>x</ETag>"),
    "a comment": document("CompleteMultipartUploadResult", "<!-- x -->", tag("ETag", "a")),
    "of Ceph": Answer(
        200,
        b'<?xml version="1.0" encoding="UTF-8"?>\n\n <CompleteMultipartUploadResult>\n'
        b' <ETag>"e-1"</ETag>\n</CompleteMultipartUploadResult>\n',
        MARK,
    ),
    "of a server in Go": document(
        "CompleteMultipartUploadResult", "<Key>a &lt;b&gt;</Key><ETag>&#34;e-1&#34;</ETag>"
    ),
}


@pytest.mark.parametrize("answer", ODD.values(), ids=ODD)
def test_an_answer_is_understood_alike(
    twice: Twice, frequent: Frequent, answer: Answer | None
) -> None:
    shown = frequent.success if answer is None else answer
    ours, theirs = twice.outcomes(frequent, shown)
    assert ours == theirs


def test_each_error_is_classified_alike(twice: Twice, frequent: Frequent) -> None:
    for status, code in ScriptedS3.errors:
        ours, theirs = twice.outcomes(frequent, error(status, code))
        assert ours == theirs
        if frequent not in LOOKS:
            assert ours.startswith(f"{ScriptedS3.errors[status, code]}")


def test_so_is_each_answer_by_somebody_else(twice: Twice, frequent: Frequent) -> None:
    for name, answer in IMPOSTORS.items():
        ours, theirs = twice.outcomes(frequent, answer)
        assert ours == theirs, name
        assert "Reply.UNKNOWN" in ours or frequent in LOOKS, name
