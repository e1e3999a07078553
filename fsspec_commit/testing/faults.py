"""Faults on purpose: a store call that fails, lies, comes late, or is the last of its process.

Every change of a store has three outcomes, and the hard ones are rare: a reply lost after the
change was made, a change that happens after it was given up. Here they happen when asked to::

    with inject(Fault("create", nth=2, kind="error_but_applied")) as fired:
        my_pipeline("memory://out")
    assert fired
    assert_committed("memory://out", file_count=3)
"""

import asyncio
import math
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock
from typing import Literal, TypeAlias, TypeVar, get_args

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Store, WritesDirectly
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import VERBS, WrappedStore

T = TypeVar("T")

Kind: TypeAlias = Literal[
    "crash_before",
    "crash_after",
    "error",
    "error_but_applied",
    "applied_late",
    "throttled",
    "hang",
]

RETRY_AFTER_S = 0.001
"""How long a throttled call asks to be left alone."""
TIMEOUT_S = 0.01
"""How long a hanging call is waited for, as an adapter's own timeout would."""


class Crash(BaseException):
    """The process ends here; a ``BaseException``, so that no handler goes on as if it lived."""


@dataclass(frozen=True)
class Fault:
    """What happens at one store call.

    Attributes:
        verb: The call: one of :data:`fsspec_commit.testing.wrapped.VERBS`. An exclusive ``put``
            is ``"create"``, any other one ``"put"``.
        nth: Which call of this verb, counted from 1; a call that is repeated counts again, so a
            call that fails three times is three faults.
        kind: ``"crash_before"`` and ``"crash_after"`` the call was applied: :class:`Crash`, and
            no call of this process reaches the store any more. ``"error"``: not done, worth
            repeating. ``"error_but_applied"``: done, and the answer says it is not known.
            ``"applied_late"``: not known, and done only after a later call was answered.
            ``"throttled"``: not done, with a time to wait. ``"hang"``: no answer until the
            caller's timeout, then not known; it was never done.
    """

    verb: str
    nth: int = 1
    kind: Kind = "crash_after"

    def __post_init__(self) -> None:
        if self.verb not in VERBS:
            raise ValueError(f"no store call is named {self.verb!r}; there are: {', '.join(VERBS)}")
        if self.kind not in get_args(Kind):
            raise ValueError(f"no fault is named {self.kind!r}; there are: {get_args(Kind)}")
        if self.nth < 1:
            raise ValueError(f"calls are counted from 1, not {self.nth}")


class FaultPlan:
    """Which calls fail; shared by all the stores of what is to be one process.

    Args:
        faults: What is to happen.
        late_by: How many calls are answered before one that is late is applied.

    Attributes:
        fired: The faults that have happened, in their order.
        verbs: Every call made so far, by name.
        crashed: The process is dead: every call raises :class:`Crash`, without effect.
    """

    def __init__(self, faults: Iterable[Fault] = (), *, late_by: int = 1) -> None:
        self.fired: list[Fault] = []
        self.verbs: list[str] = []
        self.crashed = False
        self._planned = {(fault.verb, fault.nth): fault for fault in faults}
        self._counts = Counter[str]()
        self._late = deque[tuple[int, Callable[[], Awaitable[object]]]]()
        self._late_by = late_by
        self._lock = Lock()

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        """Make *call*, or what is planned for it."""
        fault = self._next(verb)
        try:
            return await (call() if fault is None else self._fail(fault, path, call))
        finally:
            await self.catch_up(len(self.verbs))

    async def catch_up(self, now: float = math.inf) -> None:
        """Apply what is late, as far as it is due at call number *now*; by default all."""
        while self._late and self._late[0][0] <= now:
            _, call = self._late.popleft()
            # Nobody is left to hear how a late request ended.
            with suppress(Exception):
                await call()

    def _next(self, verb: str) -> Fault | None:
        with self._lock:
            if self.crashed:
                raise Crash(f"{verb} after the crash: this process is dead")
            self._counts[verb] += 1
            self.verbs.append(verb)
            fault = self._planned.get((verb, self._counts[verb]))
            if fault is not None:
                self.fired.append(fault)
                self.crashed = fault.kind == "crash_before"
            return fault

    async def _fail(self, fault: Fault, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        what = f"{fault.kind} at {fault.verb} number {fault.nth}, {path!r}"
        match fault.kind:
            case "crash_before":
                raise Crash(what)
            case "crash_after":
                try:
                    await call()
                finally:
                    self.crashed = True
                    raise Crash(what)
            case "error":
                raise StoreError(what, reply=Reply.NOT_DONE, path=path)
            case "throttled":
                raise StoreError(what, reply=Reply.NOT_DONE, retry_after_s=RETRY_AFTER_S, path=path)
            case "error_but_applied":
                await call()
            case "applied_late":
                self._late.append((len(self.verbs) + self._late_by, call))
            case "hang":
                await asyncio.sleep(TIMEOUT_S)
        raise StoreError(what, reply=Reply.UNKNOWN, path=path)


class FaultyStore(WrappedStore):
    """*store*, with *faults*.

    It gives no `direct`, so that every byte goes through calls that can fail.
    """

    def __init__(self, store: Store, faults: Sequence[Fault] | FaultPlan) -> None:
        self.plan = faults if isinstance(faults, FaultPlan) else FaultPlan(faults)
        super().__init__(store, self.plan.carry)

    @property
    def direct(self) -> WritesDirectly | None:
        """Hidden: bytes go through `writer`."""
        return None

    async def close(self) -> None:
        """Let what is late happen, then let go of the store."""
        await self.plan.catch_up()
        await super().close()


@contextmanager
def inject(*faults: Fault, late_by: int = 1) -> Iterator[list[Fault]]:
    """Give every store that this process opens meanwhile these *faults*.

    The stores count their calls together and die together, as one process does; recover outside
    of the ``with``.

    Args:
        faults: What is to happen, each fault once.
        late_by: How many calls are answered before one that is late is applied.

    Yields:
        The faults that fired, in their order; look whether yours is among them.
    """
    plan = FaultPlan(faults, late_by=late_by)
    with wrapping(lambda store: FaultyStore(store, plan)):
        yield plan.fired


def crash_points(run: Callable[[], object]) -> Iterator[Fault]:
    """Run *run* once, then yield a crash before and one after each store call that it made.

    Yields:
        Faults for :func:`inject`; *run* them on a fresh destination each::

            for fault in crash_points(lambda: my_pipeline(fresh())):
                with inject(fault), suppress(Crash):
                    my_pipeline(destination := fresh())
                ...  # what does a user find at the destination now?
    """
    plan = FaultPlan()
    with wrapping(lambda store: FaultyStore(store, plan)):
        run()
    for verb, nth in store_calls(plan.verbs):
        yield Fault(verb, nth, "crash_before")
        yield Fault(verb, nth, "crash_after")


def store_calls(verbs: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Each call with its number among those of its verb."""
    counts = Counter[str]()
    for verb in verbs:
        counts[verb] += 1
        yield verb, counts[verb]
