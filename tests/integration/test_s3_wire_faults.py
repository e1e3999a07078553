"""Faults on the wire, each at each request that changes something; nothing of ours is patched."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.integration.s3_jobs import (
    DONE_BUT_FOR_THE_AREA,
    attempt,
    recover,
    write,
)
from tests.integration.s3_wire import EXACT, UNIQUE, At, Wire
from tests.servers.faults import (
    AnswerAfterwards,
    AnswerInstead,
    DelayReply,
    Fault,
    LoseReply,
    ResetReply,
    ResetRequest,
    Rule,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsspec_commit.testing.sweeps import Sweep
    from tests.servers.http_messages import Request
    from tests.servers.plugin import S3Bucket
    from tests.servers.proxy import FaultProxy


# In the order in which a job sends them.
TARGETS = (
    At("PutObject", "/job.json"),
    At("CreateMultipartUpload", "/same"),
    At("CreateMultipartUpload", "/other"),
    At("PutObject", "/uploads/"),
    At("UploadPart", "/same"),
    At("AbortMultipartUpload", "/other"),
    At("PutObject", "/manifests/0/"),
    At("PutObject", "/claim-"),
    At("PutObject", "/replaced-"),
    At("CreateMultipartUpload", "_SUCCESS"),
    At("UploadPart", "_SUCCESS"),
    At("PutObject", "/decision"),
    At("CompleteMultipartUpload", ".txt"),
    At("CompleteMultipartUpload", ".txt", nth=3),
    At("PutObject", "/published"),
    At("DeleteObject", "/old"),
    At("CompleteMultipartUpload", "_SUCCESS"),
    At("PutObject", "/done/"),
    At("PutObject", "/epoch-"),
    At("DeleteObject", "/job.json"),
    At("DeleteObjects", "", nth=1),
)
# What a job asks: by now it has changed something, or is about to.
QUESTIONS = (
    At("ListObjectsV2", ""),
    At("ListObjectsV2", "", nth=2),
    At("ListObjectVersions", ""),
    At("HeadObject", "/job.json"),
    At("HeadObject", "_SUCCESS"),
    At("GetObject", "/manifests/"),
    At("GetObject", "/job.json"),
    At("GetObject", "/replaced-"),
    At("ListMultipartUploads", ""),
)
ONLY_EXACT = {At("PutObject", "/uploads/"), At("ListObjectVersions", "")}
"""Only of files whose names do not say whose they are, or where versions are kept."""
FAULTS: dict[str, Fault] = {
    "reply lost": LoseReply(),
    "500, and it happened": AnswerAfterwards(500, "InternalError"),
    "500, and it did not": AnswerInstead(500, "InternalError"),
    "502 of a proxy, and it happened": AnswerAfterwards(502, "BadGateway"),
    "503": AnswerInstead(503, "SlowDown"),
    "409, try again": AnswerInstead(409, "ConditionalRequestConflict"),
    "reset in the body": ResetRequest(after_bytes=10),
    "reset in the reply": ResetReply(after_bytes=10),
    "slow": DelayReply(0.1),
}
OF_A_QUESTION = ("reply lost", "500, and it did not", "503", "reset in the reply")
IN_EVERY_RUN = {"reply lost": 1, "503": 3}
"""By day: at each of the targets, or at every so-many-th. One is no answer, the other a refusal.

