"""S3's 409 to a completion: another request of that name was under way, this one was not applied.

AWS documents that the upload is then to be begun anew, which nobody can once its task is gone.
Where the upload is still there it is completed again; else its file is not said to be there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import Expect
from tests.unit.stores.responder import Answer, Received
from tests.unit.stores.s3.answers import MARK, error, tag, xml
from tests.unit.stores.s3.verbs import UPLOAD
from tests.unit.stores.verbs import NONCE

if TYPE_CHECKING:
    from tests.unit.stores.s3.scripted import ScriptedS3

CONFLICT = error(409, "ConditionalRequestConflict")
DONE = xml("CompleteMultipartUploadResult", tag("ETag", '"e1"'))
GONE = error(404, "NoSuchUpload")
TAKEN = error(412, "PreconditionFailed")


@pytest.mark.parametrize(
    ("answers", "stands", "done"),
    [
        ([CONFLICT, DONE], False, True),
        ([CONFLICT, GONE], False, False),
        ([CONFLICT, GONE], True, True),
        ([CONFLICT, TAKEN], True, True),
    ],
    ids=["it is still there", "it is gone", "ours came through", "the echo of ours"],
)
def test_a_conflict_is_settled_by_what_stands(
    s3: ScriptedS3, answers: list[Answer], *, stands: bool, done: bool
) -> None:
    store = s3.store
    left = list(answers)

    def answering(request: Received) -> Answer:
        if request.method == "POST":
            return left.pop(0)
        if request.method == "HEAD" and stands:
            ours = {"x-amz-meta-fsspec-commit-nonce": str(NONCE)}
            return Answer(200, headers={**MARK, **ours, "ETag": '"e1"'})
        if request.method == "HEAD":
            return Answer(404, headers=MARK)
        return GONE if "uploadId" in request.target else xml("ListBucketResult")

    s3.answering = answering

    async def complete() -> bool:
        settled = ConfirmedStore(store, ids=SYSTEM_IDS, statistics=Statistics()).uploads
        assert settled is not None
        return await settled.complete(UPLOAD, expecting=Expect.ABSENT, observations=2)

    assert s3.run(complete()) is done
    assert left == []
