"""Faults on the wire, each at each request that changes something; nothing of ours is patched.

What is tried on every store: see `test_wire_faults.py`.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import pytest

import fsspec_commit as fc
from tests.scenes.attempts import DONE_BUT_FOR_THE_AREA, attempt, recover, write
from tests.scenes.places import keep_versions
from tests.scenes.requests_of_jobs import EXACT, S3
from tests.scenes.wire import FirstTime, Wire, bounce, wire_to
from tests.servers.faults import AnswerAfterwards, LoseReply, ResetReply, ResetRequest, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsspec_commit.testing.sweeps import Sweep
    from tests.scenes.remotes import Remote
    from tests.scenes.requests_of_jobs import Requests
    from tests.scenes.wire import At
    from tests.servers.faults import Fault
    from tests.servers.proxy import FaultProxy

OF_A_QUESTION = ("reply lost", "500, and it did not", "503", "reset in the reply")
THE_FIRST_TIME = ("reply lost", "500, and it happened", "503")
OF_A_PART: dict[str, Fault] = {
    "reset in the body": ResetRequest(after_bytes=3 << 20),
    "reset in the reply": ResetReply(),
    "reply lost": LoseReply(),
    "500, and it happened": AnswerAfterwards(),
}
LONG = "0123456789abcdef" * (1 << 20)
"""16 MiB: two parts on S3."""
CASES_LEAST = 220
"""Of one server, every night."""
assert len(S3.changes) * len(S3.faults) + len(S3.questions) * len(OF_A_QUESTION) >= CASES_LEAST


def some_slow(names: Iterable[str], by_day: Iterable[str]) -> list[Any]:
    """All of *names*, those that are not tried *by_day* marked."""
    return [pytest.param(name, marks=() if name in by_day else pytest.mark.slow) for name in names]


def swept(names: Iterable[str], by_day: Mapping[str, int], parts: int = 1) -> list[Any]:
    """Each of *names* whole by night, and by day those that are cheap, at every so-many-th request.

    Most faults are slow: each takes half a minute. A part is so many workers' share.
    """
    return [
        pytest.param(
            *(name, every, slice(part, None, parts)),
            id=f"{name}{', some' if every > 1 else ''}{f'-{part}' if parts > 1 else ''}",
            marks=() if every == by_day.get(name) else pytest.mark.slow,
        )
        for name in names
        for every in dict.fromkeys([1, by_day.get(name, 1)])
        for part in range(parts)
    ]


Cases: TypeAlias = dict[str, tuple[Any, list[Any]]]
"""By the name of a test what it is parametrized with."""


class OnStore:
    """Tests whose parameters are a store's.

    Attributes:
        requests: Of a job there.
    """

    requests: ClassVar[Requests]

    @pytest.fixture
    def wire(self, remote: Remote, proxy: FaultProxy) -> Wire:
        if remote.committer == "magic" and self.requests.scene is EXACT:
            keep_versions(remote.bucket)
        return wire_to(remote, proxy, self.requests.scene)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if cases := self.cases().get(metafunc.function.__name__):
            metafunc.parametrize(*cases)

    def cases(self) -> Cases:
        return {}


class KilledServer(OnStore):
    """A server that is killed, and comes back.

    Attributes:
        killed_by_day: At which moments.
    """

    killed_by_day: ClassVar[tuple[str, ...]] = tuple(S3.moments)

    def cases(self) -> Cases:
        moments = some_slow(self.requests.moments, self.killed_by_day)
        return {
            **super().cases(),
            "test_the_server_is_killed_during_job_commit": ("moment", moments),
        }

    def test_the_server_is_killed_during_job_commit(
        self, remote: Remote, wire: Wire, moment: str
    ) -> None:
        """Whatever the driver makes of it is true, and the job can be finished."""
        target, when = self.requests.moments[moment]
        rule = target.rule(
            LoseReply() if when == "after" else None, **{when: bounce(remote.server)}
        )
        place = wire.ready("out", rule)
        told, message = attempt(wire.scene, place)
        assert rule.met
        wire.proxy.clear()
        self.settle(remote, wire, told, message)

    def settle(self, _remote: Remote, wire: Wire, told: str, _message: str) -> None:
        recover(wire.scene, wire.direct("out"), told)


class WireFaults(OnStore):
    """What is tried on each store.

    Attributes:
        by_day: Which faults, and at one in how many of the requests that change something.
        asked_by_day: The same of questions.
        first_by_day: Which faults of every change.
        expires_by_day: At one in how many requests.
        sees_every_state: Whether by day, too, a job is left in each state.
        workers: Who share the changes by night, and who the requests at which credentials expire.
    """

    by_day: ClassVar[Mapping[str, int]] = {"reply lost": 1}
    asked_by_day: ClassVar[Mapping[str, int]] = {"reply lost": 1}
    first_by_day: ClassVar[tuple[str, ...]] = THE_FIRST_TIME
    expires_by_day: ClassVar[int]
    sees_every_state: ClassVar[bool] = False
    workers: ClassVar[tuple[int, int]] = (1, 1)

    def cases(self) -> Cases:
        names = ("fault", "every", "part")
        sharing, of = self.workers
        changes = swept(self.requests.faults, self.by_day, sharing)
        expiries = [
            pytest.param(self.expires_by_day, slice(None), id="some"),
            *(
                pytest.param(1, slice(part, None, of), id=f"{part}", marks=pytest.mark.slow)
                for part in range(of)
            ),
        ]
        return {
            **super().cases(),
            "test_one_fault_at_any_change": (names, changes),
            "test_one_fault_at_any_question": (names, swept(OF_A_QUESTION, self.asked_by_day)),
            "test_each_change_fails_the_first_time": (
                "fault",
                some_slow(THE_FIRST_TIME, self.first_by_day),
            ),
            "test_credentials_that_expire_half_way": (names[1:], expiries),
        }

    def test_one_fault_at_any_change(
        self, wire: Wire, fault: str, sweep: Sweep, part: slice
    ) -> None:
        """Each single one is got over: the job commits, and says so."""
        fail_each(wire, self.requests.faults[fault], sweep(self.requests.changes[part]))

    def test_one_fault_at_any_question(
        self, wire: Wire, fault: str, sweep: Sweep, part: slice
    ) -> None:
        """The same of what changes nothing."""
        fail_each(wire, self.requests.faults[fault], sweep(self.requests.questions[part]))

    def test_each_change_fails_the_first_time(self, wire: Wire, fault: str) -> None:
        """All of one job's changes: it commits all the same."""
        changes = {target.operation for target in self.requests.changes}
        commit_over(wire, Rule(self.requests.faults[fault], where=FirstTime(changes), times=None))

    @pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning")
    def test_credentials_that_expire_half_way(self, wire: Wire, sweep: Sweep, part: slice) -> None:
        """From any request on: the error says so, nothing wrong is seen, fresh ones finish it."""
        place = wire.ready("whole")
        assert attempt(wire.scene, place)[0] == "done"
        stages = stages_of(wire, self.requests)
        states = set[str]()
        tried = set(chain.from_iterable(sweep(stage[part]) for stage in stages))
        if self.sees_every_state and not sweep.is_whole:
            tried |= one_of_each_state(stages)
        for nth in sorted(tried):
            expired = Rule(self.requests.expired, nth=nth, times=None)
            place = wire.ready(nth, expired)
            told, message = attempt(wire.scene, place)
            if told == "done" and len(wire.proxy.exchanges) < nth:
                continue  # The first run took longer, and showed that it lives.
            try:
                assert expired.met
                assert self.requests.says_expired in message
                assert "damaged" not in message
                # The last ones clean up: what they leave is a warning, and the job no failure.
                if told == "done" and "the work area was not removed" in message:
                    told = DONE_BUT_FOR_THE_AREA
                states.add(recover_after_expiry(wire, nth, told))
            except (AssertionError, fc.CommitError) as error:
                error.add_note(f"expired at request {nth} of {stages}: told {told!r}, {message}")
                raise
        if sweep.is_whole or self.sees_every_state:
            assert states >= {"undecided", "decided", "published"}


