"""One simulated process: its requests travel, may be lost, come late, or end it."""

import asyncio
import errno
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from math import log
from random import Random
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.testing.faults import Crash
from fsspec_commit.testing.simulation.bucket import Change, refused
from fsspec_commit.testing.simulation.loop import SimulationLoop
from fsspec_commit.testing.simulation.trace import READS, Trace

T = TypeVar("T")

FaultKind: TypeAlias = Literal[
    "crash_before",
    "crash_after",
    "error",
    "error_but_applied",
    "applied_late",
    "throttled",
    "hang",
    "halt",
    "halt_after",
    "cut",
    "outage",
    "interrupt",
    "interrupt_twice",
    "refused",
]

TIMEOUT_S = 30.0
"""How long an adapter waits for a reply."""
_RETRY_AFTER_S = 0.5
_INTERRUPTS = {"interrupt", "interrupt_twice"}
_DEATHS = {"crash_before", "crash_after"}
_UNSENT = {"error", "throttled", "hang", "cut", "refused"}
_AREA = "/_commit/"
_TRAVELS_A_SECOND = 100.0


@dataclass(frozen=True)
class FaultAt:
    """A fault at one store call of one actor.

    Attributes:
        actor: Whose call, such as ``"a.driver"``.
        call: Which of its calls, counted from 1; repeated calls count.
        verb: If given, only calls of this verb count, one of
            :data:`fsspec_commit.testing.wrapped.VERBS`.
        kind: As of :class:`fsspec_commit.testing.Fault`. Besides those, ``"halt"`` and
            ``"halt_after"``: the process stands still before it sends the call, or before it gets
            the answer, and goes on later. ``"cut"``: a later page of a
            listing is refused; elsewhere like ``"error"``. ``"outage"``: from this call on none is
            answered, for a while; some of them are applied. ``"interrupt"`` and
            ``"interrupt_twice"``: the call is sent, and Ctrl-C is pressed, once or twice.
            ``"refused"``: this call, and those of a while after it, get a certain answer: the
            caller may not do that.
        delay_s: How late the call is applied (``"applied_late"``), for how long the process
            stands still, the store is out (``"outage"``), or refuses (``"refused"``).
    """

    actor: str
    call: int
    kind: FaultKind
    delay_s: float = 100.0
    verb: str | None = None


class Observer(Protocol):
    """Sees every change of the store when it happens."""

    def changed(self, process: "Process", sent_at: float, changes: Sequence[Change]) -> None:
        """A request of *process*, sent at that time, has made *changes*, at one moment."""


