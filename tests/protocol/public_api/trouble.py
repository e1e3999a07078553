"""What goes wrong at a call of the stores that this process opens, when it is told to."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, get_args

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.testing import Crash
from fsspec_commit.testing.wrapped import WrappedStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Store

T = TypeVar("T")
Kind: TypeAlias = Literal[
    "crash_before",
    "crash_after",
    "error",
    "error_but_applied",
    "applied_late",
    "throttled",
    "outage",
]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Trouble:
    """One fault at a time, at the call that it is armed for.

    Attributes:
        kind: What is to happen, or has: until somebody calls :meth:`end`.
    """

    def __init__(self) -> None:
        self.kind: Kind | None = None
        self._left = 0
        self._late: list[Callable[[], Awaitable[object]]] = []

    def wrap(self, store: Store) -> Store:
        """A store whose calls may fail."""
        return WrappedStore(store, self.carry)

    def arm(self, kind: Kind, call: int) -> None:
        """Let it happen at the so-many-th call from now."""
        self.kind, self._left = kind, call

    def end(self) -> None:
        """The store is well again, and who has crashed has a successor."""
        self.kind = None

    async def carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        """Make a call, or have it fail."""
        self._left -= 1
        late, self._late = self._late, []
        try:
            if self.kind is None or self._left > 0:
                return await call()
            return await self._fail(f"{self.kind} at {verb} of {path!r}", call)
        finally:
            for one in late:
                with suppress(ValueError):  # A writer has let go of its data: it was discarded.
                    await one()

    async def _fail(self, what: str, call: Callable[[], Awaitable[T]]) -> T:
        is_first = self._left == 0
        if self.kind == "outage" or (self.kind == "crash_after" and is_first):
            if is_first:
                await call()
            if self.kind == "outage":
                raise StoreError(what, reply=Reply.UNKNOWN)
        if self.kind in {"crash_before", "crash_after"}:
            raise Crash(what)
        if not is_first:
            return await call()
        if self.kind == "error_but_applied":
            await call()
        elif self.kind == "applied_late":
            self._late.append(call)
        was_done = self.kind in {"error_but_applied", "applied_late"}
        raise StoreError(what, reply=Reply.UNKNOWN if was_done else Reply.NOT_DONE)
