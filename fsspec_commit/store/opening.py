"""How a caller wants a store opened."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, TypeVar

from fsspec_commit.store.clients import Clients

T = TypeVar("T")
Durability = Literal["none", "marker", "full"]
Confirm: TypeAlias = Callable[[], Awaitable[bool]]
"""Asks whether remembered facts hold; it raises what asking for them would have raised."""


class Ask(Protocol):
    """Asks a store a question, and repeats it until it is answered or refused.

    ``await ask(question)`` returns what ``await question()`` returns.
    """

    async def __call__(self, question: Callable[[], Awaitable[T]], /) -> T:
        """The answer to *question*, which changes nothing and is repeated unless it is refused.

        Raises:
            StoreError: It was refused, or never answered.
        """


async def ask_once(question: Callable[[], Awaitable[T]], /) -> T:
    """An :class:`Ask` that does not repeat."""
    return await question()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOptions:
    """How a caller wants a store opened.

    Attributes:
        storage_options: fsspec's options for this protocol; they may hold secrets and are never
            stored.
        durability: What data a local disk flushes before a file counts as written.
        single_writer: The caller promises one job at a time, so facts that only concurrent jobs
            need may be assumed.
        concurrency: The most calls in flight; ``None`` leaves it to the adapter, which says it by
            `Store.in_flight_max`.
        choosing: Whether a committer is about to be chosen, so that the adapter may ask the store
            what it is. Not needed where a job's committer was chosen before.
        ask: Repeats the requests that no caller of a verb can repeat: those that an adapter sends
            while it opens, and those for the later pages of a listing.
        clients: Clients of stores that were closed, for an adapter to reuse; ``None`` where each
            client is closed with its store.
        later: Takes the question whether facts that an adapter remembers from an earlier opening
            still hold; the caller asks it before it relies on them. ``None`` where nothing may be
            remembered.
    """

    storage_options: Mapping[str, object] = field(default_factory=dict, repr=False)
    durability: Durability = "none"
    single_writer: bool = False
    concurrency: int | None = None
    choosing: bool = False
    ask: Ask = field(default=ask_once, repr=False)
    clients: Clients | None = field(default=None, repr=False)
    later: Callable[[Confirm], None] | None = field(default=None, repr=False)