class Process:
    """A process that sends requests to the store; it dies with all that it does.

    Attributes:
        name: The actor that it runs.
        at: The name of the destination at which it is at work.
        calls: How many calls it has made.
        denials: How many of them the store has refused, or not answered for a while, whatever they
            were.
        hidden: How many things in a work area it has refused to show.
        is_dead: Whether it has crashed.
        is_interrupted: Whether anybody ever presses Ctrl-C.
        interrupt: What Ctrl-C does; its argument says whether it is the second one.
    """

    def __init__(
        self,
        name: str,
        *,
        at: str,
        loop: SimulationLoop,
        random: Random,
        slowness: float,
        faults: Sequence[FaultAt],
        changes: list[Change],
        observer: Observer,
        trace: Trace,
    ) -> None:
        self.name = name
        self.at = at
        self.random = random
        self.calls = 0
        self.denials = 0
        self.hidden = 0
        self.is_dead = False
        self.interrupt: Callable[[bool], None] = lambda _: None
        self._loop = loop
        self._slowness = slowness
        self._faults = {(one.verb, one.call): one for one in faults if one.actor == name}
        kinds = {one.kind for one in self._faults.values()}
        self.is_interrupted = not kinds.isdisjoint(_INTERRUPTS)
        self._may_die = not kinds.isdisjoint(_DEATHS)
        self._counts: dict[str, int] = {}
        self._changes = changes
        self._observer = observer
        self._trace = trace
        self._waiting: dict[asyncio.Future[Any], None] = {}
        self._halted_until = 0.0
        self._out_until = 0.0
        self._refused_until = 0.0

    def request(
        self, verb: str, path: str, apply: Callable[[], T], *, is_later_page: bool = False
    ) -> Awaitable[T]:
        """Send one request, which *apply* carries out when it arrives.

        Raises:
            Crash: The process dies, or is dead.
            StoreError: It was refused, or a fault says so.
        """
        if self.is_dead:
            raise Crash(f"{self.name} is dead")
        self.calls += 1
        if self._faults:
            self._counts[verb] = nth = self._counts.get(verb, 0) + 1
            fault = self._faults.get((None, self.calls)) or self._faults.get((verb, nth))
            now = self._loop.now
            if fault is not None or now < self._disturbed_until:
                return self._disturbed(verb, path, apply, fault, is_later_page=is_later_page)
        reply = self._reply()
        self._loop.after(self._travel_s(), self._arrive, verb, path, apply, self._loop.now, reply)
        return reply

    async def _disturbed(
        self,
        verb: str,
        path: str,
        apply: Callable[[], T],
        fault: FaultAt | None,
        *,
        is_later_page: bool,
    ) -> T:
        """Send a request of a process that has faults; this one may be without."""
        loop = self._loop
        if fault is not None:
            self._strike(fault, verb, path)
        if loop.now < self._halted_until:
            await asyncio.sleep(self._halted_until - loop.now)
            if self.is_dead:
                raise Crash(f"{self.name} is dead")
        kind = None if fault is None else fault.kind
        if loop.now < self._out_until:
            self.denials += 1
            kind = self.random.choice(("error", "error", "hang", "error_but_applied"))
        elif loop.now < self._refused_until:
            kind = "refused"
        delay_s = 0.0 if fault is None else fault.delay_s
        reply: asyncio.Future[T] = self._reply()
        if kind in _UNSENT:
            self._fail(verb, path, kind, reply, is_later_page=is_later_page)
        else:
            request = _Request(verb, path, apply, loop.now, kind, delay_s)
            travels_s = self._travel_s()
            if kind == "applied_late":
                travels_s = delay_s
                self._answer(reply, _unknown(verb, path), TIMEOUT_S)
            loop.after(travels_s, self._arrive_disturbed, request, reply)
        return await reply

    def _strike(self, fault: FaultAt, verb: str, path: str) -> None:
        """Do what a fault does before its call is sent."""
        self._trace.fault(self.name, fault.kind, verb, path)
        if fault.kind == "halt":
            self._halted_until = self._loop.now + fault.delay_s
        elif fault.kind == "outage":
            self._out_until = self._loop.now + fault.delay_s
        elif fault.kind == "refused":
            self._refused_until = self._loop.now + fault.delay_s
        elif fault.kind == "crash_before":
            self._die()
            raise Crash(f"{self.name} has crashed")
        elif fault.kind in _INTERRUPTS:
            self.interrupt(fault.kind == "interrupt_twice")

    @property
    def _disturbed_until(self) -> float:
        """Until when some fault of an earlier call lasts."""
        return max(self._halted_until, self._out_until, self._refused_until)

    def _reply(self) -> "asyncio.Future[Any]":
        reply = self._loop.create_future()
        if self._may_die:
            self._waiting[reply] = None
        return reply

    def _arrive(
        self,
        verb: str,
        path: str,
        apply: Callable[[], T],
        sent_at: float,
        reply: "asyncio.Future[T]",
    ) -> None:
        """Carry a request out, whatever has become of its sender, and send the reply."""
        answer = self._carry_out(verb, path, apply, sent_at)
        self._loop.after(self._travel_s(), self._hear, reply, answer)

    def _carry_out(
        self, verb: str, path: str, apply: Callable[[], T], sent_at: float, *, late: bool = False
    ) -> T | Exception:
        answer: T | Exception
        try:
            answer = apply()
        except Exception as error:  # noqa: BLE001  # sent to whoever asked
            answer = error
        self._trace.arrived(self.name, verb, path, answer, late=late)
        if self._changes:
            changes = self._changes.copy()
            self._changes.clear()
            self._observer.changed(self, sent_at, changes)
        return answer

    def _arrive_disturbed(self, request: "_Request[T]", reply: "asyncio.Future[T]") -> None:
        """Carry a request out, and reply as its fault says, if it has one."""
        verb, path, apply, sent_at, kind, delay_s = request
        answer = self._carry_out(verb, path, apply, sent_at, late=kind == "applied_late")
        if kind == "crash_after" and not self.is_dead:
            self._trace.fault(self.name, "crash", verb, path)
            self._die()
        elif kind == "error_but_applied":
            self._answer(reply, _unknown(verb, path), self._travel_s())
        elif kind == "halt_after":
            self._halted_until = self._loop.now + delay_s
            self._answer(reply, answer, delay_s)
        elif kind != "applied_late":
            self._answer(reply, answer, self._travel_s())

    def _fail(
        self,
        verb: str,
        path: str,
        kind: FaultKind,
        reply: "asyncio.Future[Any]",
        *,
        is_later_page: bool,
    ) -> None:
        """Answer a request that never arrives."""
        if kind == "hang":
            self._answer(reply, _unknown(verb, path), TIMEOUT_S)
            return
        error = StoreError(
            f"{verb} of {path!r}: try again",
            reply=Reply.NOT_DONE,
            retry_after_s=_RETRY_AFTER_S if kind == "throttled" else None,
        )
        if kind == "cut" and is_later_page:
            error = StoreError(f"{path!r}: the page is refused", reply=Reply.REFUSED)
        elif kind == "refused":
            self.denials += 1
            error = refused(path, f"access is denied ({verb})", errno.EACCES)
        if error.reply is Reply.REFUSED and verb in READS and _AREA in f"{path}/":
            self.hidden += 1
        self._answer(reply, error, self._travel_s())

    def _answer(self, reply: "asyncio.Future[T]", answer: T | Exception, after_s: float) -> None:
        self._loop.after(after_s, self._hear, reply, answer)

    def _hear(self, reply: "asyncio.Future[T]", answer: T | Exception) -> None:
        if self._may_die:
            self._waiting.pop(reply, None)
        if reply.done():
            return
        if isinstance(answer, Exception):
            reply.set_exception(answer)
        else:
            reply.set_result(answer)

    def _travel_s(self) -> float:
        """Mostly some milliseconds, and now and then thirty times that."""
        random = self.random.random
        slow = 30.0 if random() < 0.07 else 1.0  # noqa: PLR2004  # some
        return self._slowness * slow * (-log(1.0 - random()) / _TRAVELS_A_SECOND)

    def _die(self) -> None:
        """End everything that waits; what is on its way arrives all the same."""
        self.is_dead = True
        for reply in self._waiting:
            if not reply.done():
                reply.set_exception(Crash(f"{self.name} is dead"))


class _Request(NamedTuple, Generic[T]):
    """A request that meets a fault, or that a store which is out may still carry out."""

    verb: str
    path: str
    apply: Callable[[], T]
    sent_at: float
    kind: FaultKind | None
    delay_s: float


def _unknown(verb: str, path: str) -> StoreError:
    return StoreError(f"{verb} of {path!r}: no answer", reply=Reply.UNKNOWN)
