"""Somebody else answers in place of a store, at each request of a job: a fuzz for any adapter."""

from __future__ import annotations

import gc
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import pytest

import fsspec_commit as fc
from fsspec_commit.effects import pacing
from fsspec_commit.testing import Crash, Fault, inject
from tests.integration.s3_jobs import DONE_BUT_FOR_THE_AREA, attempt, recover, run
from tests.integration.scenes import TASKS, Scene, named
from tests.servers.impostors import IMPOSTORS, rules_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fsspec_commit.testing.sweeps import Sweep
    from tests.integration.places import RemotePlace
    from tests.integration.wire import Wire
    from tests.servers.faults import Rule

_OVERWRITE = named("overwrite")
MODES = {
    "overwrite": type(_OVERWRITE)({**_OVERWRITE.options, "idempotency_key": "k"}, TASKS),
    "append": named("append"),
    "error": named("error"),
    "ignore": Scene({"mode": "ignore"}, TASKS),
    "overwrite_partitions": named("overwrite_partitions"),
}
"""Old files have names that no job uses again: an overwrite needs no more of any store."""
HOW_OFTEN = {"once": True, "from there on": False}
_BACKOFF_S_MAX = 0.01
_SOME = 7
"""So much of a job of the other modes lies between the requests that are tried at night."""


@dataclass(frozen=True)
class Answered:
    """An impostor answers the *nth* request of a job of a mode, or each from there on."""

    mode: str
    impostor: str
    how_often: str
    nth: int

    def __str__(self) -> str:
        return f"{self.mode}, request {self.nth} answered {self.impostor}, {self.how_often}"


@pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")
class AnsweredForTests:
    """To be inherited for each store, with a fixture `wire`.

    Attributes:
        day_every: So many cases of an overwrite lie between those that are tried by day.
    """

    day_every: ClassVar[int] = 240

    @pytest.fixture(autouse=True)
    def no_long_waits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An impostor that stays is asked again just as often, only sooner."""
        monkeypatch.setattr(pacing, "BACKOFF_S_MAX", _BACKOFF_S_MAX)

    @pytest.fixture
    def every(self) -> int:
        return self.day_every

    def test_some_requests_are_answered_by_another(self, wire: Wire, sweep: Sweep) -> None:
        """By day: some of all the cases of an overwrite."""
        cases = [
            case
            for impostor in IMPOSTORS
            for how_often in HOW_OFTEN
            for case in _each_request(wire, "overwrite", impostor, how_often)
        ]
        _check(wire, sweep(cases))

    @pytest.mark.slow
    @pytest.mark.parametrize("how_often", HOW_OFTEN)
    @pytest.mark.parametrize("impostor", IMPOSTORS)
    def test_each_request_is_answered_by_another(
        self, wire: Wire, impostor: str, how_often: str
    ) -> None:
        """By night: all of them, and some of the other modes'."""
        cases = [
            case
            for mode in MODES
            for case in _each_request(wire, mode, impostor, how_often)
            if mode == "overwrite" or case.nth % _SOME == 1
        ]
        _check(wire, cases)

    @pytest.mark.slow
    @pytest.mark.parametrize("impostor", IMPOSTORS)
    def test_each_request_of_a_resumer_is_answered_by_another(
        self, wire: Wire, impostor: str
    ) -> None:
        """By night: of a job whose driver died when it was to publish its first file."""
        _check(wire, _each_request_of_a_resumer(wire, impostor), _resume)


def _each_request(wire: Wire, mode: str, impostor: str, how_often: str) -> Iterator[Answered]:
    for nth in range(1, _count(wire, mode) + 1):
        yield Answered(mode, impostor, how_often, nth)


def _each_request_of_a_resumer(wire: Wire, impostor: str) -> Iterator[Answered]:
    whole = replace(wire, scene=MODES["overwrite"])
    place, job_id = _died(whole, "whole-resume")
    fc.resume(place.url, job_id, **place.how)
    count = len(wire.proxy.exchanges)
    for how_often in HOW_OFTEN:
        for nth in range(1, count + 1):
            yield Answered("overwrite", impostor, how_often, nth)


_counts: dict[tuple[str, str], int] = {}


def _count(wire: Wire, mode: str) -> int:
    """How many requests a job of this mode makes that meets nobody but its store."""
    known = (wire.proxy.endpoint_url, mode)
    if known not in _counts:
        whole = replace(wire, scene=MODES[mode])
        told = attempt(whole.scene, whole.ready(f"whole-{mode}"))
        assert told == ("done", "")
        _counts[known] = len(wire.proxy.exchanges)
    return _counts[known]


def _check(
    wire: Wire, cases: Iterable[Answered], each: Callable[[Wire, Answered, int], None] | None = None
) -> None:
    """All of *cases*; the error names each that failed, and how many did not."""
    each = each or _run
    tried, failed = 0, []
    for case in cases:
        tried += 1
        try:
            each(replace(wire, scene=MODES[case.mode]), case, tried)
        except Exception as error:  # noqa: BLE001  whatever it is, it fails the test below
            notes = "; ".join(getattr(error, "__notes__", ()))
            failed.append(f"{case}: {type(error).__name__}: {error} ({notes})")
        finally:
            wire.proxy.clear()
            # Jobs that could not even be aborted go here, where that is no error.
            gc.collect()
    assert tried
    assert not failed, "\n".join([f"{len(failed)} of {tried} cases failed:", *failed])


def _run(wire: Wire, case: Answered, number: int) -> None:
    name = f"{number}-{case.mode}"
    place = wire.ready(name, *_rules(case))
    told, message = attempt(wire.scene, place)
    _settle(wire, name, told, message)


def _resume(wire: Wire, case: Answered, number: int) -> None:
    name = f"{number}-{case.mode}"
    place, job_id = _died(wire, name)
    for rule in _rules(case):
        wire.proxy.add(rule)
    told: str
    try:
        result = fc.resume(place.url, job_id, **place.how)
    except fc.CommitError as error:
        told, message = error.outcome, str(error)
    else:
        told, message = "done", "\n".join(result.warnings)
    _settle(wire, name, told, message)


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


def _rules(case: Answered) -> tuple[Rule, Rule]:
    once = HOW_OFTEN[case.how_often]
    return rules_of(IMPOSTORS[case.impostor], nth=case.nth, once=once)


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
