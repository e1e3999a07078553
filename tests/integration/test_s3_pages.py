"""Listings of many pages: one that is not given is asked for again, where it would begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from tests.scenes.attempts import learn, write
from tests.scenes.places import keep_versions, s3_places
from tests.servers.faults import AnswerInstead, Fault, LoseReply, ResetReply, Rule

if TYPE_CHECKING:
    from tests.scenes.places import S3Place
    from tests.servers.plugin import S3Bucket
    from tests.servers.proxy import FaultProxy

FAULTS: dict[str, Fault] = {
    "503": AnswerInstead(503, "SlowDown"),
    "500": AnswerInstead(500, "InternalError"),
    "reply lost": LoseReply(),
    "reset in the reply": ResetReply(after_bytes=10),
}
OLD = {f"old-{number}.txt": b"old" for number in range(7)}
PAGE = 2
PAGES = 4
"""Of the old files, and that many requests at least when each page but the first fails once."""
VERSIONS = {"ListObjectsV2": "continuation-token", "ListObjectVersions": "key-marker"}


@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
@pytest.mark.parametrize("operation", VERSIONS)
@pytest.mark.parametrize("fault", FAULTS)
def test_any_page_may_fail(
    s3_bucket: S3Bucket, s3_proxy: FaultProxy, fault: str, operation: str
) -> None:
    """An overwrite removes exactly the files that stood there."""
    if operation == "ListObjectVersions":
        keep_versions(s3_bucket)
    place: S3Place = s3_places(s3_bucket, endpoint_url=s3_proxy.endpoint_url)("out")
    place.put(OLD)
    learn(place)
    s3_proxy.clear()
    # The second time that a page is asked for, it is given.
    failed = set[str]()

    def is_first(request: Any) -> bool:
        page = request.query.get(VERSIONS[operation])
        if page is None or request.query.get("prefix") != f"{place.root}/":
            return False
        is_new = page not in failed
        failed.add(page)
        return is_new

    s3_proxy.add(Rule(FAULTS[fault], operation=operation, where=is_first, times=None))
    options = {**place.storage_options, "s3_additional_kwargs": {"MaxKeys": PAGE}}
    with (
        fc.Job(place.url, mode="overwrite", single_writer=True, storage_options=options) as job,
        job.task() as task,
    ):
        write(task, "new.txt", "new")
    assert len(failed) >= PAGES - 1
    assert job.result is not None
    assert (job.result.replaced_count, job.result.warnings) == (len(OLD), ())
    shown = [name for name in place.names() if not name.startswith("_")]
    assert [name.partition("-")[0] for name in shown] == ["new"]
