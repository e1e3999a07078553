"""A start whose area goes before its ``job.json`` is in it: another id, and never the same (P5)."""

from __future__ import annotations

import asyncio
import errno
import shutil
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.errors import CommitFailedError, Reply, StoreError
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import VERBS, WrappedStore
from tests.scenes.hooks import at, before

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from fsspec_commit.layout import StorePath
    from fsspec_commit.store import Capabilities, Store

T = TypeVar("T")

pytestmark = pytest.mark.guarantees("P5", "P6")


def commits(job: fc.Job) -> bool:
    with job.task() as task, task.open("a.txt", "w") as file:
        file.write("a")
    return job.commit().file_count == 1


def gone(path: StorePath) -> StoreError:
    error = StoreError(f"{path!r} is gone", reply=Reply.REFUSED, path=path)
    error.errno = errno.ENOENT
    return error


def areas(url: Path) -> list[Path]:
    return [path for path in (url / "_commit").iterdir() if path.name[0].isdigit()]


def test_one_whose_area_goes_takes_another_id(tmp_path: Path) -> None:
    """`clean` has removed the directory that was made for it, since that was empty."""
    removed: list[str] = []

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb != "create" or not path.endswith("/job.json") or len(removed) == 2:
            return await call()
        removed.append(path)
        (tmp_path / "_commit").mkdir(exist_ok=True)
        raise gone(path)

    with wrapping(lambda store: WrappedStore(store, carry)):
        job = fc.Job(tmp_path, mode="append").start()
    assert len(removed) == 2
    assert not any(job.job_id in path for path in removed)
    assert commits(job)


def test_one_that_is_aborted_before_its_echo_comes_takes_another_id(tmp_path: Path) -> None:
    """The request was carried out, and sent again: what says that all is gone is its echo.

    Were it written once more, the job that `clean` has aborted would commit.
    """
    aborted: list[str] = []

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        answer = await call()
        if verb == "create" and path.endswith("/job.json") and not aborted:
            report = await asyncio.to_thread(
                fc.clean, tmp_path, older_than=timedelta(0), dry_run=False
            )
            aborted.extend(report.aborted)
            raise gone(path)
        return answer

    with wrapping(lambda store: WrappedStore(store, carry)):
        job = fc.Job(tmp_path, mode="append").start()
    assert len(aborted) == 1
    assert job.job_id not in aborted
    assert commits(job)


def test_where_nothing_can_be_made_it_is_refused_at_once(tmp_path: Path) -> None:
    """What is missing is not its area."""
    refused: list[str] = []

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "create" and path.endswith("/job.json"):
            refused.append(path)
            raise gone(path)
        return await call()

    with (
        wrapping(lambda store: WrappedStore(store, carry)),
        pytest.raises(CommitFailedError, match="is gone"),
    ):
        fc.Job(tmp_path, mode="append").start()
    assert len(refused) == 1


class _Paged(WrappedStore):
    """Lists by pages, has directories, and removes none on a condition."""

    empty_directories = None
    at_once = None

    @property
    def capabilities(self) -> Capabilities:
        return replace(self.store.capabilities, paged_listing=True)


@pytest.mark.parametrize("is_paged", [False, True])
def test_one_whose_area_was_renamed_away_takes_another_id(
    tmp_path: Path, *, is_paged: bool
) -> None:
    """By a `clean` of the first versions, or of an adapter that removes no empty directories."""
    first: list[str] = []

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        assert verb in VERBS, path
        return await call()

    def adapter(store: Store) -> Store:
        return _Paged(store, carry) if is_paged else store

    def clean() -> None:
        (area,) = areas(tmp_path)
        first.append(area.name)
        shutil.move(area, area.with_name(f"void-{area.name}-{'0' * 32}"))

    with wrapping(adapter), before(at("stat", "/job.json"), clean):
        job = fc.Job(tmp_path, mode="append").start()
        assert [job.job_id] != first
        assert commits(job)
