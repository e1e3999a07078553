"""A store that refuses whatever is asked for ``job.json``: the error says so, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.layout import StorePath

T = TypeVar("T")


def test_a_refusal_is_not_the_cause_of_its_own_cause(url: str) -> None:
    """Whoever went from cause to cause never came to an end."""

    async def refuse(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if path.endswith("/job.json"):
            raise StoreError(f"cannot {verb}: 403", reply=Reply.REFUSED, path=path)
        return await call()

    with (
        wrapping(lambda store: WrappedStore(store, refuse)),
        pytest.raises(fc.CommitFailedError, match="403") as caught,
    ):
        fc.Job(url, mode="append").start()
    met: list[BaseException] = []
    error: BaseException | None = caught.value
    while error is not None:
        assert error not in met
        met.append(error)
        error = error.__cause__ or error.__context__
