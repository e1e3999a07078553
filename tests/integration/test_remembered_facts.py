"""Jobs of one process, one after the other, between which a bucket changes, or does not answer."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.testing import assert_no_leftovers
from tests.scenes.places import keep_versions
from tests.scenes.remotes import on
from tests.servers.faults import AnswerInstead, DelayReply, ResetReply, Rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.scenes.places import RemotePlace
    from tests.scenes.remotes import Remote
    from tests.servers.faults import Fault
    from tests.servers.http_messages import Request
    from tests.servers.proxied_connection import Exchange
    from tests.servers.proxy import FaultProxy

QUESTIONS = {
    "ministack": "GetBucketVersioning",
    "strict-gcs": "buckets.get",
    "gen2": "container.properties",
}
"""What asks for the facts by which a committer is chosen."""
DENIED = {
    "ministack": "AccessDenied",
    "strict-gcs": "forbidden",
    "gen2": "AuthorizationPermissionMismatch",
}
on_each = on("ministack", "strict-gcs", "gen2")


def job(place: RemotePlace, **options: Any) -> fc.Job:
    """One that has written a file."""
    given: dict[str, Any] = {"mode": "append", **place.how, **options}
    with fc.Job(place.url, **given) as done, done.task() as task, task.open("x.txt", "w") as file:
        file.write("x")
    return done


def jobs_begun(proxy: FaultProxy) -> int:
    """How many times a ``job.json`` was sent."""
    return sum(map(begins, proxy.exchanges))


def begins(request: Request | Exchange) -> bool:
    """Whether it creates a ``job.json``; GCS says in the query what is written."""
    named = request.query.get("name", request.path)
    return request.method in {"PUT", "POST"} and named.endswith("/job.json")


@on_each
def test_a_later_job_does_not_wait_for_what_is_known_of_the_bucket(
    remote: Remote, proxy: FaultProxy
) -> None:
    """Its record is on its way when the question is answered at last."""
    place = remote.place(proxy=proxy)
    job(place)
    began = threading.Event()
    question = QUESTIONS[remote.name]

    def wait() -> None:
        began.wait(10)

    proxy.add(Rule(operation=question, before=wait))
    proxy.add(Rule(where=begins, after=began.set))
    with fc.Job(place.url, mode="append", allow_empty=True, **place.how):
        assert began.is_set()
    assert_no_leftovers(place.url, **place.how)


@on("ministack")
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_versions_that_are_kept_from_now_on_are_heard_of(
    remote: Remote, proxy: FaultProxy, mode: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The job that began on what held before is withdrawn, and begun anew before it is given."""
    place = remote.place(proxy=proxy)
    job(place, concurrency=1)
    for status, begun in [("Enabled", 2), ("Enabled", 1), ("Suspended", 2), ("Suspended", 1)]:
        kept = status == "Enabled"
        keep_versions(remote.bucket, status)
        proxy.clear()
        with fc.Job(place.url, mode=mode, concurrency=1, **place.how) as later:
            assert jobs_begun(proxy) == begun
            assert later.selection.capabilities.unique_tokens is kept
            assert later.spec.record.capabilities.unique_tokens is kept
            (open_job,) = fc.jobs(place.url, **place.how)
            assert open_job.job_id == later.job_id
            with later.task() as task, task.open("part.txt", "w") as file:
                file.write("x")
        assert_no_leftovers(place.url, **place.how)
    assert not [one for one in caplog.records if one.levelname == "WARNING"]


def retain(remote: Remote) -> Callable[[], None]:
    """Let nothing be deleted any more, until what is returned is called."""
    name = remote.bucket.name
    if remote.name == "gen2":
        remote.server.hold(name, legal_hold=True)
        return lambda: remote.server.hold(name)
    remote.server.patch_bucket(name, retentionPolicy={"retentionPeriod": "3600"})
    return lambda: remote.server.patch_bucket(name, retentionPolicy=None)