The others are slow: each takes half a minute.
"""
HALVES = (0, 1)
"""Of the targets, for two workers."""
STEP = 5
"""So much of a job lies between its requests that are tried by day."""
CASES_LEAST = 220
"""Of one server, every night."""
assert len(TARGETS) * len(FAULTS) + len(QUESTIONS) * len(OF_A_QUESTION) >= CASES_LEAST

FIRST = "ministack"
OTHERS = ["seaweedfs", "versitygw"]
every_server = pytest.mark.parametrize(
    "s3_server",
    [FIRST, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)],
    indirect=True,
)


@pytest.fixture
def wire(s3_bucket: S3Bucket, s3_proxy: FaultProxy) -> Wire:
    # versitygw keeps no versions.
    return Wire(s3_bucket, s3_proxy, UNIQUE if s3_bucket.server.name == "versitygw" else EXACT)


def some_slow(faults: Iterable[str]) -> pytest.MarkDecorator:
    """By night *faults* at each target; by day those of every run, at as many as they say."""
    by_night = [pytest.param(fault, 1, marks=pytest.mark.slow) for fault in faults]
    by_day = [
        pytest.param(fault, every, id=f"{fault}, by day") for fault, every in IN_EVERY_RUN.items()
    ]
    return pytest.mark.parametrize(("fault", "every"), by_day + by_night)


@every_server
@pytest.mark.parametrize("half", HALVES)
@some_slow(FAULTS)
def test_one_fault_at_any_change(wire: Wire, fault: str, half: int, sweep: Sweep) -> None:
    """Each single one is got over: the job commits, and says so."""
    fail_each(wire, fault, sweep(TARGETS[half :: len(HALVES)]))


@every_server
@some_slow(OF_A_QUESTION)
def test_one_fault_at_any_question(wire: Wire, fault: str, sweep: Sweep) -> None:
    """The same of what changes nothing."""
    fail_each(wire, fault, sweep(QUESTIONS))


def fail_each(wire: Wire, fault: str, targets: Iterable[At]) -> None:
    for number, target in enumerate(targets):
        if target in ONLY_EXACT and wire.scene is not EXACT:
            continue
        rule = Rule(FAULTS[fault], operation=target.operation, path=target.path, nth=target.nth)
        place = wire.ready(number, rule)
        told, message = attempt(wire.scene, place)
        operations = wire.proxy.operations()
        wire.proxy.clear()
        try:
            assert rule.met, f"no request met it: {operations}"
            assert (told, message) == ("done", "")
            recover(wire.scene, wire.straight(number), told)
        except (AssertionError, fc.CommitError) as error:
            error.add_note(f"{fault} at {target}; the caller was told {told!r}: {message}")
            raise


class FirstTime:
    """Whether a change is asked for the first time."""

    CHANGES = frozenset(target.operation for target in TARGETS)

    def __init__(self) -> None:
        self._seen: set[tuple[str, str, str]] = set()
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> bool:
        if request.operation not in self.CHANGES:
            return False
        what = (request.operation, request.path, str(sorted(request.query.items())))
        with self._lock:
            is_first = what not in self._seen
            self._seen.add(what)
        return is_first


@every_server
@pytest.mark.parametrize("fault", ["reply lost", "500, and it happened", "503"])
def test_each_change_fails_the_first_time(wire: Wire, fault: str) -> None:
    """All of one job's changes: it commits all the same."""
    rule = Rule(FAULTS[fault], where=FirstTime(), times=None)
    place = wire.ready("out", rule)
    told, message = attempt(wire.scene, place)
    assert rule.met
    assert (told, message) == ("done", "")
    recover(wire.scene, wire.straight("out"), told)


@every_server
def test_a_busy_server_is_left_alone_as_long_as_it_asks(wire: Wire) -> None:
    rules = [
        Rule(AnswerInstead(503, "SlowDown", retry_after_s=1), operation=operation)
        for operation in ("PutObject", "CompleteMultipartUpload", "UploadPart")
    ]
    place = wire.ready("out", *rules)
    told, message = attempt(wire.scene, place)
    assert all(rule.met for rule in rules)
    assert (told, message) == ("done", "")
    recover(wire.scene, wire.straight("out"), told)


@every_server
@pytest.mark.parametrize(
    "fault",
    [ResetRequest(after_bytes=3 << 20), ResetReply(), LoseReply(), AnswerAfterwards()],
    ids=["reset in the body", "reset in the reply", "reply lost", "500, and it happened"],
)
def test_a_part_of_a_long_file_is_sent_again(wire: Wire, fault: Fault) -> None:
    text = "0123456789abcdef" * (1 << 20)  # 16 MiB: two parts
    rules = [Rule(fault, operation="UploadPart", query={"partNumber": str(n)}) for n in (1, 2)]
    place = wire.ready("out", *rules)
    with (
        fc.Job(place.url, mode="append", names="exact", **place.how) as job,
        job.task() as task,
    ):
        write(task, "long.txt", text)
    assert all(rule.met for rule in rules)
    assert wire.straight("out").snapshot()["long.txt"] == text.encode()
    assert wire.straight("out").pending() == []


@pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")
@every_server
@pytest.mark.parametrize("every", [STEP])
@pytest.mark.parametrize(
    "first", [None, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, STEP + 1))]
)
def test_credentials_that_expire_half_way(wire: Wire, first: int | None, sweep: Sweep) -> None:
    """From any request on: the error says so, nothing wrong is seen, fresh ones finish it."""
    place = wire.ready("whole")
    assert attempt(wire.scene, place)[0] == "done"
    count = len(wire.proxy.exchanges)
    states = set[str]()
    every_request = range(1, count + 1)
    for nth in every_request[first - 1 :: STEP] if first else sweep(every_request):
        expired = Rule(AnswerInstead(400, "ExpiredToken"), nth=nth, times=None)
        place = wire.ready(nth, expired)
        told, message = attempt(wire.scene, place)
        try:
            assert expired.met
            # The last ones clean up: what they leave is a warning, and the job no failure.
            assert "expired" in message
            if told == "done" and "the work area was not removed" in message:
                told = DONE_BUT_FOR_THE_AREA
            states.add(recover_after_expiry(wire, nth, told))
        except (AssertionError, fc.CommitError) as error:
            error.add_note(f"expired at request {nth} of {count}: told {told!r}, {message}")
            raise
    assert states >= {"undecided", "decided", "published"}


def recover_after_expiry(wire: Wire, nth: int, told: str) -> str:
    place = wire.straight(nth)
    if not place.snapshot().keys() - wire.scene.laid_out.keys():
        assert told == "not_committed"
        return "nothing"
    return recover(wire.scene, place, told)
