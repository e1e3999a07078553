"""Faults on the wire to Azure, each at each request that changes something; nothing is patched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.integration.azure_places import AzurePlace, azure_places
from tests.integration.s3_jobs import DONE_BUT_FOR_THE_AREA, attempt, learn, recover
from tests.integration.scenes import PARTITIONED, SCENES, Scene
from tests.integration.wire import At, Wire, bounce, fail_each, fail_the_first_time
from tests.servers.faults import (
    AnswerAfterwards,
    AnswerInstead,
    Fault,
    LoseReply,
    ResetReply,
    ResetRequest,
    Rule,
)
from tests.sweeps import WHOLE_ON, by_day, some_by_day

if TYPE_CHECKING:
    from fsspec_commit.testing.sweeps import Sweep
    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.azure.server import AzureServer
    from tests.servers.proxy import FaultProxy


# In the order in which a job sends them.
TARGETS = {
    "gen2": (
        At("blob.put", "/job.json"),
        At("blob.put", ".pending"),
        At("blob.put", "/manifests/0/"),
        At("blob.put", "/claim-"),
        At("blob.put", "/replaced-"),
        At("blob.put", "/decision"),
        At("path.create", ""),
        At("path.rename", ".txt"),
        At("path.rename", ".txt", nth=3),
        At("blob.put", "/published"),
        At("blob.delete", "/old"),
        At("path.rename", "_SUCCESS"),
        At("blob.put", "/done/"),
        At("blob.put", "/epoch-"),
        At("blob.delete", "/job.json"),
        At("blob.delete", "/decision"),
        At("path.delete", "/_commit/"),
    ),
    "azurite": (
        At("blob.put", "/job.json"),
        At("block.put", ".txt"),
        At("block.put", "_SUCCESS"),
        At("blob.put", "/manifests/0/"),
        At("blob.put", "/claim-"),
        At("blob.put", "/replaced-"),
        At("blob.put", "/decision"),
        At("blocklist.put", ".txt"),
        At("blocklist.put", ".txt", nth=3),
        At("blob.put", "/published"),
        At("blob.delete", "/old"),
        At("blocklist.put", "_SUCCESS"),
        At("blob.put", "/done/"),
        At("blob.put", "/epoch-"),
        At("blob.delete", "/job.json"),
        At("blob.delete", "/manifests/"),
    ),
}
# What a job asks: by now it has changed something, or is about to.
QUESTIONS = {
    "gen2": (
        At("path.list", ""),
        At("blob.properties", "/job.json"),
        At("blob.properties", "_SUCCESS"),
        At("blob.get", "/manifests/"),
    ),
    "azurite": (
        At("blob.list", ""),
        At("blob.properties", "/job.json"),
        At("blocklist.get", "_SUCCESS"),
        At("blob.get", "/manifests/"),
    ),
}
SCENE = Scene({**SCENES["overwrite"].options, "idempotency_key": "k"}, PARTITIONED)
FAULTS: dict[str, Fault] = {
    "reply lost": LoseReply(),
    "500, and it happened": AnswerAfterwards(500, "InternalError"),
    "500, and it did not": AnswerInstead(500, "OperationTimedOut"),
    "503": AnswerInstead(503, "ServerBusy"),
    "429": AnswerInstead(429, "TooManyRequests"),
    "reset in the body": ResetRequest(after_bytes=10),
    "reset in the reply": ResetReply(after_bytes=10),
}
IN_EVERY_RUN = {"reply lost", "503"}
CASES = {f"{server}-{fault}": (server, fault) for server in ("gen2", "azurite") for fault in FAULTS}
BY_DAY = {name: case for name, case in CASES.items() if case[1] in IN_EVERY_RUN}
WHOLE = {f"{WHOLE_ON['azure']}-reply lost"}
every_fault = pytest.mark.parametrize(
    ("azure_server", "fault", "every"),
    [
        *by_day(BY_DAY, whole=WHOLE, every=4),
        *(
            pytest.param(*case, 1, id=name, marks=pytest.mark.slow)
            for name, case in CASES.items()
            if name not in BY_DAY
        ),
    ],
    indirect=["azure_server"],
)


@pytest.fixture
def wire(azure_container: AzureContainer, azure_proxy: FaultProxy) -> Wire:
    faulty = azure_places(azure_container, endpoint_url=azure_proxy.endpoint_url)
    # The probe of this way to the container is the first job's only.
    first: AzurePlace = faulty("first")  # type: ignore[assignment]  # it makes AzurePlaces
    learn(first, first.committer)
    direct = azure_places(azure_container)
    return Wire(azure_proxy, SCENE, faulty, direct)  # type: ignore[arg-type]  # see above


@every_fault
def test_one_fault_at_any_change(
    wire: Wire, azure_server: AzureServer, fault: str, sweep: Sweep
) -> None:
    """Each single one is got over: the job commits, and says so."""
    fail_each(wire, FAULTS[fault], sweep(TARGETS[azure_server.name]))


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["reply lost", "500, and it did not", "503"])
def test_one_fault_at_any_question(wire: Wire, azure_server: AzureServer, fault: str) -> None:
    """The same of what changes nothing."""
    fail_each(wire, FAULTS[fault], QUESTIONS[azure_server.name])


@pytest.mark.parametrize("fault", ["reply lost", pytest.param("503", marks=pytest.mark.slow)])
def test_each_change_fails_the_first_time(
    wire: Wire, azure_server: AzureServer, fault: str
) -> None:
    """All of one job's changes: it commits all the same."""
    changes = {target.operation for target in TARGETS[azure_server.name]}
    fail_the_first_time(wire, FAULTS[fault], changes)


@pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")
@some_by_day(18)
def test_credentials_that_expire_half_way(wire: Wire, sweep: Sweep) -> None:
    """From any request on: the error says so, nothing wrong is seen, fresh ones finish it."""
    place = wire.ready("whole")
    assert attempt(SCENE, place)[0] == "done"
    count = len(wire.proxy.exchanges)
    states = set[str]()
    for nth in sweep(range(1, count + 1)):
        expired = Rule(AnswerInstead(401, "InvalidAuthenticationInfo"), nth=nth, times=None)
        place = wire.ready(nth, expired)
        told, message = attempt(SCENE, place)
        assert expired.met
        if told == "done" and "the work area was not removed" in message:
            told = DONE_BUT_FOR_THE_AREA
        straight = wire.direct(nth)
        try:
            # The last ones clean up: what they leave is a warning, and the job no failure.
            assert "the access token has expired" in message
            if not straight.snapshot().keys() - SCENE.laid_out.keys():
                assert told == "not_committed"
            else:
                states.add(recover(SCENE, straight, told))
        except (AssertionError, fc.CommitError) as error:
            error.add_note(f"expired at request {nth} of {count}: told {told!r}, {message}")
            raise
    assert not sweep.is_whole or states >= {"undecided", "decided", "published"}


KILLED_AT = {
    "before the decision": (At("blob.put", "/decision"), "before"),
    "after the decision": (At("blob.put", "/decision"), "after"),
    "before the second file": (At("path.rename", ".txt", nth=2), "before"),
    "after the second file": (At("path.rename", ".txt", nth=2), "after"),
    "after all is published": (At("blob.put", "/published"), "after"),
    "after the area is away": (At("path.delete", "/_commit/"), "after"),
}
EVERY_RUN_KILLED_AT = {"after the decision", "after the second file"}


@pytest.mark.parametrize("azure_server", ["gen2"], indirect=True)
@pytest.mark.parametrize(
    "when",
    [
        pytest.param(when, marks=() if when in EVERY_RUN_KILLED_AT else pytest.mark.slow)
        for when in KILLED_AT
    ],
)
def test_the_server_is_killed_during_job_commit(
    azure_server: AzureServer, wire: Wire, when: str
) -> None:
    """And comes back: whatever the driver makes of it is true, and the job can be finished.

    Of our own server alone: Azurite keeps its blobs in memory.
    """
    target, moment = KILLED_AT[when]
    bounced = bounce(azure_server)
    rule = target.rule(
        LoseReply() if moment == "after" else None,
        **{moment: bounced},
    )
    place = wire.ready("out", rule)
    told, _ = attempt(SCENE, place)
    assert rule.met
    wire.proxy.clear()
    recover(SCENE, wire.direct("out"), told)
