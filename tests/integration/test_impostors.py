"""Somebody else answers in place of each store: what a job tells stays true, and nothing is lost.

The service itself must have spoken: a proxy, an ingress or a login page has not. On HDFS the answer
is one of WebHDFS's own form, or a `RemoteException`.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.effects import pacing
from fsspec_commit.testing import Crash, Fault, inject
from tests.scenes.attempts import DONE_BUT_FOR_THE_AREA, attempt, recover, run
from tests.scenes.scene import TASKS, Scene, named
from tests.scenes.wire import Wire, wire_to
from tests.servers.impostors import IMPOSTORS, rules_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fsspec_commit.testing.sweeps import Sweep
    from tests.scenes.places import RemotePlace
    from tests.scenes.remotes import Remote
    from tests.servers.faults import Rule
    from tests.servers.proxy import FaultProxy

_OVERWRITE = replace(named("overwrite"), options={"mode": "overwrite", "idempotency_key": "k"})
RESUMED = "overwrite, resumed"
"""Its driver has died when it was to publish its first file: of the resumer's requests each."""
JOBS = {
    "overwrite": _OVERWRITE,
    "append": named("append"),
    "error": named("error"),
    "ignore": Scene({"mode": "ignore"}, TASKS),
    "overwrite_partitions": named("overwrite_partitions"),
    RESUMED: _OVERWRITE,
}
"""Old files have names that no job uses again: an overwrite needs no more of any store."""
_BACKOFF_S_MAX = 0.01
pytestmark = pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")


class When(Enum):
    """When the impostor answers, and whether the store hears of the request all the same."""

    INSTEAD = "instead"
    AFTERWARDS = "afterwards"
    FROM_THERE_ON = "instead, from there on"


@dataclass(frozen=True)
class Answered:
    """An impostor answers the *nth* request of a job, or each from there on."""

    job: str
    impostor: str
    when: When
    nth: int

    def __str__(self) -> str:
        return f"{self.job}, request {self.nth} answered {self.impostor} {self.when.value}"

    def rules(self) -> tuple[Rule, Rule]:
        answer = IMPOSTORS[self.impostor]
        fault = replace(answer, is_carried_out=self.when is When.AFTERWARDS)
        return rules_of(fault, nth=self.nth, once=self.when is not When.FROM_THERE_ON)


EVERY = ("ministack", "strict-gcs", "gen2", "azurite", "webhdfs")
BY_DAY = dict.fromkeys(EVERY, 721) | {"webhdfs": 2881}
BY_NIGHT = dict.fromkeys(EVERY, 19) | {"webhdfs": 101}
"""So many cases lie between those that are tried: of an overwrite by day, of every job by night.

No multiple of three: of nine impostors each has its turn. A file costs a cluster more than it costs
an emulator.
"""


def every(cases: Mapping[str, int]) -> pytest.MarkDecorator:
    """Each store, and what lies between its *cases*."""
    names = ("remote", "every")
    return pytest.mark.parametrize(names, cases.items(), indirect=["remote"], ids=cases)


@pytest.fixture(autouse=True)
def no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """An impostor that stays is asked again just as often, only sooner."""
    monkeypatch.setattr(pacing, "BACKOFF_S_MAX", _BACKOFF_S_MAX)


@pytest.fixture
def wire(remote: Remote, proxy: FaultProxy) -> Wire:
    """On HDFS in front of the NameNode: who is redirected to a DataNode goes there by no proxy."""
    return wire_to(remote, proxy, JOBS["overwrite"])


@every(BY_DAY)
def test_some_requests_are_answered_by_another(wire: Wire, sweep: Sweep) -> None:
    """By day: a few of all the cases of an overwrite."""
    _check(wire, sweep(case for when in When for case in _each_request(wire, "overwrite", when)))


@pytest.mark.slow
@every(BY_NIGHT)
@pytest.mark.parametrize("when", When, ids=lambda when: when.value)
@pytest.mark.parametrize("job", JOBS)
def test_each_request_is_answered_by_another(
    wire: Wire, sweep: Sweep, job: str, when: When
) -> None:
    """By night: some of the cases of every job, or all with `--sweep-whole`."""
    _check(wire, sweep(_each_request(wire, job, when)))


def _each_request(wire: Wire, job: str, when: When) -> Iterator[Answered]:
    for nth in range(1, _count(wire, job) + 1):
        for impostor in IMPOSTORS:
            yield Answered(job, impostor, when, nth)


_counts: dict[tuple[str, str], int] = {}


def _count(wire: Wire, job: str) -> int:
    """How many requests a job makes that meets nobody but its store."""
    known = (wire.proxy.endpoint_url, job)
    if known not in _counts:
        # With a warning where a file of the old data is in no partition.
        told, _ = _outcome(replace(wire, scene=JOBS[job]), job, "whole")
        assert told == "done"
        _counts[known] = len(wire.proxy.exchanges)
    return _counts[known]


def _check(wire: Wire, cases: Iterable[Answered]) -> None:
    """All of *cases*; the error names each that failed, and how many did not."""
    tried, failed = 0, []
    for case in cases:
        tried += 1
        try:
            _try(replace(wire, scene=JOBS[case.job]), case, str(tried))
        except Exception as error:  # noqa: BLE001  whatever it is, it fails the test below
            notes = "; ".join(getattr(error, "__notes__", ()))
            failed.append(f"{case}: {type(error).__name__}: {error} ({notes})")
        finally:
            wire.proxy.clear()
            # Jobs that could not even be aborted go here, where that is no error.
            gc.collect()
    assert tried
    assert not failed, "\n".join([f"{len(failed)} of {tried} cases failed:", *failed])


def _try(wire: Wire, case: Answered, name: str) -> None:
    told, message = _outcome(wire, case.job, name, *case.rules())
    _settle(wire, name, told, message)


def _outcome(wire: Wire, job: str, name: str, *rules: Rule) -> tuple[str, str]:
    """What the driver is told, or the resumer."""
    if job != RESUMED:
        return attempt(wire.scene, wire.ready(name, *rules))
    place, job_id = _died(wire, name)
    for rule in rules:
        wire.proxy.add(rule)
    try:
        result = fc.resume(place.url, job_id, **place.how)
    except fc.CommitError as error:
        return error.outcome, str(error)
    return "done", "\n".join(result.warnings)


def _died(wire: Wire, name: str) -> tuple[RemotePlace, str]:
    """A destination where a job has decided, and nothing else; its requests are forgotten."""
    place = wire.ready(name)
    dies = [Fault(verb, 1, "crash_before") for verb in ("rename", "complete")]
    with inject(*dies), suppress(Crash):
        run(wire.scene, place)
    [job] = fc.jobs(place.url, **place.how)
    assert job.state == "decided"
    wire.proxy.clear()
    return place, job.job_id


def _settle(wire: Wire, name: str, told: str, message: str) -> None:
    """The impostor has gone: what was told is true, and what is left can be settled."""
    met = [f"{one.operation} {one.path}" for one in wire.proxy.exchanges if one.fault is not None]
    if told == "done" and "the work area was not removed" in message:
        told = DONE_BUT_FOR_THE_AREA
    try:
        recover(wire.scene, wire.direct(name), told, marker=None, spent_ids=True)
    except (AssertionError, fc.CommitError) as error:
        error.add_note(f"told {told!r}: {message}; answered: {met[:1]}")
        raise