@on("strict-gcs", "gen2")
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_bucket_that_keeps_everything_from_now_on_is_refused(
    remote: Remote, proxy: FaultProxy, mode: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """What was begun by then cannot be removed: an aborted job, which `clean` removes later."""
    place = remote.place(proxy=proxy)
    job(place)
    before = place.data()
    release = retain(remote)
    with pytest.raises(fc.UnsafeStoreError) as told:
        job(place, mode=mode)
    assert place.data() == before
    (left,) = fc.jobs(place.url, **place.how)
    assert left.state == "aborted"
    (warned,) = (one.getMessage() for one in caplog.records if one.levelname == "WARNING")
    assert left.job_id in warned
    proxy.clear()
    with pytest.raises(fc.UnsafeStoreError) as told_again:  # It asks first, and writes nothing.
        job(place, mode=mode)
    assert str(told_again.value) == str(told.value)
    assert jobs_begun(proxy) == 0
    release()
    job(place, mode=mode)
    report = fc.clean(place.url, older_than=timedelta(0), dry_run=False, **place.how)
    assert report.deleted or report.aborted
    assert report.not_removed == ()
    assert_no_leftovers(place.url, **place.how)


FAULTS: dict[str, Fault] = {
    "cut": ResetReply(),
    "delayed": DelayReply(1.5),
    "503": AnswerInstead(503),
}


@on_each
@pytest.mark.parametrize("fault", FAULTS)
def test_a_question_that_is_not_answered_at_once_is_asked_again(
    remote: Remote, proxy: FaultProxy, fault: str
) -> None:
    """The job waits for it, and is begun once."""
    place = remote.place(proxy=proxy)
    job(place)
    proxy.clear()
    rule = Rule(FAULTS[fault], operation=QUESTIONS[remote.name])
    proxy.add(rule)
    job(place)
    assert rule.met
    assert jobs_begun(proxy) == 1
    assert_no_leftovers(place.url, **place.how)


@on_each
def test_a_question_that_is_denied_by_now_changes_nothing(
    remote: Remote, proxy: FaultProxy
) -> None:
    """As of the first job of a process: then a bucket counts as one like most."""
    place = remote.place(proxy=proxy)
    job(place)
    assert job_that_is_denied(place, remote, proxy) == 1


@on("ministack")
def test_versions_that_nobody_is_told_of_any_more_count_as_none(
    remote: Remote, proxy: FaultProxy
) -> None:
    keep_versions(remote.bucket)
    place = remote.place(proxy=proxy)
    assert job(place).selection.capabilities.unique_tokens is True
    assert job_that_is_denied(place, remote, proxy) == 2
    assert job(place).selection.capabilities.unique_tokens is False


def job_that_is_denied(place: RemotePlace, remote: Remote, proxy: FaultProxy) -> int:
    """How many jobs it has begun, of which one is left: nobody is answered from now on."""
    proxy.clear()
    denial = AnswerInstead(403, DENIED[remote.name])
    rule = Rule(denial, operation=QUESTIONS[remote.name], times=None)
    proxy.add(rule)
    job(place)
    assert rule.met
    assert_no_leftovers(place.url, **place.how)
    return jobs_begun(proxy)


@on("strict-gcs", "gen2")
def test_a_question_that_is_refused_is_told_as_to_a_first_job(
    remote: Remote, proxy: FaultProxy
) -> None:
    """And what was begun beside it is gone."""
    place = remote.place(proxy=proxy)
    job(place)
    before = place.snapshot()
    gone = {"strict-gcs": "notFound", "gen2": "ContainerNotFound"}[remote.name]
    proxy.add(Rule(AnswerInstead(404, gone), operation=QUESTIONS[remote.name], times=None))
    with pytest.raises(fc.CommitError) as later:
        job(place)
    how: dict[str, Any] = {**place.how["storage_options"], "kept_clients": False}
    with pytest.raises(fc.CommitError) as first:
        job(place, storage_options=how)
    assert (type(later.value), str(later.value)) == (type(first.value), str(first.value))
    assert place.snapshot() == before
