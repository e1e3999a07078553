"""What arrives at the server is what arrives of botocore, to the last header."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.store import Expect
from tests.unit.stores.s3.templates.outcomes import FREQUENT, Frequent, call
from tests.unit.stores.s3.templates.sent import SentByTemplate
from tests.unit.stores.verbs import NONCE, PATH

if TYPE_CHECKING:
    from tests.unit.stores.responder import Received
    from tests.unit.stores.s3.scripted import ScriptedS3

OF_A_MOMENT = {"authorization", "x-amz-date", "amz-sdk-invocation-id"}
"""`test_identity` shows that these are the same in the same second."""
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "a session": {"token": "t"},
    "KMS, and a tag": {
        "s3_additional_kwargs": {"ServerSideEncryption": "aws:kms", "Tagging": "a=b"}
    },
}


def put_of(length: int) -> Frequent:
    return Frequent(
        lambda s: s.put(PATH, bytes(length), expecting=Expect.ANYTHING, within=None, nonce=NONCE),
        FREQUENT["put"].success,
    )


ALL = {
    **FREQUENT,
    **{f"put of {length}": put_of(length) for length in (0, 60_000, 70_000, 1 << 20)},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("frequent", ALL.values(), ids=ALL)
def test_it_is_the_same(
    s3: ScriptedS3, monkeypatch: pytest.MonkeyPatch, frequent: Frequent, options: dict[str, Any]
) -> None:
    sent = SentByTemplate(monkeypatch)
    s3.answering = lambda _: frequent.success
    for by_template in (True, False):
        s3.run(call(frequent, s3.open(request_templates=by_template, **options)))
    assert sent.count == 1
    ours, theirs = s3.received
    assert told(ours) == told(theirs)
    assert ours.headers.keys() == theirs.headers.keys()


def told(request: Received) -> tuple[str, str, dict[str, str], bytes]:
    headers = {name: text for name, text in request.headers.items() if name not in OF_A_MOMENT}
    return request.method, request.target, headers, request.body
