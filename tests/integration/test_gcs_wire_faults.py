"""Faults on the wire to GCS, each at each request that changes something; nothing is patched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.integration.gcs_places import gcs_places
from tests.integration.s3_jobs import (
    DONE_BUT_FOR_THE_AREA,
    attempt,
    learn,
    recover,
    write,
)
from tests.integration.scenes import PARTITIONED, SCENES, Scene
from tests.integration.wire import At, Wire, bounce, fail_each, fail_the_first_time
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
from tests.sweeps import some_by_day

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsspec_commit.testing.sweeps import Sweep
    from tests.servers.gcs.plugin import GcsBucket
    from tests.servers.gcs.server import GcsServer
    from tests.servers.proxy import FaultProxy

pytestmark = pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)

# In the order in which a job sends them.
TARGETS = (
    At("objects.insert", "/job.json"),
    At("objects.insert", "/tasks/0/"),
    At("objects.insert", "/tasks/1/"),
    At("objects.insert", "/manifests/0/"),
    At("objects.insert", "/claim-"),
    At("objects.insert", "/replaced-"),
    At("objects.insert", "/decision"),
    At("objects.delete", "out/_SUCCESS"),
    At("objects.move", ".txt"),
    At("objects.move", ".txt", nth=3),
    At("objects.insert", "/published"),
    At("objects.delete", "/old"),
    At("objects.move", "_SUCCESS"),
    At("objects.insert", "/done/"),
    At("objects.insert", "/epoch-"),
    At("objects.delete", "/job.json"),
    At("objects.delete", "/decision"),
    At("objects.delete", "/manifests/"),
)
# What a job asks: by now it has changed something, or is about to.
QUESTIONS = (
    At("buckets.get", ""),
    At("objects.list", ""),
    At("objects.list", "", nth=2),
    At("objects.get", "/job.json"),
    At("objects.download", "/manifests/"),
    At("objects.download", "/job.json"),
    At("objects.download", "/replaced-"),
)
CHANGES = {target.operation for target in TARGETS}
OVERWRITE = Scene({**SCENES["overwrite, in place"].options, "idempotency_key": "k"}, PARTITIONED)
FAULTS: dict[str, Fault] = {
    "reply lost": LoseReply(),
    "500, and it happened": AnswerAfterwards(500),
    "500, and it did not": AnswerInstead(500),
    "502 of a proxy, and it happened": AnswerAfterwards(502),
    "503": AnswerInstead(503),
    "429": AnswerInstead(429),
    "reset in the body": ResetRequest(after_bytes=10),
    "reset in the reply": ResetReply(after_bytes=10),
    "slow": DelayReply(0.1),
}
OF_A_QUESTION = ("reply lost", "500, and it did not", "503", "reset in the reply")
IN_EVERY_RUN = {"reply lost"}
"""The others are slow: each takes half a minute."""
LONG = 9 << 20


@pytest.fixture
def wire(gcs_bucket: GcsBucket, gcs_proxy: FaultProxy) -> Wire:
    faulty = gcs_places(gcs_bucket, endpoint_url=gcs_proxy.endpoint_url)
    # The probe of this way to the bucket is the first job's only.
    learn(faulty("first"), "manifest")  # type: ignore[arg-type]  # it makes GcsPlaces
    return Wire(gcs_proxy, OVERWRITE, faulty, gcs_places(gcs_bucket))  # type: ignore[arg-type]  # see above


def some_slow(faults: Iterable[str]) -> pytest.MarkDecorator:
    """All of *faults*, those that are not of every run marked."""
    return pytest.mark.parametrize(
        "fault",
        [
            pytest.param(fault, marks=() if fault in IN_EVERY_RUN else pytest.mark.slow)
            for fault in faults
        ],
    )


@some_slow(FAULTS)
def test_one_fault_at_any_change(wire: Wire, fault: str) -> None:
    """Each single one is got over: the job commits, and says so."""
    fail_each(wire, FAULTS[fault], TARGETS)


@some_slow(OF_A_QUESTION)
def test_one_fault_at_any_question(wire: Wire, fault: str) -> None:
    """The same of what changes nothing."""
    fail_each(wire, FAULTS[fault], QUESTIONS)


@pytest.mark.parametrize("fault", ["reply lost", "500, and it happened", "503"])
def test_each_change_fails_the_first_time(wire: Wire, fault: str) -> None:
    """All of one job's changes: it commits all the same."""
    fail_the_first_time(wire, FAULTS[fault], CHANGES)


