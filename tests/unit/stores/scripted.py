"""A store at a server that answers what the test tells it to: for every store that sends HTTP."""

from __future__ import annotations

import pickle
import traceback
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import OpenOptions, Store
from tests.unit.stores.asking import ask_twice
from tests.unit.stores.responder import Answer, Received, Responder

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Mapping

    from fsspec_commit.store.clients import Clients
    from tests.unit.stores.bucket import FakeBucket
    from tests.unit.stores.verbs import Verb

T = TypeVar("T")
StoreT = TypeVar("StoreT", bound=Store)


async def failure_of(call: Awaitable[Any]) -> StoreError:
    with pytest.raises(StoreError) as caught:
        await call
    return caught.value


def all_that_shows(error: StoreError) -> str:
    """All that can be seen of an exception, of its pickle, and of what led to it."""
    text = "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))
    text += repr(pickle.loads(pickle.dumps(error))) + pickle.dumps(error).decode("latin-1")
    chain: BaseException | None = error
    while chain is not None:
        # What a client's exception may hold.
        text += (
            repr(chain) + str(getattr(chain, "response", "")) + str(getattr(chain, "kwargs", ""))
        )
        chain = chain.__cause__ or chain.__context__
    return text


class Scripted(Responder, Generic[StoreT]):
    """A server, and the stores that are opened at it.

    What the stores differ in, so that one test can ask all of them the same:

    Attributes:
        adapter: The class of the stores.
        url_of_store: Where they are opened, unless a test says otherwise.
        verbs: Each verb there is.
        errors: What follows from each error, by status and code.
        busy, denied, missing, not_as_expected, no_bucket: Status and code of some of them.
        address_option: How a message calls the option that says where the store is.
        no_answer_of_its_own: What a message says of an answer by somebody else, with its status.
        requests_in_doubt: How many requests a verb sends at the most where that leaves it in doubt.
        impostors: Answers of somebody else that are like the store's own.
        disguise: Headers with which any of his answers are.
        bucket: Its keys, page by page.
        secrets: What nobody is ever shown, of the options and of what is sent.
        logger: Of whose children no log has one of them.
    """

    adapter: type[StoreT]
    url_of_store: ClassVar[str]
    verbs: ClassVar[Mapping[str, Verb]]
    errors: ClassVar[Mapping[tuple[int, str], Reply]]
    busy: ClassVar[tuple[int, str]]
    denied: ClassVar[tuple[int, str]]
    missing: ClassVar[tuple[int, str]]
    not_as_expected: ClassVar[tuple[int, str]]
    no_bucket: ClassVar[Answer]
    address_option: ClassVar[str] = "endpoint_url="
    no_answer_of_its_own: ClassVar[str]
    requests_in_doubt: ClassVar[int]
    impostors: ClassVar[tuple[Answer, ...]] = ()
    disguise: ClassVar[Mapping[str, str]] = {}
    bucket: ClassVar[type[FakeBucket]]
    secrets: ClassVar[tuple[str, ...]]
    logger: ClassVar[str] = "fsspec_commit"

    def __init__(self, runner: asyncio.Runner) -> None:
        super().__init__()
        self._runner = runner
        self._opened: list[StoreT] = []

    def __enter__(self) -> Self:
        return self.run(self.__aenter__())

    def __exit__(self, *_: object) -> None:
        for store in self._opened:
            self.run(store.close())
        self.run(self.__aexit__())

    def account(self, url: str) -> dict[str, Any]:
        """The storage options that lead to the server at *url*."""
        raise NotImplementedError

    def patience(self, seconds: float) -> dict[str, Any]:
        """The storage options that say how long an answer is waited for."""
        raise NotImplementedError

    def error(self, status: int, code: str, headers: Mapping[str, str] | None = None) -> Answer:
        """An error as the store answers it."""
        raise NotImplementedError

    def secret_options(self) -> list[dict[str, Any]]:
        """Storage options with `secrets`, each for one store."""
        return [{}]

    def indiscreet(self, request: Received) -> tuple[Answer, Answer]:
        """Two errors that tell the `secrets`, and all that was sent: in their text, as a code."""
        raise NotImplementedError

    def always(self, answer: Answer) -> None:
        """Answer so whatever is asked."""
        self.script(answer)

    @property
    def asked(self) -> list[Received]:
        """What was received of the verbs that were called."""
        return self.received

    @property
    def store(self) -> StoreT:
        """The first that was opened; by now, if there is none."""
        return self._opened[0] if self._opened else self.open()

    def open(
        self,
        url: str = "",
        *,
        choosing: bool = False,
        single_writer: bool = False,
        clients: Clients | None = None,
        **options: Any,
    ) -> StoreT:
        """One more, by *options* beside the `account`; it is closed with the server."""
        given = OpenOptions(
            storage_options={**self.account(self.url), **options},
            choosing=choosing,
            single_writer=single_writer,
            ask=ask_twice,
            clients=clients,
        )
        store = self.run(self.adapter.open(url or self.url_of_store, given))
        self._opened.append(store)
        return store

    def open_at(self, url: str, **options: Any) -> StoreT:
        """A store at another server."""
        return self.open(**self.account(url), **options)

    def run(self, call: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await call

        return self._runner.run(awaited())

    def failure_of(self, call: Awaitable[Any]) -> StoreError:
        """How *call* fails."""
        return self.run(failure_of(call))
