"""One simulated process: its requests travel, may be lost, come late, or end it."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, Protocol, TypeAlias, TypeVar

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.testing.faults import Crash
from fsspec_commit.testing.simulation.bucket import Bucket, Change
from fsspec_commit.testing.simulation.trace import Trace

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
]

TIMEOUT_S = 30.0
"""How long an adapter waits for a reply."""
_RETRY_AFTER_S = 0.5


@dataclass(frozen=True)
class FaultAt:
    """A fault at one store call of one actor.

    Attributes:
        actor: Whose call, such as ``"a.driver"``.
        call: Which of its calls, counted from 1; repeated calls count.
        verb: If given, only calls of this verb count, one of
            :data:`fsspec_commit.testing.wrapped.VERBS`.
        kind: As of :class:`fsspec_commit.testing.Fault`. Beside those, ``"halt"`` and
            ``"halt_after"``: the process stands still before it sends the call, or before it hears
            the answer, and goes on later. ``"cut"``: a later page of a
            listing is refused; elsewhere like ``"error"``. ``"outage"``: from this call on none is
            answered, for a while; some of them are applied.
        delay_s: How late the call is applied (``"applied_late"``), for how long the process
            stands still or the store is out (``"outage"``).
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
        calls: How many calls it has made.
        is_dead: Whether it has crashed.
    """

    def __init__(
        self,
        name: str,
        *,
        random: Random,
        slowness: float,
        faults: Sequence[FaultAt],
        bucket: Bucket,
        observer: Observer,
        trace: Trace,
    ) -> None:
        self.name = name
        self.random = random
        self.calls = 0
        self.is_dead = False
        self._slowness = slowness
        self._faults = {(one.verb, one.call): one for one in faults if one.actor == name}
        self._counts = Counter[str]()
        self._bucket = bucket
        self._observer = observer
        self._trace = trace
        self._waiting: set[asyncio.Future[object]] = set()
        self._halted_until = 0.0
        self._out_until = 0.0

    async def request(
        self, verb: str, path: str, apply: Callable[[], T], *, is_later_page: bool = False
    ) -> T:
        """Send one request, which *apply* carries out when it arrives.

        Raises:
            Crash: The process dies, or is dead.
            StoreError: It was refused, or a fault says so.
        """
        loop = asyncio.get_running_loop()
        self._check_alive()
        self.calls += 1
        self._counts[verb] += 1
        fault = self._faults.get((None, self.calls)) or self._faults.get((verb, self._counts[verb]))
        if fault is not None:
            self._trace.fault(self.name, fault.kind, verb, path)
            if fault.kind == "halt":
                self._halted_until = loop.time() + fault.delay_s
            if fault.kind == "outage":
                self._out_until = loop.time() + fault.delay_s
            if fault.kind == "crash_before":
                self._crash()
        if loop.time() < self._halted_until:
            await asyncio.sleep(self._halted_until - loop.time())
            self._check_alive()
        kind = None if fault is None else fault.kind
        if loop.time() < self._out_until:
            kind = self.random.choice(("error", "error", "hang", "error_but_applied"))
        reply: asyncio.Future[T] = loop.create_future()
        self._waiting.add(reply)  # type: ignore[arg-type]  # only exceptions are put into it
        if kind in {"error", "throttled", "hang"} or (kind == "cut" and not is_later_page):
            self._fail(reply, kind, verb, path)
        elif kind == "cut":
            self._answer(reply, StoreError(f"{path!r}: the page is refused", reply=Reply.REFUSED))
        else:
            travels_s = self._travel_s()
            if fault is not None and kind == "applied_late":
                travels_s = fault.delay_s
                self._answer(reply, self._unknown(verb, path), after_s=TIMEOUT_S)
            sent_at, delay_s = loop.time(), 0.0 if fault is None else fault.delay_s
            loop.call_later(
                travels_s,
                lambda: self._arrive(
                    verb, path, apply, reply, sent_at=sent_at, kind=kind, delay_s=delay_s
                ),
            )
        try:
            return await reply
        finally:
            self._waiting.discard(reply)

    def _arrive(
        self,
        verb: str,
        path: str,
        apply: Callable[[], T],
        reply: "asyncio.Future[T]",
        *,
        sent_at: float,
        kind: FaultKind | None,
        delay_s: float,
    ) -> None:
        """Carry a request out, whatever has become of its sender, and send the reply."""
        changes: list[Change] = []
        answer: T | Exception
        self._bucket.watch(changes.append)
        try:
            answer = apply()
        except Exception as error:  # noqa: BLE001  # sent to whoever asked
            answer = error
        finally:
            self._bucket.watch(None)
        self._trace.arrived(self.name, verb, path, answer, late=kind == "applied_late")
        if changes:
            self._observer.changed(self, sent_at, changes)
        if kind == "crash_after" and not self.is_dead:
            self._trace.fault(self.name, "crash", verb, path)
            self._die()
        elif kind == "error_but_applied":
            self._answer(reply, self._unknown(verb, path))
        elif kind == "halt_after":
            self._halted_until = asyncio.get_running_loop().time() + delay_s
            self._answer(reply, answer, after_s=delay_s)
        elif kind != "applied_late":
            self._answer(reply, answer)

    def _fail(
        self, reply: "asyncio.Future[T]", kind: FaultKind | None, verb: str, path: str
    ) -> None:
        if kind == "hang":
            self._answer(reply, self._unknown(verb, path), after_s=TIMEOUT_S)
            return
        message = f"{verb} of {path!r}: try again"
        asked = _RETRY_AFTER_S if kind == "throttled" else None
        self._answer(reply, StoreError(message, reply=Reply.NOT_DONE, retry_after_s=asked))

    def _answer(
        self,
        reply: "asyncio.Future[T]",
        answer: T | Exception,
        *,
        after_s: float | None = None,
    ) -> None:
        def arrive() -> None:
            if reply.done():
                return
            if isinstance(answer, Exception):
                reply.set_exception(answer)
            else:
                reply.set_result(answer)

        delay_s = self._travel_s() if after_s is None else after_s
        asyncio.get_running_loop().call_later(delay_s, arrive)

    def _travel_s(self) -> float:
        """Mostly some milliseconds, and now and then thirty times that."""
        slow = 30.0 if self.random.random() < 0.07 else 1.0  # noqa: PLR2004  # some
        return self._slowness * slow * self.random.expovariate(100.0)

    def _unknown(self, verb: str, path: str) -> StoreError:
        return StoreError(f"{verb} of {path!r}: no answer", reply=Reply.UNKNOWN)

    def _check_alive(self) -> None:
        if self.is_dead:
            raise Crash(f"{self.name} is dead")

    def _crash(self) -> None:
        self._die()
        raise Crash(f"{self.name} has crashed")

    def _die(self) -> None:
        """End everything that waits; what is on its way arrives all the same."""
        self.is_dead = True
        for reply in self._waiting:
            if not reply.done():
                reply.set_exception(Crash(f"{self.name} is dead"))