def test_a_busy_server_is_left_alone_as_long_as_it_asks(wire: Wire) -> None:
    rules = [
        Rule(AnswerInstead(429, retry_after_s=1), operation=operation)
        for operation in ("objects.insert", "objects.move", "objects.delete")
    ]
    place = wire.ready("out", *rules)
    told, message = attempt(wire.scene, place)
    assert all(rule.met for rule in rules)
    assert (told, message) == ("done", "")
    recover(wire.scene, wire.direct("out"), told)


@pytest.mark.parametrize(
    "fault",
    [ResetRequest(after_bytes=3 << 20), ResetReply(), LoseReply(), AnswerAfterwards()],
    ids=["reset in the body", "reset in the reply", "reply lost", "500, and it happened"],
)
def test_a_chunk_of_a_long_file_is_sent_again(wire: Wire, fault: Fault) -> None:
    text = "0123456789abcdef" * (LONG // 16)
    rules = [Rule(fault, operation="uploads.put", nth=nth) for nth in (1, 3)]
    rules.append(Rule(LoseReply(), operation="uploads.start"))
    place = wire.ready("out", *rules)
    with (
        fc.Job(place.url, mode="append", names="exact", **place.how) as job,
        job.task() as task,
    ):
        write(task, "long.txt", text)
    assert all(rule.met for rule in rules)
    assert wire.direct("out").snapshot()["long.txt"] == text.encode()


@pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")
@some_by_day(9)
def test_credentials_that_are_taken_away_half_way(wire: Wire, sweep: Sweep) -> None:
    """From any request on: the error says so, nothing wrong is seen, fresh ones finish it."""
    place = wire.ready("whole")
    assert attempt(wire.scene, place)[0] == "done"
    count = len(wire.proxy.exchanges)
    states = set[str]()
    for nth in sweep(range(1, count + 1)):
        expired = Rule(AnswerInstead(401), nth=nth, times=None)
        place = wire.ready(nth, expired)
        told, message = attempt(wire.scene, place)
        try:
            assert expired.met
            # The last ones clean up: what they leave is a warning, and the job no failure.
            assert "have expired" in message
            if told == "done" and "the work area was not removed" in message:
                told = DONE_BUT_FOR_THE_AREA
            states.add(recover_after_expiry(wire, nth, told))
        except (AssertionError, fc.CommitError) as error:
            error.add_note(f"expired at request {nth} of {count}: told {told!r}, {message}")
            raise
    assert not sweep.is_whole or states >= {"undecided", "decided", "published"}


def recover_after_expiry(wire: Wire, nth: int, told: str) -> str:
    place = wire.direct(nth)
    if not place.snapshot().keys() - wire.scene.laid_out.keys():
        assert told == "not_committed"
        return "nothing"
    return recover(wire.scene, place, told)


def test_a_token_that_expires_is_renewed_by_the_way(gcs_server: GcsServer, wire: Wire) -> None:
    """Nobody hears of it: what was refused for it is asked again with another."""
    revoking = Rule(operation="objects.move", before=gcs_server.control.revoke_tokens, times=2)
    place = wire.ready("out", revoking)
    told, message = attempt(wire.scene, place)
    assert revoking.met
    assert (told, message) == ("done", "")
    recover(wire.scene, wire.direct("out"), told)


KILLED_AT = {
    "before the decision": (At("objects.insert", "/decision"), "before"),
    "after the decision": (At("objects.insert", "/decision"), "after"),
    "before the second file": (At("objects.move", ".txt", nth=2), "before"),
    "after the second file": (At("objects.move", ".txt", nth=2), "after"),
    "after all is published": (At("objects.insert", "/published"), "after"),
    "after the job is over": (At("objects.delete", "/job.json"), "after"),
}


@pytest.mark.parametrize("when", KILLED_AT)
def test_the_server_is_killed_during_job_commit(
    gcs_server: GcsServer, wire: Wire, when: str
) -> None:
    """And comes back: whatever the driver makes of it is true, and the job can be finished."""
    target, moment = KILLED_AT[when]
    rule = target.rule(LoseReply() if moment == "after" else None, **{moment: bounce(gcs_server)})
    place = wire.ready("out", rule)
    told, _ = attempt(wire.scene, place)
    assert rule.met
    wire.proxy.clear()
    recover(wire.scene, wire.direct("out"), told)
