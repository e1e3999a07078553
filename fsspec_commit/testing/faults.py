"""Fault injection: a store call that fails, loses its reply, comes late, or ends its process.

Every change to a store has three outcomes, and the difficult ones are rare: a reply lost after the
change was made, or a change that happens after it was given up. Here they happen on demand::

    with inject(Fault("create", nth=2, kind="error_but_applied")) as fired:
        my_pipeline("memory://out")
    assert fired
    assert_committed("memory://out", file_count=3)
"""

import asyncio
import math
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
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
"""How long a throttled call asks its caller to wait."""
TIMEOUT_S = 0.01
"""How long a hanging call takes to fail, like the timeout of an adapter."""


class Crash(BaseException):
    """The end of the process; a ``BaseException``, so that no handler continues after it."""


@dataclass(frozen=True)
class Fault:
    """A fault at one store call.

    Attributes:
        verb: The call, one of :data:`fsspec_commit.testing.wrapped.VERBS`. An exclusive ``put`` is
            ``"create"``, any other one ``"put"``.
        nth: Which call of this verb, counted from 1; a repeated call counts again, so a call that
            fails three times takes three faults.
        kind: ``"crash_before"`` or ``"crash_after"`` the call is applied: raises :class:`Crash`,
            and no later call of this process reaches the store. ``"error"``: not done, worth
            repeating. ``"error_but_applied"``: done, but the error says that it is unknown.
            ``"applied_late"``: unknown, and done only after a later call was answered.
            ``"throttled"``: not done, with a time to wait. ``"hang"``: no answer until the
            caller's timeout, then unknown; never done.
    """

    verb: str
    nth: int = 1
    kind: Kind = "crash_after"

    def __post_init__(self) -> None:
        if self.verb not in VERBS:
            raise ValueError(f"no store call is named {self.verb!r}; there are: {', '.join(VERBS)}")
        if self.kind not in get_args(Kind):
            kinds = ", ".join(get_args(Kind))
            raise ValueError(f"no fault is named {self.kind!r}; there are: {kinds}")
        nth: object = self.nth
        if not (isinstance(nth, int) and nth >= 1):
            raise ValueError(f"calls are counted from 1, not {self.nth!r}")


class FaultPlan:
    """Decides which calls fail; shared by all stores that stand for one process.

    Args:
        faults: The faults to inject.
        late_by: How many calls are answered before a late one is applied.

    Attributes:
        fired: The faults that have happened, in their order.
        verbs: Every call made so far, by name.
        crashed: Whether the process is dead: every call raises :class:`Crash`, without effect.
    """

    def __init__(self, faults: Iterable[Fault] = (), *, late_by: int = 1) -> None:
        self.fired: list[Fault] = []
        self.verbs: list[str] = []
        self.crashed = False
        self._died_of = ""
        self._planned = {(fault.verb, fault.nth): fault for fault in map(_checked, faults)}
        self._counts = Counter[str]()
        self._late = deque[tuple[int, Callable[[], Awaitable[object]]]]()
        self._late_by = late_by
        self._lock = Lock()

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        """Make *call*, or inject the fault that is planned for it."""
        fault = self._next(verb)
        try:
            return await (call() if fault is None else self._fail(fault, path, call))
        finally:
            await self.catch_up(len(self.verbs))

    async def catch_up(self, now: float = math.inf) -> None:
        """Apply the late calls that are due at call number *now*; by default all."""
        while self._late and self._late[0][0] <= now:
            _, call = self._late.popleft()
            # Nobody is left to hear how a late request ended.
            with suppress(Exception):
                await call()

    def _next(self, verb: str) -> Fault | None:
        with self._lock:
            if self.crashed:
                raise Crash(
                    f"{verb} in a process that is dead since {self._died_of}; what settles its "
                    "jobs, and looks at what it left, comes after the block of inject()"
                )
            self._counts[verb] += 1
            self.verbs.append(verb)
            fault = self._planned.get((verb, self._counts[verb]))
            if fault is not None:
                self.fired.append(fault)
                self._died_of = f"{fault.kind} at {fault.verb} number {fault.nth}"
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
    """A store with *faults*.

    It has no `direct`, so that every byte goes through calls that can fail.
    """

    def __init__(self, store: Store, faults: Sequence[Fault] | FaultPlan) -> None:
        self.plan = faults if isinstance(faults, FaultPlan) else FaultPlan(faults)
        super().__init__(store, self.plan.carry)

    @property
    def direct(self) -> WritesDirectly | None:
        """``None``: bytes go through `writer`."""
        return None

    async def close(self) -> None:
        """Apply the late calls, then close the store."""
        await self.plan.catch_up()
        await super().close()


def _checked(fault: object) -> Fault:
    if not isinstance(fault, Fault):
        raise TypeError(f"a fault is a Fault(verb, nth, kind), each given by itself, not {fault!r}")
    return fault


@contextmanager
def inject(*faults: Fault, late_by: int = 1) -> Iterator[list[Fault]]:
    """Inject *faults* into every store that this process opens in the block.

    The stores count their calls together and crash together, as one process does; recover outside
    the ``with`` block.

    Args:
        faults: The faults, each to happen once.
        late_by: How many calls are answered before a late one is applied.

    Yields:
        The faults that fired, in their order; assert that yours is among them.
    """
    plan = FaultPlan(faults, late_by=late_by)
    with wrapping(lambda store: FaultyStore(store, plan)):
        yield plan.fired


def crash_points(run: Callable[[], object]) -> Iterator[Fault]:
    """Run *run* once, then yield a crash before and one after each store call that it made.

    A run that takes longer makes more calls: before its decision a job shows every two seconds that
    it lives, and a call that was not answered is repeated. So if the first run was slow, the last
    of these faults may find no call in a faster one.

    Args:
        run: What to crash, as a function without arguments. Its stores are those that it opens
            itself, in this process.

    Raises:
        ValueError: The run made no such call: there is nothing to crash, and a loop over nothing
            would pass as a test.

    Yields:
        Faults for :func:`inject`, each for a run on a fresh destination::

            for fault in crash_points(lambda: my_pipeline(fresh())):
                with inject(fault), suppress(Crash):
                    my_pipeline(destination := fresh())
                ...  # what does a user find at the destination now?
    """
    if not callable(run):
        raise TypeError(
            f"crash_points takes a function, which it calls, not {run!r}: "
            "crash_points(lambda: my_pipeline(destination))"
        )
    plan = FaultPlan()
    with wrapping(lambda store: FaultyStore(store, plan)):
        returned = run()
    if isinstance(returned, Coroutine):
        returned.close()
        raise TypeError(
            f"crash_points calls {run!r}, which returns a coroutine and has run nothing yet: "
            "crash_points(lambda: asyncio.run(my_pipeline(destination)))"
        )
    if not plan.verbs:
        raise ValueError(
            "the run made no call to a store, so there is nothing to crash: only what this process "
            "writes is seen, by a job that the run itself begins"
        )
    for verb, nth in store_calls(plan.verbs):
        yield Fault(verb, nth, "crash_before")
        yield Fault(verb, nth, "crash_after")


def store_calls(verbs: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Each call with its number among those of its verb."""
    counts = Counter[str]()
    for verb in verbs:
        counts[verb] += 1
        yield verb, counts[verb]