def fail_each(wire: Wire, fault: Fault, targets: Iterable[At]) -> None:
    for number, target in enumerate(targets):
        rule = target.rule(fault)
        place = wire.ready(number, rule)
        told, message = attempt(wire.scene, place)
        operations = wire.proxy.operations()
        wire.proxy.clear()
        try:
            assert rule.met, f"no request met it: {operations}"
            assert (told, message) == ("done", ""), f"{told}: {message}"
            recover(wire.scene, wire.direct(number), told)
        except (AssertionError, fc.CommitError) as error:
            error.add_note(f"{fault} at {target}; the caller was told {told!r}: {message}")
            raise


def commit_over(wire: Wire, *rules: Rule) -> None:
    """A job meets all of *rules*, and commits as if there were none."""
    place = wire.ready("out", *rules)
    told, message = attempt(wire.scene, place)
    assert all(rule.met for rule in rules)
    assert (told, message) == ("done", ""), f"{told}: {message}"
    recover(wire.scene, wire.direct("out"), told)


def stages_of(wire: Wire, requests: Requests) -> list[range]:
    """A job's requests, by number: up to its decision, until all is published, and after that."""
    decided, published = (
        nth
        for nth, one in enumerate(wire.proxy.exchanges, 1)
        if requests.decision.is_of(one) or requests.published.is_of(one)
    )
    count = len(wire.proxy.exchanges)
    return [
        range(1, decided + 1),
        range(decided + 1, published + 1),
        range(published + 1, count + 1),
    ]


def one_of_each_state(stages: list[range]) -> set[int]:
    """The decision itself, and the first request of each stage after it."""
    until_decided, *later = stages
    return {until_decided[-1], *(stage[0] for stage in later)}


def recover_after_expiry(wire: Wire, nth: int, told: str) -> str:
    place = wire.direct(nth)
    if not place.snapshot().keys() - wire.scene.laid_out.keys():
        assert told == "not_committed"
        return "nothing"
    return recover(wire.scene, place, told)


class LongFiles(OnStore):
    """What is tried where a long file is sent in parts, and a server says how long it is busy."""

    def test_a_busy_server_is_left_alone_as_long_as_it_asks(self, wire: Wire) -> None:
        busy, operations = self.requests.busy
        commit_over(wire, *(Rule(busy, operation=operation) for operation in operations))

    @pytest.mark.parametrize("fault", OF_A_PART)
    def test_a_part_of_a_long_file_is_sent_again(self, wire: Wire, fault: str) -> None:
        rules = [Rule(OF_A_PART[fault], **options) for options in self.requests.parts]
        place = wire.ready("out", *rules)
        with (
            fc.Job(place.url, mode="append", names="exact", **place.how) as job,
            job.task() as task,
        ):
            write(task, "long.txt", LONG)
        assert all(rule.met for rule in rules)
        assert wire.direct("out").snapshot()["long.txt"] == LONG.encode()
        assert wire.direct("out").pending() == []
