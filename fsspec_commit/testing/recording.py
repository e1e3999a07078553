"""Counting store calls: the cost of a commit as a number, the same on every machine."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Store
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore

T = TypeVar("T")


class Call(NamedTuple):
    """One call to a store.

    Attributes:
        verb: The call, one of :data:`fsspec_commit.testing.wrapped.VERBS`.
        path: Its path; for a rename, the target.
    """

    verb: str
    path: StorePath


class RecordingStore(WrappedStore):
    """A store that records its calls.

    Attributes:
        calls: Every call, in the order in which they were made; writes through `direct`, on the
            caller's thread, are not calls.
    """

    def __init__(self, store: Store, calls: list[Call] | None = None) -> None:
        super().__init__(store, self._record)
        self.calls: list[Call] = [] if calls is None else calls

    @property
    def counts(self) -> Counter[str]:
        """How often each verb was called."""
        return Counter(call.verb for call in self.calls)

    async def _record(self, verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        self.calls.append(Call(verb, path))
        return await call()


@contextmanager
def recorded_calls() -> Iterator[list[Call]]:
    """Record every store that this process opens in the block; the list grows as they are used."""
    calls: list[Call] = []
    with wrapping(lambda store: RecordingStore(store, calls)):
        yield calls
